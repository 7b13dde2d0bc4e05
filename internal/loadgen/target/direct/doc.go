// Package direct puts load on an export through the user-space client of
// package nfs, one connection for each channel of an oranfstab, as Oracle's own
// Direct NFS does.
//
// # Stability of writes
//
// Measured writes are FILE_SYNC: the reply says that the data would survive a
// crash of the server. A database writer needs that of every single write
// before it may forget the block, and Direct NFS has no page cache in which it
// could keep the data until a later COMMIT; data files are opened with O_DSYNC
// for the same reason where the kernel does the I/O. UNSTABLE writes with one
// COMMIT at the end would measure the memory of the server. Files are filled
// that way, since filling is not measured: UNSTABLE and COMMIT, and data that a
// restart of the server lost in between are sent again.
package direct
