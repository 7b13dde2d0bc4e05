// Package kernelnfs holds the tests of nfsbench on the NFS of the Linux kernel:
// the Kernel engine on mounts of all versions, and our own client against the
// kernel's server. They run in one virtual machine (hack/vm), because machines that
// build this often have neither in their own kernel. guest/run does everything and
// keeps what programs printed and what the kernel counted; the tests then look at
// that. They need the packages of hack/vm and run only when NFSBENCH_VM is set.
package kernelnfs
