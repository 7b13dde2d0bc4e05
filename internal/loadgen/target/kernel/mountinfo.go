package kernel

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// findMount returns the mount that holds the path with this device number. The device distinguishes mounts on
// the same mount point.
func findMount(mounts []procfs.Mount, path string, device uint64) (procfs.Mount, bool) {
	name := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	return procfs.MountOf(slices.DeleteFunc(mounts, func(m procfs.Mount) bool { return m.Device != name }), path)
}

// factsOf returns the facts of a mount and of the space in its file system.
func factsOf(m procfs.Mount, st *unix.Statfs_t) runfile.MountFacts {
	f := m.Facts()
	f.DirectIO = true
	f.TotalBytes, f.FreeBytes = int64(st.Blocks)*st.Bsize, int64(st.Bavail)*st.Bsize
	return f
}
