// Package gitops tests what is given to the GitOps engines: the health checks, the
// examples and the template for Argo Workflows. It runs the libraries of those
// engines and is a module of its own, because their requirements would move ours.
package gitops
