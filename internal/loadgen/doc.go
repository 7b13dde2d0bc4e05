// Package loadgen generates raw load on NFS storage and measures it.
//
// # The course of a run
//
//	Connect -> Fill -> Wait -> (Baseline -> Warmup -> Measure -> Cooldown) x repetitions -> Verify -> Clean -> Done
//
// The Runner walks through these spans, tells a Sink what happens every second,
// and hands it the state so far every few seconds, so that what was measured
// survives whatever happens to the process. It never returns without a Load:
// one that ended early says so, and why.
//
// # Loops
//
// Closed: jobs x depth workers, each with one I/O outstanding, start the next
// when one has ended. Latency counts from the start. Open (a rate is given):
// I/Os are due at fixed times; latency counts from when one was due, started or
// not, and what started late or never is counted (package pacer).
//
// Sequential patterns walk each job's own file, its workers taking consecutive
// blocks, around its end and on over repetitions. Random patterns draw aligned
// offsets uniformly; each worker has its own source, seeded by the plan, the
// client, the job and its number in the job, so that a rerun of a plan draws
// the same offsets. A copying worker reads a block and then writes it to the
// job's second file; with depth 1 that is serial, half duplex, as dd is.
//
// # Windows
//
// Load runs through warm-up and measured window without a break. An operation
// belongs to the window in which it ended: those in flight at its start count,
// those in flight at its end do not. Sampling follows the moment at which it
// looks, so an operation that ends at the turn of a second may be found in the
// next sample; the repetitions' own figures are exact.
package loadgen
