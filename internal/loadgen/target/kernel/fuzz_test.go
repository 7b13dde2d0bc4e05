package kernel

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzFindMount reads hostile bytes as /proc/self/mountinfo: what is found lies
// above the path and is on the device.
func FuzzFindMount(f *testing.F) {
	f.Add([]byte("36 35 0:45 / /mnt\\040x rw,noatime shared:1 - nfs4 s:/e rw,vers=4.1,rsize=1048576\n"), "/mnt x/a")
	f.Add([]byte("1 1 0:45 / / rw - ext4 /dev/sda rw\n2 1 0:45 / /a rw - nfs s:/e rw,vers=3\n"), "/a")
	f.Fuzz(func(t *testing.T, in []byte, path string) {
		memory.Bound(t, 64*len(in)+(128<<10), func() {
			e, ok := findMount(bytes.NewReader(in), path, "0:45")
			if ok && (e.device != "0:45" || !isBelow(path, e.point)) {
				t.Fatalf("path %q is said to lie on %+v", path, e)
			}
			e.facts(&unix.Statfs_t{Blocks: 1 << 40, Bsize: 4096})
		})
	})
}
