package filetree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// direntBytes is the buffer size of one getdents call.
const direntBytes = 16 << 10

// ReadDir calls yield for the entries after cookie (0 = from the start) until it returns false. The cookie is the
// directory offset of the file system, so it survives changes of the directory. EINVAL: an invalid cookie. Entries
// have handle and attributes if withAttr is set and the entry could be read. atEnd reports that yield took all
// entries.
func (t *Tree) ReadDir(
	dir *Node, cookie uint64, withAttr bool, yield func(*v3.DirEntry) bool,
) (atEnd bool, err error) {
	if cookie > math.MaxInt64 {
		return false, unix.EINVAL
	}
	t.names.RLock()
	defer t.names.RUnlock()
	err = t.inDir(dir, func(fd int) error {
		if _, err := unix.Seek(fd, int64(cookie), 0); err != nil {
			return unix.EINVAL
		}
		buf := make([]byte, direntBytes)
		for {
			n, err := unix.Getdents(fd, buf)
			if err != nil || n <= 0 {
				atEnd = err == nil
				return err
			}
			if !t.yieldAll(dir, fd, buf[:n], withAttr, yield) {
				return nil
			}
		}
	})
	return atEnd, err
}

func (t *Tree) yieldAll(dir *Node, fd int, raw []byte, withAttr bool, yield func(*v3.DirEntry) bool) bool {
	for len(raw) > 0 {
		e, rest, ok := parseDirent(raw)
		if !ok {
			return true
		}
		raw = rest
		if dir == t.root && e.Name == ".." {
			e.FileID = t.root.key.ino // clients must not see anything outside, not even its number
		}
		if withAttr && !t.describe(dir, fd, &e) {
			continue
		}
		if !yield(&e) {
			return false
		}
	}
	return true
}

// describe adds node and attributes; false = the entry has vanished.
func (t *Tree) describe(dir *Node, fd int, e *v3.DirEntry) bool {
	if e.Name == ".." {
		return true // it may lack attributes, which would need another directory
	}
	if e.Name == "." {
		a, _, err := statAt(fd, "")
		fillIn(e, dir, a)
		return err == nil
	}
	a, k, err := statAt(fd, e.Name)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	// If the table is full, there is no node, but the name is still listed.
	if n, err := t.adopt(dir, e.Name, k, a); err == nil {
		fillIn(e, n, a)
	}
	return true
}

func fillIn(e *v3.DirEntry, n *Node, a v3.Attr) {
	h := n.Handle()
	e.HandlePresent, e.Handle, e.Attr = true, h[:], v3.OptAttr{Present: true, Attr: a}
}

// parseDirent reads one struct linux_dirent64: inode, offset, record length, type, name.
func parseDirent(raw []byte) (e v3.DirEntry, rest []byte, ok bool) {
	const fixed = 19
	if len(raw) < fixed {
		return v3.DirEntry{}, nil, false
	}
	length := int(binary.NativeEndian.Uint16(raw[16:]))
	if length < fixed || length > len(raw) {
		return v3.DirEntry{}, nil, false
	}
	name := raw[fixed:length]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return v3.DirEntry{
		FileID: binary.NativeEndian.Uint64(raw),
		Cookie: binary.NativeEndian.Uint64(raw[8:]),
		Name:   string(name),
	}, raw[length:], true
}
