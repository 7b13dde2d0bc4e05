// Package loadgen generates load on NFS storage and measures it: raw, or what a
// database would do in a calibration or under SLOB.
//
// # Rounds and levels
//
// Package course walks through the spans of a run; the Runner is its Engine. A round of a raw load
// is one repetition of one level. A SLOB load goes through all its numbers of users in each round,
// with a pause of at most two seconds between them if there is a cool-down. A calibration climbs its
// two ladders without a pause, with a warm-up of at most a quarter of the window before each level.
// A round has one baseline, because its steps follow each other closely. Every measured window is a
// repetition. Its index counts over all levels and rounds; Step says which level it has.
//
// # Loops
//
// Closed: jobs x depth workers, each with one I/O outstanding, start the next
// when one has ended. Latency counts from the start. Open (a rate is given):
// I/Os are due at fixed times; latency counts from when one was due, started or
// not, and what started late or never is counted (type pacer).
//
// Sequential patterns walk each job's own file, its workers taking consecutive
// blocks, around its end and on over repetitions. Random patterns draw aligned
// offsets uniformly; each worker has its own source, seeded by the plan, the
// client, the job and its number in the job, so that a rerun of a plan draws
// the same offsets. No block has two writes in flight: a worker takes another
// block then, as its next offset, or waits if it finds none: a file with fewer blocks than
// workers has as many writes outstanding as blocks. A copying worker reads a block and then writes it to the
// job's second file; with depth 1 that is serial, half duplex, as dd is.
//
// A mixed pattern decides for each block whether to read it or to overwrite it as a whole.
//
// # Capacity
//
// A search for capacity is an open loop with one rate per level (package capacity). I/Os are due at
// fixed distances, or at random ones whose mean is exact (arrivals). Every I/O is an operation: after
// the read of an update, its write is the user's next due I/O. An operation that is due in a window
// and has not ended by its end counts with the time since it was due, started or not (levelReport).
//
// # Users and calibrations
//
// A user of random reads has one single-block read outstanding, uniformly over the file of its schema: user u
// has schema u modulo the number of files. UpdatePercent of its operations read a block and write it back to
// the same place, which counts as a read and a write. It thinks after a number of statements of WorkUnit
// blocks; thinking is no latency. A user of full table scans reads its schema's file in large pieces, in
// order, with ReadAhead of them outstanding. It starts at its own place and wraps around the end of the file.
//
// A calibration has the meaning of CALIBRATE_IO: random single-block reads over
// all files, more and more of them outstanding, until their mean latency passes
// what is tolerable or they bring no more (type ladder), then random large reads
// until they bring no more. Rounds to warm caches come first and are marked.
//
// All levels use the same open files and the same connections: workers are made
// for the largest level, and in smaller ones the first of them are at work. Up
// to 64 of them share a stream, which on a DirectNFS target is one connection
// for each path (two where a single stream has enough for both); an Oracle
// session would have connections of its own.
//
// # Content
//
// Each write of a block has the next generation (fileset.Tracker), so that it differs from what is there, and a
// read can be checked: it finds the last write that had ended when the read began, or one that has begun
// until it ends. The worker looks at the stamps of every read, and compares all bytes of some, between two
// latencies. After the load, what was written is read back (fileset.Set.Verify).
//
// # Noise
//
// While a window is measured, a thread that does nothing else is due every 5 ms and records by how much later
// it woke (type sentinel). Its delays are those of the client, so a latency can be compared with them. Before the
// load, the client measures what it does while nothing else limits it (engine.ceiling).
//
// # Windows
//
// Load runs through warm-up and measured window without a break. An operation
// belongs to the window in which it ended: those in flight at its start count,
// those in flight at its end do not. Sampling follows the moment at which it
// looks, so an operation that ends at the turn of a second may be found in the
// next sample; the repetitions' own figures are exact.
package loadgen
