// Package nfs4 tests our NFSv4 and pNFS client, and the target and the program that use it,
// against the strict server of nfs4test.
package nfs4
