// Package kernel puts load on a directory that the operating system mounted,
// past its page cache.
//
// Files are opened with O_DIRECT, and for measured writes with O_DSYNC as well:
// that is how Oracle opens data files on NFS (filesystemio_options=setall). An
// I/O blocks a thread, one for each outstanding I/O; io_uring would need fewer,
// but the seccomp profile that container runtimes use by default forbids it.
//
// A system call on a hard mount whose server is gone cannot be interrupted. The
// calls of an opened Target therefore look at their context only before they
// start; Open itself returns in time and leaves the call behind.
package kernel
