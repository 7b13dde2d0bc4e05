// Package run makes a run whose load is in an Oracle database: calibrate, SLOB,
// or the user's own SLOB kit. It is to a database what internal/loadgen is to
// files, and ends with the same Load.
//
// A run goes: wait until the database is ready, connect, set init parameters,
// load schemas, restart the instance so that its views start at zero, read the
// parameters back; then each repetition of each step; then clean up.
//
// Around every window two snapshots of the cumulative views are taken, and while
// it lasts a second goroutine, the observer, samples throughput every second and
// reads the views of Direct NFS, whose counters only mean something under load.
// All else, Load and Sink included, belongs to the one goroutine that Run is
// called on.
package run
