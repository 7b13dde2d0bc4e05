// Package survey asks an array, before a run, what it is and where the volume
// is; where that is wanted it moves the volume first.
//
// What comes out is always something to publish: the survey, or the problem that
// stood against it with a reason and a sentence for its user. The progress of a
// move is published meanwhile. It runs in a pod of the benchmark's
// namespace, because the operator reads no Secret, and on a laptop.
package survey
