// Package target defines what load is put on: a small file interface with a
// strict contract. Implementations live in the packages below it and all run
// the same conformance suite, targettest.
package target
