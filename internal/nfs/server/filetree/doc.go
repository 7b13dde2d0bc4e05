// Package filetree keeps the files behind the embedded NFS server: one directory, reached
// by handles that outlive a restart.
//
// # Identity
//
// A handle holds the inode number and a generation: the birth time if the file system keeps one, else a hash of the
// result of name_to_handle_at, else 0. Handles survive a restart without being stored, because Open walks the
// directory once and records the place of every inode. A node remembers its parent and its name; a path is computed
// when it is needed, so renaming a directory moves everything below it at no cost. Before a file opened by path is
// used, its identity is compared with the handle: a file that others replaced is stale, and never silently another
// file.
//
// # Confinement
//
// Directories and files are opened through os.Root, which follows no symbolic link out of
// the tree; everything else is an *at call with one validated name on such a directory.
//
// # Quota
//
// The quota counts file sizes, not blocks: a sparse file reserves its full size. A client can therefore never fill
// the node, and a file that could be created can also be written.
//
// Errors are syscall.Errno values wrapped with the operation; ESTALE for a handle whose file is gone, EBADF for bytes
// that are not one of our handles, ENOSPC for quota and disk.
package filetree
