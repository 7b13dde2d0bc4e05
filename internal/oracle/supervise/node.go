package supervise

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

const (
	// askedBuffer and leastBuffer are the values of net.core.rmem_max and wmem_max in Oracle's installation guides.
	askedBuffer = 4 << 20
	leastBuffer = 1 << 20
	// leastProcesses is the smallest default of the images for the parameter processes.
	leastProcesses = 200
)

// grantedBuffers requests socket buffers from the kernel and returns the granted sizes, because a pod cannot read the
// limits.
func grantedBuffers() (b runfile.SocketBuffers, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return b, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	for option, granted := range map[int]*int64{unix.SO_RCVBUF: &b.ReceiveBytes, unix.SO_SNDBUF: &b.SendBytes} {
		err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, askedBuffer)
		n, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option)
		if err = cmp.Or(err, err2); err != nil {
			return b, err
		}
		*granted = int64(n) / 2 // socket(7): the kernel doubles the value
	}
	return b, nil
}

// smallBuffers returns why the buffers slow down Direct NFS; empty = they do not.
func smallBuffers(b runfile.SocketBuffers) string {
	if min(b.ReceiveBytes, b.SendBytes) >= leastBuffer {
		return ""
	}
	return fmt.Sprintf("the node grants %d KiB to receive and %d KiB to send: Direct NFS sets these buffers itself, so "+
		"that they do not grow as those of the kernel client do; sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d on "+
		"the node", b.ReceiveBytes>>10, b.SendBytes>>10, askedBuffer, leastBuffer)
}

// fewProcesses returns why the instance may not start all its processes; empty = it may, or the limit is unknown.
func (o Options) fewProcesses() string {
	inImage, _ := strconv.ParseInt(o.lookup("INIT_PROCESSES"), 10, 64)
	processes := cmp.Or(o.Processes, inImage, leastProcesses)
	atLeast := ""
	if cmp.Or(o.Processes, inImage) == 0 {
		atLeast = " at least"
	}
	for _, name := range []string{"pids.max", "pids/pids.max"} { // of cgroup v2, and of v1
		raw, _ := shareddir.ReadStart(filepath.Join(o.ProcDir, "self/root/sys/fs/cgroup"), name, 64)
		if most, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && most < processes {
			return fmt.Sprintf("the container may have %d processes (pids.max), and the parameter processes is %d%s: "+
				"beyond that the instance fails with ORA-27300; raise podPidsLimit of the kubelet, or set processes lower", most,
				processes, atLeast)
		}
	}
	return ""
}

// smallWrites reports servers that accept smaller writes than the kernel client sends; empty = none.
func (o Options) smallWrites(probes []runfile.ServerProbe) string {
	m, err := o.mount()
	i := slices.IndexFunc(m.Options, func(s string) bool { return strings.HasPrefix(s, "wsize=") })
	if err != nil || !m.IsNFS() || i < 0 {
		return ""
	}
	wsize, _ := strconv.ParseInt(strings.TrimPrefix(m.Options[i], "wsize="), 10, 64)
	for _, p := range probes {
		if p.WriteMaxBytes > 0 && p.WriteMaxBytes < wsize {
			return fmt.Sprintf("%s takes writes of %d bytes at most (wtmax), and the mount has wsize=%d: Direct NFS would send "+
				"smaller writes than the kernel client; set the transfer size of the server to %d", p, p.WriteMaxBytes, wsize,
				wsize)
		}
	}
	return ""
}
