// Package loadgen generates load on NFS storage and measures it: raw load, or the load of a database in a
// calibration or under SLOB.
//
// # Rounds and levels
//
// Package runloop goes through the spans of a run; the Runner is its Engine. A round of a raw load
// is one repetition of one level. A SLOB load goes through all its numbers of users in each round,
// with a pause of at most two seconds between them if there is a cool-down. A calibration climbs its
// two ladders without a pause, with a warm-up of at most a quarter of the window before each level.
// A round has one baseline, because its steps follow each other closely. Every measured window is a
// repetition. Its index counts over all levels and rounds; Step says which level it has.
//
// # Loops
//
// Closed: jobs x depth workers, each with one outstanding I/O, start the next I/O when one has ended. Latency
// counts from the start. Open (with a rate): I/Os are due at fixed times. Latency counts from the due time,
// whether the I/O started then or not. I/Os that started late or never are counted (type pacer).
//
// Sequential patterns walk through each job's own file; its workers take consecutive blocks, continue at the
// beginning after the end, and continue over repetitions. Random patterns draw aligned offsets uniformly.
// Each worker has its own random source, seeded by the plan, the client, the job and its number in the job,
// so that a rerun of a plan draws the same offsets. No block has two writes in flight: a worker takes another
// block instead, as its next offset, or waits if it finds none. A file with fewer blocks than workers has as
// many outstanding writes as blocks. A copying worker reads a block and then writes it to the job's second
// file; with depth 1 the copy is serial, half duplex, like dd.
//
// A mixed pattern decides for each block whether to read it or to overwrite it as a whole.
//
// # Capacity
//
// A search for capacity is an open loop with one rate per level (package capacity). I/Os are due at fixed
// distances, or at random distances with an exact mean (arrivals). Every I/O is an operation: after the read
// of an update, its write is the user's next due I/O. An operation that is due in a window and has not ended
// at its end counts with the time since it was due, whether it started or not (levelReport).
//
// # Users and calibrations
//
// A user of random reads has one outstanding single-block read, uniformly over the file of its schema: user u
// has schema u modulo the number of files. UpdatePercent of its operations read a block and write it back to
// the same place, which counts as a read and a write. It thinks after a number of statements of WorkUnit
// blocks; think time is not latency. A user of full table scans reads its schema's file in order in large
// pieces, with ReadAhead of them outstanding. It starts at its own place and wraps around the end of the
// file.
//
// A calibration does what CALIBRATE_IO does: random single-block reads over all files, with more and more of
// them outstanding, until their mean latency exceeds the tolerable one or more reads add no throughput (type
// ladder); then random large reads until more of them add no throughput. Rounds that warm caches come first
// and are marked.
//
// All levels use the same open files and the same connections. The workers suffice for the largest level; in
// a smaller level only the first of them work. Up to 64 workers share a stream, which on a DirectNFS target
// is one connection for each path (two if a single stream has enough I/Os for both); an Oracle session would
// have its own connections.
//
// # Content
//
// Each write of a block has the next generation (fileset.Tracker), so that it differs from the present data
// and a read can be checked: a read finds the last write that had ended when the read began, or a write that
// begins before the read ends. Between two latencies the worker checks the stamps of every read, and all
// bytes of some reads. After the load, it reads back the written data (fileset.Set.Verify).
//
// # Noise
//
// While a window is measured, a dedicated thread is due every 5 ms and records how much later it woke (type
// sentinel). These delays come from the client, so a latency can be compared with them. Before the load, the
// client measures its own limit without the storage (engine.ceiling).
//
// # Windows
//
// Load runs through warm-up and measured window without a break. An operation belongs to the window in which
// it ended: operations in flight at its start count, operations in flight at its end do not. A sample ends
// when it is read, so an operation that ends at the turn of a second may be in the next sample; the figures
// of repetitions are exact.
package loadgen
