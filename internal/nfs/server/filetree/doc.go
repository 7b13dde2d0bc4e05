// Package filetree keeps the files behind the embedded NFS server: one directory, reached
// by handles that outlive a restart.
//
// # Identity
//
// A handle holds the inode number and a generation: the birth time where the file system
// keeps one, else a hash of what name_to_handle_at says, else 0. Nothing has to be stored
// for handles to survive a restart, because Open walks the directory once and learns the
// place of every inode. A node remembers its parent and its name; a path is computed when
// it is needed, so renaming a directory moves everything below it at no cost.
// Whatever is opened by path is compared with the handle's identity before it is used:
// a file that was replaced behind our back is stale, never silently another file.
//
// # Confinement
//
// Directories and files are opened through os.Root, which follows no symbolic link out of
// the tree; everything else is an *at call with one validated name on such a directory.
//
// # Quota
//
// The quota counts file sizes, not blocks: a sparse file reserves its full size. So a
// client can never fill the node, and a file that could be created can also be written.
//
// Errors are syscall.Errno values wrapped with the operation; ESTALE for a handle whose
// file is gone, EBADF for bytes that are no handle of ours, ENOSPC for quota and disk.
package filetree
