// Package argolint asks Argo Workflows itself whether it takes what suites are
// compiled to.
package argolint
