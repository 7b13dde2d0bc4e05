// Package procfs reads what Linux reports about CPUs, network and NFS mounts under
// /proc and /sys.
//
// The parsers take an io.Reader and the Reader takes the root of a file tree,
// so tests feed both with fixtures. What the system does not say is an error
// or nil, never zero. Counters that do not fit an int64 are refused.
package procfs
