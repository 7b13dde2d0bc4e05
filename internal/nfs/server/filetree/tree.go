package filetree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Options limits what clients may do to the directory. Zero values select the defaults.
type Options struct {
	// QuotaBytes limits the sum of all file sizes; 0 = only the disk limits.
	QuotaBytes int64
	// MaxEntries limits the number of files and directories, and thus memory; default 65536.
	MaxEntries int
	// MaxOpenFiles limits the open files kept for reuse; default 512.
	MaxOpenFiles int
}

// Tree is a directory served by handle. It is safe for concurrent use.
type Tree struct {
	opt  Options
	dir  *os.Root
	root *Node

	// mu guards nodes and the place of every node. It is never held during a system call.
	mu    sync.RWMutex
	nodes map[key]*Node

	// names is held for reading while a path is turned into an open file, and for writing while names change, so that a
	// rename never makes a valid handle look stale.
	names sync.RWMutex

	usedBytes atomic.Int64
	files     *fileCache
}

// Open reads every entry below dir. It fails if there are more than MaxEntries.
func Open(dir string, opt Options) (*Tree, error) {
	opt.MaxEntries = cmp.Or(max(0, opt.MaxEntries), 65536)
	opt.MaxOpenFiles = cmp.Or(max(0, opt.MaxOpenFiles), 512)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open directory %q: %w", dir, err)
	}
	t := &Tree{opt: opt, dir: root, nodes: map[key]*Node{}, files: newFileCache(opt.MaxOpenFiles)}
	if err := t.learn(); err != nil {
		return nil, errors.Join(fmt.Errorf("learn directory %q: %w", dir, err), root.Close())
	}
	return t, nil
}

// Close closes every file. Operations that still run finish with an error.
func (t *Tree) Close() error {
	t.files.close()
	return t.dir.Close()
}

// Root returns the node of the directory itself.
func (t *Tree) Root() *Node { return t.root }

// FSID distinguishes the tree from others on the same server. It survives a restart.
func (t *Tree) FSID() uint64 { return t.root.key.ino ^ t.root.key.gen }

func (t *Tree) learn() error {
	f, err := t.dir.Open(".")
	if err != nil {
		return err
	}
	a, k, err := statAt(int(f.Fd()), "")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	t.root = &Node{key: k, kind: a.Type}
	t.nodes[k] = t.root
	dirs := map[string]*Node{".": t.root}
	return fs.WalkDir(t.dir.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if p == "." || errors.Is(err, fs.ErrNotExist) {
			return ignoreNotExist(err)
		}
		if errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		n, _, err := t.Lookup(dirs[path.Dir(p)], d.Name())
		if errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("more than %d entries", t.opt.MaxEntries)
		}
		if err == nil && d.IsDir() {
			dirs[p] = n
		}
		return ignoreNotExist(err)
	})
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// inDir calls do with an open directory, after checking that it is still the same directory.
func (t *Tree) inDir(n *Node, do func(fd int) error) error {
	if !n.IsDir() {
		return unix.ENOTDIR
	}
	p, err := t.pathOf(n)
	if err != nil {
		return err
	}
	f, err := t.dir.OpenFile(p, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return t.goneOr(n, err)
	}
	defer f.Close() //nolint:errcheck // a directory opened for reading has nothing to lose
	if _, k, err := statAt(int(f.Fd()), ""); err != nil || k != n.key {
		t.forget(n)
		return unix.ESTALE
	}
	return do(int(f.Fd()))
}

// goneOr turns "no such file" into a stale handle: the handle was valid, but the file is gone.
func (t *Tree) goneOr(n *Node, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		t.forget(n)
		return unix.ESTALE
	}
	return err
}

// Usage is the used and free space of the tree. The quota and the disk limit the bytes.
type Usage struct {
	TotalBytes, FreeBytes, AvailBytes uint64
	TotalFiles, FreeFiles             uint64
	UsedBytes                         uint64
}

// Usage reads the state of the disk and of the quota.
func (t *Tree) Usage() (Usage, error) {
	var st unix.Statfs_t
	err := t.inDir(t.root, func(fd int) error { return unix.Fstatfs(fd, &st) })
	if err != nil {
		return Usage{}, err
	}
	block := uint64(st.Bsize)
	u := Usage{TotalBytes: st.Blocks * block, FreeBytes: st.Bfree * block, AvailBytes: st.Bavail * block}
	u.UsedBytes = uint64(max(0, t.usedBytes.Load()))
	if q := uint64(t.opt.QuotaBytes); q > 0 {
		left := q - min(q, u.UsedBytes)
		u.TotalBytes = min(u.TotalBytes, q)
		u.FreeBytes, u.AvailBytes = min(u.FreeBytes, left), min(u.AvailBytes, left)
	}
	t.mu.RLock()
	known := len(t.nodes)
	t.mu.RUnlock()
	u.TotalFiles = uint64(t.opt.MaxEntries)
	u.FreeFiles = uint64(max(0, t.opt.MaxEntries-known))
	return u, nil
}

// reserve takes more bytes from the quota. It returns ENOSPC if they are not available.
func (t *Tree) reserve(more int64) error {
	for {
		used := t.usedBytes.Load()
		if t.opt.QuotaBytes > 0 && more > t.opt.QuotaBytes-used {
			return unix.ENOSPC
		}
		if t.usedBytes.CompareAndSwap(used, used+more) {
			return nil
		}
	}
}
