package filetree

import (
	"container/list"
	"errors"
	"io/fs"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// File is an open regular file, borrowed from the tree; Release returns it.
type File struct {
	tree *Tree
	node *Node
	slot *slot
}

// OpenFile lends the open file of a node. It returns EISDIR for a directory, and EINVAL for other files that are not
// regular.
func (t *Tree) OpenFile(n *Node) (File, error) {
	if s := t.files.take(n); s != nil {
		return File{tree: t, node: n, slot: s}, nil
	}
	if n.IsDir() {
		return File{}, unix.EISDIR
	}
	if n.kind != v3.TypeRegular {
		return File{}, unix.EINVAL
	}
	t.names.RLock()
	f, writable, err := t.open(n)
	t.names.RUnlock()
	if err != nil {
		return File{}, err
	}
	s, err := t.files.put(n, f, writable)
	if err != nil {
		return File{}, err
	}
	return File{tree: t, node: n, slot: s}, nil
}

func (t *Tree) open(n *Node) (*os.File, bool, error) {
	p, err := t.pathOf(n)
	if err != nil {
		return nil, false, err
	}
	// O_NONBLOCK: a FIFO in place of the file must not block the server.
	const flags = unix.O_NONBLOCK | unix.O_NOFOLLOW
	writable := true
	f, err := t.dir.OpenFile(p, os.O_RDWR|flags, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		writable = false
		f, err = t.dir.OpenFile(p, os.O_RDONLY|flags, 0)
	}
	if err != nil {
		return nil, false, t.goneOr(n, err)
	}
	a, k, err := statAt(int(f.Fd()), "")
	if err != nil || k != n.key || a.Type != v3.TypeRegular {
		t.forget(n)
		return nil, false, errors.Join(unix.ESTALE, f.Close())
	}
	return f, writable, nil
}

// Release returns the File, which must not be used afterwards.
func (f File) Release() { f.tree.files.give(f.slot) }

// Attr reads the attributes of the open file.
func (f File) Attr() (v3.Attr, error) { return statOpen(int(f.slot.file.Fd())) }

// ReadAt reads as os.File.ReadAt does.
func (f File) ReadAt(p []byte, offset int64) (int, error) { return f.slot.file.ReadAt(p, offset) }

// Write writes p at offset with the requested stability. A short count comes with an error.
func (t *Tree) Write(n *Node, p []byte, offset uint64, stable v3.Stable) (int, v3.Attr, error) {
	if offset > math.MaxInt64-uint64(len(p)) {
		return 0, v3.Attr{}, unix.EFBIG
	}
	f, err := t.OpenFile(n)
	if err != nil {
		return 0, v3.Attr{}, err
	}
	defer f.Release()
	if !f.slot.writable {
		return 0, v3.Attr{}, unix.EACCES
	}
	done, err := f.write(p, int64(offset))
	if err != nil {
		t.resize(f)
		return done, v3.Attr{}, err
	}
	if err := f.sync(stable); err != nil {
		return 0, v3.Attr{}, err
	}
	a, err := f.Attr()
	return done, a, err
}

// write writes within the size that the quota covers, and first raises that size if needed.
func (f File) write(p []byte, offset int64) (int, error) {
	end := offset + int64(len(p))
	for {
		f.node.sizeMu.RLock()
		if end <= f.node.size {
			break
		}
		f.node.sizeMu.RUnlock()
		if err := f.tree.cover(f.node, end); err != nil {
			return 0, err
		}
	}
	defer f.node.sizeMu.RUnlock()
	return f.slot.file.WriteAt(p, offset)
}

// cover makes the quota cover a file of size bytes. The file itself grows with the write; resize repairs the account
// if that fails.
func (t *Tree) cover(n *Node, size int64) error {
	n.sizeMu.Lock()
	defer n.sizeMu.Unlock()
	if size <= n.size {
		return nil
	}
	t.mu.RLock()
	gone := n.gone
	t.mu.RUnlock()
	if gone {
		return unix.ESTALE
	}
	if err := t.reserve(size - n.size); err != nil {
		return err
	}
	n.size = size
	return nil
}

// resize sets the account to the real size of the file.
func (t *Tree) resize(f File) {
	f.node.sizeMu.Lock()
	defer f.node.sizeMu.Unlock()
	t.mu.RLock()
	gone := f.node.gone
	t.mu.RUnlock()
	if a, err := f.Attr(); err == nil && !gone {
		t.usedBytes.Add(int64(a.Size) - f.node.size)
		f.node.size = int64(a.Size)
	}
}

func (f File) sync(stable v3.Stable) error {
	switch stable {
	case v3.FileSync:
		return f.slot.file.Sync()
	case v3.DataSync:
		return unix.Fdatasync(int(f.slot.file.Fd()))
	case v3.Unstable:
	}
	return nil
}

// Sync makes all data written to the file so far durable.
func (t *Tree) Sync(n *Node) (v3.Attr, error) {
	f, err := t.OpenFile(n)
	if err != nil {
		return v3.Attr{}, err
	}
	defer f.Release()
	if err := f.sync(v3.FileSync); err != nil {
		return v3.Attr{}, err
	}
	return f.Attr()
}

// truncate sets the length of a file within the quota.
func (t *Tree) truncate(n *Node, size uint64) error {
	if size > math.MaxInt64 {
		return unix.EFBIG
	}
	f, err := t.OpenFile(n)
	if err != nil {
		return err
	}
	defer f.Release()
	if !f.slot.writable {
		return unix.EACCES
	}
	if err := t.cover(n, int64(size)); err != nil {
		return err
	}
	defer t.resize(f)
	n.sizeMu.Lock()
	defer n.sizeMu.Unlock()
	return f.slot.file.Truncate(int64(size))
}

// fileCache keeps files open between operations, and closes the least recently used ones first.
type fileCache struct {
	mu     sync.Mutex
	max    int
	lru    *list.List // of *slot, newest first
	closed bool
}

// slot is one open file. Its users are the running operations; the last of them closes a slot that has left the
// cache.
type slot struct {
	file     *os.File
	writable bool
	users    int
	dropped  bool
	node     *Node
	place    *list.Element
}

func newFileCache(limit int) *fileCache { return &fileCache{max: limit, lru: list.New()} }

// take returns the open file of n, or nil when it is not open.
func (c *fileCache) take(n *Node) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := n.slot
	if s == nil {
		return nil
	}
	s.users++
	c.lru.MoveToFront(s.place)
	return s
}

// put offers a newly opened file. If another operation was faster, put returns that operation's file.
func (c *fileCache) put(n *Node, f *os.File, writable bool) (*slot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(unix.EIO, f.Close())
	}
	if s := n.slot; s != nil {
		s.users++
		return s, f.Close()
	}
	s := &slot{file: f, writable: writable, users: 1, node: n}
	s.place = c.lru.PushFront(s)
	n.slot = s
	for c.lru.Len() > c.max {
		c.remove(c.lru.Back())
	}
	return s, nil
}

// give ends the use of a slot.
func (c *fileCache) give(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.users--
	if s.dropped && s.users == 0 {
		_ = s.file.Close()
	}
}

// drop closes the file of n when its last user is done.
func (c *fileCache) drop(n *Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.slot != nil {
		c.remove(n.slot.place)
	}
}

func (c *fileCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for c.lru.Len() > 0 {
		c.remove(c.lru.Front())
	}
}

func (c *fileCache) remove(place *list.Element) {
	s, ok := c.lru.Remove(place).(*slot)
	if !ok {
		return // only slots are in the list
	}
	s.node.slot = nil
	s.dropped = true
	if s.users == 0 {
		// Data were written with write(2) and are durable only after Sync; close adds nothing.
		_ = s.file.Close()
	}
}
