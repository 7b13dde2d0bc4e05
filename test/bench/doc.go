// Command bench measures nfsbench beside the programs of others on one machine:
// NFS-Ganesha in a network namespace, links that are shaped or the loopback, and
// all contenders of a row in turns. hack/bench.sh builds what it needs and calls
// it.
//
//	rows.go      which work, by whom, and what must be reached
//	turns.go     the order of the measurements and the time that they take
//	tool_*.go    the command line of each program and what it prints
//	child.go     processes: time limit, resource usage, no stray ones
//	arena.go     the lab, the files, the wire's iperf3
//	session.go   from the first measurement to the last word
//
// Package score turns what was measured into ratios and a table.
package main
