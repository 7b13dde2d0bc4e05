package filetree

import (
	"container/list"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// fileCache keeps files open between operations, the least recently used ones go first.
type fileCache struct {
	mu     sync.Mutex
	max    int
	lru    *list.List // of *slot, newest first
	closed bool
}

// slot is one open file. users counts the operations that run on it; a slot that left the
// cache is closed by the last of them.
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

// put offers a freshly opened file. When another operation was faster its file is used.
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

// drop closes the file of n as soon as nobody uses it.
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
		// Data were written with write(2) and are safe only after Sync; close adds nothing.
		_ = s.file.Close()
	}
}
