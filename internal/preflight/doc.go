// Package preflight looks at a spec, and at what an array said of itself, before
// a run is made: what cannot work, or would measure something else than was
// asked for, is refused here with the setting that is wrong and what sets it
// right. All checks are pure; unknown values pass, because a run must not fail
// because an account may not read something.
package preflight
