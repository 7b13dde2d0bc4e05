// Package publish brings progress and results of one client to where the
// controller, or a person, reads them: a ConfigMap or a directory.
package publish
