package filetree

// FSID identifies the tree among others of the same server; it survives a restart.
func (t *Tree) FSID() uint64 { return t.root.key.ino ^ t.root.key.gen }
