package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// findMount returns the mount that the path with this device number lies on. The device tells
// mounts over each other apart.
func findMount(mounts []procfs.Mount, path string, device uint64) (procfs.Mount, bool) {
	name := fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device))
	return procfs.MountOf(slices.DeleteFunc(mounts, func(m procfs.Mount) bool { return m.Device != name }), path)
}

// factsOf turns a mount and the space of its file system into what is reported.
func factsOf(m procfs.Mount, st *unix.Statfs_t) runfile.MountFacts {
	f := runfile.MountFacts{
		FilesystemType: m.Type, Source: m.Source, Options: m.Options, DirectIO: true,
		TotalBytes: int64(st.Blocks) * st.Bsize, FreeBytes: int64(st.Bavail) * st.Bsize,
	}
	for _, o := range m.Options {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "vers":
			f.NFSVersion = "NFSv" + value // as plans spell it
			if value == "4" {
				f.NFSVersion = "NFSv4.0"
			}
		case "rsize":
			f.ReadSizeBytes, _ = strconv.ParseInt(value, 10, 64)
		case "wsize":
			f.WriteSizeBytes, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return f
}
