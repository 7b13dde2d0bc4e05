// Package soak holds the test that nothing grows under a long load, and records the
// memory of the loader.
package soak
