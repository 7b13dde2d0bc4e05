package target

import (
	"fmt"
	"runtime"
	"syscall"
)

// Arena is page-aligned memory outside the Go heap, cut into equal buffers:
// O_DIRECT needs the alignment, and the garbage collector need not know it.
type Arena struct {
	mem      []byte
	stride   int
	size     int
	released bool
}

// NewArena maps count buffers of size bytes each. The memory is zero and costs
// nothing until it is touched. Call Release when no I/O can use it any more.
func NewArena(count int, size int64) (*Arena, error) {
	if count < 1 || size < 1 {
		return nil, fmt.Errorf("map %d buffers of %d bytes: both must be positive", count, size)
	}
	stride := (size + BufferAlignBytes - 1) / BufferAlignBytes * BufferAlignBytes
	total := stride * int64(count)
	if total/int64(count) != stride || int64(int(total)) != total {
		return nil, fmt.Errorf("map %d buffers of %d bytes: more than this machine can address", count, size)
	}
	mem, err := syscall.Mmap(-1, 0, int(total), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d buffers of %d bytes: %w", count, size, err)
	}
	return &Arena{mem: mem, stride: int(stride), size: int(size)}, nil
}

// Buffer returns buffer i, from 0. Its capacity ends where its length does.
func (a *Arena) Buffer(i int) []byte {
	from := i * a.stride
	return a.mem[from : from+a.size : from+a.size]
}

// Release gives the memory back. Using a buffer afterwards is a fault. A
// second call does nothing.
func (a *Arena) Release() error {
	if a.released {
		return nil
	}
	a.released = true
	err := syscall.Munmap(a.mem)
	runtime.KeepAlive(a)
	if err != nil {
		return fmt.Errorf("unmap buffers: %w", err)
	}
	return nil
}
