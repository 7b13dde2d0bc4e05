// Package slobconf reads the slob.conf of a SLOB 2.5 kit and writes it as the
// workload.slob of an NFSBenchmark, with a comment where the two differ. The
// file is a piece of shell; only plain assignments in it are read, and nothing
// is executed. Passwords are never written.
package slobconf
