// Package realserver tests our client, and the target that is made of it, against the NFS
// server that NFSBENCH_TEST_NFS names: NFS-Ganesha, or that of a Linux kernel in a virtual
// machine.
package realserver
