package target_test

import (
	"testing"
	"unsafe"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

func TestBuffersOfAnArenaAreAlignedAndApart(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		size  int64
		align uintptr // of the first buffer
	}{
		"small pages":                    {3, 8 << 10, target.BufferAlignBytes},
		"odd sizes":                      {3, 5000, target.BufferAlignBytes},
		"one large page":                 {1, 1 << 20, 2 << 20},
		"large pages":                    {5, 1 << 20, 2 << 20},
		"a little more than large pages": {257, 8 << 10, 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			arena, err := target.NewArena(c.count, c.size)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.count {
				b := arena.Buffer(i)
				if int64(len(b)) != c.size || int64(cap(b)) != c.size {
					t.Fatalf("buffer %d has %d bytes and room for %d, want %d", i, len(b), cap(b), c.size)
				}
				at, align := uintptr(unsafe.Pointer(&b[0])), uintptr(target.BufferAlignBytes)
				if i == 0 {
					align = c.align
				}
				if at%align != 0 {
					t.Errorf("buffer %d begins at %#x, which is no multiple of %d", i, at, align)
				}
				for k := range b {
					if b[k] != 0 {
						t.Fatalf("byte %d of buffer %d is in use already", k, i)
					}
					b[k] = 1
				}
			}
			if err := arena.Release(); err != nil {
				t.Error(err)
			}
			if err := arena.Release(); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}
