// Package manifest builds the objects of a run: the embedded server, volumes,
// configuration, the load Job and the clean-up Job.
//
// Its functions are pure: they take values and return objects, never read the
// cluster, a clock or a global. Names are deterministic, so that applying an
// object twice is applying it once, and a manager that starts anew finds what
// its predecessor made. Everything but the Oracle database (a later part)
// meets the restricted Pod Security Standard.
package manifest
