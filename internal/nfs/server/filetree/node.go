package filetree

import (
	"encoding/binary"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// HandleBytes is the length of every handle of this package.
const HandleBytes = 24

// handleMagic starts every handle; its last byte is the version of the layout.
const handleMagic = 0x6e66736265_6e6801

// key is the identity of a file: see the package comment.
type key struct{ ino, gen uint64 }

// Node is one file or directory with a handle. It stays valid forever; once the file is gone, every operation on it
// returns ESTALE.
type Node struct {
	key  key
	kind v3.FileType

	// Tree.mu guards parent, name and gone.
	parent *Node
	name   string
	gone   bool

	// sizeMu is held for reading by writes within the file, and for writing by
	// changes of its length, so that the quota always covers the data on disk.
	sizeMu sync.RWMutex
	size   int64

	// The lock of the file cache guards slot.
	slot *slot
}

// Handle returns the node's handle in the protocol.
func (n *Node) Handle() [HandleBytes]byte {
	var h [HandleBytes]byte
	binary.BigEndian.PutUint64(h[0:], handleMagic)
	binary.BigEndian.PutUint64(h[8:], n.key.ino)
	binary.BigEndian.PutUint64(h[16:], n.key.gen)
	return h
}

// IsDir reports whether the node is a directory. It never changes.
func (n *Node) IsDir() bool { return n.kind == v3.TypeDirectory }

// ByHandle returns the node of a handle: EBADF if it is not one of our handles, ESTALE if the file is gone.
func (t *Tree) ByHandle(h []byte) (*Node, error) {
	if len(h) != HandleBytes || binary.BigEndian.Uint64(h) != handleMagic {
		return nil, unix.EBADF
	}
	k := key{ino: binary.BigEndian.Uint64(h[8:]), gen: binary.BigEndian.Uint64(h[16:])}
	t.mu.RLock()
	n := t.nodes[k]
	t.mu.RUnlock()
	if n == nil {
		return nil, unix.ESTALE
	}
	return n, nil
}

// adopt returns the node of k, and adds it if it is new. A known node in another place was moved by others; adopt
// records the new place.
func (t *Tree) adopt(parent *Node, name string, k key, a v3.Attr) (*Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.nodes[k]; n != nil {
		if n != t.root {
			n.parent, n.name = parent, name
		}
		return n, nil
	}
	if len(t.nodes) >= t.opt.MaxEntries {
		return nil, unix.ENOSPC
	}
	n := &Node{key: k, kind: a.Type, parent: parent, name: name}
	if a.Type == v3.TypeRegular {
		n.size = int64(a.Size)
		t.usedBytes.Add(n.size)
	}
	t.nodes[k] = n
	return n, nil
}

// forget makes every handle of the node stale and returns its bytes to the quota.
func (t *Tree) forget(n *Node) {
	t.mu.Lock()
	known := !n.gone && n != t.root
	if known {
		n.gone = true
		delete(t.nodes, n.key)
	}
	t.mu.Unlock()
	if !known {
		return
	}
	n.sizeMu.Lock()
	t.usedBytes.Add(-n.size)
	n.size = 0
	n.sizeMu.Unlock()
	t.files.drop(n)
}

// pathOf returns the current path of the node, relative to the root.
func (t *Tree) pathOf(n *Node) (string, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := "."
	for m := n; m != t.root; m = m.parent {
		if m.gone || m.parent == nil {
			return "", unix.ESTALE
		}
		p = path.Join(m.name, p)
	}
	return p, nil
}

// place returns the directory and the name of a node that is not the root.
func (t *Tree) place(n *Node) (*Node, string, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n.gone || n.parent == nil {
		return nil, "", unix.ESTALE
	}
	return n.parent, n.name, nil
}
