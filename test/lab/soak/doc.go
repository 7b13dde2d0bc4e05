// Package soak holds the test that nothing grows under a long load, and that the
// loader's memory stays small.
package soak
