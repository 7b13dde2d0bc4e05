// Package fileset looks after the files that load runs on: one for each job of
// each client, or two where a job copies.
//
// # Ownership
//
// The first file that a client puts into the directory is its marker, and the
// last one that it removes. A directory with files but no marker of any client
// belongs to somebody else: nothing in it is touched. Only names that we would
// give ourselves are ever opened for writing or removed.
//
// # Content
//
// Files are filled once, outside the measured window, and used again as long as
// the marker says that seed and size are the same. After that they are only
// overwritten in place. What they hold can be computed (package content) but
// for the order of overwrites, for which a sample of blocks is tracked: the
// last write of each of them must be found again after the load.
package fileset
