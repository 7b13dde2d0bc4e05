package filetree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

func TestTheQuotaCountsSizes(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{QuotaBytes: 1000})
	n := mustCreate(t, tree, tree.Root(), "file")
	write := func(size int, offset uint64) error {
		_, _, err := tree.Write(n, make([]byte, size), offset, v3.Unstable)
		return err
	}
	used := func() uint64 {
		u, err := tree.Usage()
		if err != nil {
			t.Fatal(err)
		}
		if u.FreeBytes != 1000-u.UsedBytes || u.TotalBytes != 1000 {
			t.Errorf("usage does not fit together: %+v", u)
		}
		return u.UsedBytes
	}
	resize := func(size uint64) error { return tree.SetAttr(n, v3.NewAttr{Size: v3.Opt64{Set: true, Value: size}}) }

	if err := write(600, 0); err != nil || used() != 600 {
		t.Errorf("a file within the quota: %v, %d used", err, used())
	}
	if err := write(600, 0); err != nil || used() != 600 {
		t.Errorf("overwriting must cost nothing: %v, %d used", err, used())
	}
	if err := write(500, 501); !errors.Is(err, syscall.ENOSPC) || used() != 600 {
		t.Errorf("one byte too many: %v, %d used", err, used())
	}
	if err := resize(1001); !errors.Is(err, syscall.ENOSPC) || used() != 600 {
		t.Errorf("a hole counts like data: %v, %d used", err, used())
	}
	if err := resize(100); err != nil || used() != 100 {
		t.Errorf("truncating gives back: %v, %d used", err, used())
	}
	if err := write(1, 999); err != nil || used() != 1000 {
		t.Errorf("a sparse file reserves its size: %v, %d used", err, used())
	}
	if err := write(1, 1<<63-1); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("an offset beyond every file: %v", err)
	}
	if err := tree.Remove(tree.Root(), "file"); err != nil || used() != 0 {
		t.Errorf("removing gives back: %v, %d used", err, used())
	}
}

func TestTheQuotaHoldsUnderConcurrency(t *testing.T) {
	const quota, block = 64 << 10, 1 << 10
	dir := t.TempDir()
	tree := open(t, dir, filetree.Options{QuotaBytes: quota, MaxOpenFiles: 3})
	var all sync.WaitGroup
	for i := range 8 {
		n := mustCreate(t, tree, tree.Root(), fmt.Sprint("file", i))
		all.Go(func() {
			for j := range uint64(40) {
				_, _, err := tree.Write(n, make([]byte, block), j*block, v3.Unstable)
				if err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("write: %v", err)
				}
				if size := uint64(0); j == 20 && i%2 == 0 {
					if err := tree.SetAttr(n, v3.NewAttr{Size: v3.Opt64{Set: true, Value: size}}); err != nil {
						t.Errorf("truncate: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	var sum int64
	for i := range 8 {
		st, err := os.Stat(filepath.Join(dir, fmt.Sprint("file", i)))
		if err != nil {
			t.Fatal(err)
		}
		sum += st.Size()
	}
	u, err := tree.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if sum > quota || uint64(sum) != u.UsedBytes {
		t.Errorf("%d bytes on disk, %d accounted, quota %d", sum, u.UsedBytes, quota)
	}
}

func TestTheNumberOfEntriesIsLimited(t *testing.T) {
	dir := t.TempDir()
	tree := open(t, dir, filetree.Options{MaxEntries: 3})
	mustCreate(t, tree, tree.Root(), "a")
	mustMkdir(t, tree, tree.Root(), "b")
	if _, _, err := tree.Create(tree.Root(), "c", 0o644, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("create: %v", err)
	}
	if _, _, err := tree.Mkdir(tree.Root(), "c", 0o755); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("mkdir: %v", err)
	}
	if _, err := filetree.Open(dir, filetree.Options{MaxEntries: 2}); err == nil {
		t.Error("a directory with more entries than allowed must be refused at the start")
	}
}

func TestAWriteThatFailsCostsNothing(t *testing.T) {
	tree := open(t, t.TempDir(), filetree.Options{})
	n := mustCreate(t, tree, tree.Root(), "file")
	_, _, err := tree.Write(n, []byte("x"), 1<<60, v3.Unstable)
	if err == nil {
		t.Skip("this file system has files of 2^60 bytes")
	}
	if u, uerr := tree.Usage(); uerr != nil || u.UsedBytes != 0 {
		t.Errorf("after %v %d bytes are accounted, %v", err, u.UsedBytes, uerr)
	}
}
