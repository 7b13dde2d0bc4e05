// Package faults runs the whole load engine, a plan in and a result out, against
// servers and networks that fail, and judges what the result says: no error where
// a fault can be survived, no wrong block ever, and a failure that a stranger
// understands, in time, where it cannot.
//
// Servers are package faulty in this process, "nfsbench serve" in a process that
// is killed, and NFS-Ganesha in a network namespace (with NFSBENCH_LAB set).
// docs/faults.md lists all faults with the tests that show them.
package faults
