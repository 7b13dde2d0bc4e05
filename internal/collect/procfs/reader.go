// Package procfs reads what Linux reports about CPUs, network and NFS mounts under
// /proc and /sys.
//
// The parsers take an io.Reader and the Reader takes the root of a file tree, so that tests can use fixtures.
// A value that the system does not report is an error or nil, never zero. The parsers refuse counters that do
// not fit an int64.
//
// github.com/prometheus/procfs v0.21.1 reads the same files and is not used. It
// panics on a short line of net/dev and on an RDMA transport with more columns
// than it knows. It reads columns and lines that are missing as zero, takes NaN
// for CPU time, cuts /proc/stat at 1 MiB without an error, and reads mountinfo
// without a bound. It gives up on all mounts when one has a local transport, a
// line of 64 KiB, or one column more or less than it knows. It loses the order of
// mount options and leaves mount points escaped.
package procfs

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxLineBytes bounds one line of any file. The longest real lines are mount options of a few KiB.
const maxLineBytes = 1 << 20

// maxWordBytes bounds a file with one word; such a file of the kernel has at most one page.
const maxWordBytes = 4 << 10

// Reader reads the files of one machine. It keeps no state and is safe for concurrent use.
type Reader struct {
	Root fs.FS // of the machine: holds proc and sys
}

// Host returns a Reader of the machine that the process runs on.
func Host() Reader { return Reader{Root: os.DirFS("/")} }

// CPU returns the CPU time of the whole machine. In a pod that is the node.
func (r Reader) CPU() (CPU, error) { return parseFile(r, "proc/stat", ParseCPU) }

// InterfaceCounters returns the byte counters of every interface of the network namespace, except the
// loopback.
func (r Reader) InterfaceCounters() ([]runfile.InterfaceRead, error) {
	return parseFile(r, "proc/net/dev", ParseNetDev)
}

// RetransmittedSegments returns the number of retransmitted TCP segments of all connections of the network
// namespace.
func (r Reader) RetransmittedSegments() (int64, error) {
	return r.protocolCounter("proc/net/snmp", "Tcp", "RetransSegs")
}

// OutOfOrderSegments returns the number of TCP segments that arrived out of order, of all connections of the
// network namespace: segments that were queued because one that was sent earlier had not arrived. See
// Documentation/networking/snmp_counter.rst of Linux.
func (r Reader) OutOfOrderSegments() (int64, error) {
	return r.protocolCounter("proc/net/netstat", "TcpExt", "TCPOFOQueue")
}

// NFSMounts returns the counters of every NFS mount of the mount namespace.
func (r Reader) NFSMounts() ([]NFSMount, error) {
	return parseFile(r, "proc/self/mountstats", ParseMountStats)
}

// Mounts returns the mounts of the mount namespace, in the order in which they were made.
func (r Reader) Mounts() ([]Mount, error) {
	return parseFile(r, "proc/self/mountinfo", ParseMountInfo)
}

// KernelRelease returns the output of "uname -r".
func (r Reader) KernelRelease() (string, error) {
	return r.readWord("proc/sys/kernel/osrelease")
}

// MemoryBytes returns the memory of the machine.
func (r Reader) MemoryBytes() (int64, error) {
	kib, err := r.valueOf("proc/meminfo", "MemTotal:")
	if err == nil && kib > math.MaxInt64/1024 {
		err = fmt.Errorf("MemTotal of %d KiB is too large", kib)
	}
	if err != nil {
		return 0, err
	}
	return kib * 1024, nil
}

// AsyncIO returns how many asynchronous requests the processes of the machine have reserved, and the limit.
func (r Reader) AsyncIO() (runfile.AsyncIO, error) {
	requests, err := r.readCounter("proc/sys/fs/aio-nr")
	if err != nil {
		return runfile.AsyncIO{}, err
	}
	limit, err := r.readCounter("proc/sys/fs/aio-max-nr")
	return runfile.AsyncIO{Requests: requests, Limit: limit}, err
}

// TCPSlots returns the maximum number of outstanding requests of the kernel's NFS client on one connection.
// It returns an error if that client is not loaded.
func (r Reader) TCPSlots() (int64, error) {
	return r.readCounter("proc/sys/sunrpc/tcp_max_slot_table_entries")
}

// maxNUMANodes is far above the nodes of any machine.
const maxNUMANodes = 4096

// NUMANodes counts the memory nodes of the machine, which Linux lists as 0-1,3.
func (r Reader) NUMANodes() (int32, error) {
	list, err := r.readWord("sys/devices/system/node/online")
	if err != nil {
		return 0, err
	}
	nodes := int32(0)
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseInt(first, 10, 32)
		to, err2 := strconv.ParseInt(last, 10, 32)
		if err := errors.Join(err1, err2); err != nil || from < 0 || to < from || to >= maxNUMANodes {
			return 0, fmt.Errorf("parse /sys/devices/system/node/online: %.40q is no list of nodes", list)
		}
		nodes += int32(to - from + 1)
	}
	return min(nodes, maxNUMANodes), nil
}

// microsecondsPerTick is the unit of /proc/stat, USER_HZ. For user space the kernel fixes it at 100 on every
// architecture that we build for.
const microsecondsPerTick = 1_000_000 / 100

// The columns of the cpu line of /proc/stat, see proc_stat(5). Guest time is not among them because user time
// includes it.
const (
	columnIdle    = 3
	columnIOWait  = 4
	columnSteal   = 7
	countedColumn = columnSteal + 1
)

// CPU is the CPU time of a machine since it was started.
type CPU struct {
	// BusyMicroseconds is all time except idle and waiting for I/O. Time that a hypervisor gave to others
	// ("steal") counts as busy, because it was not available.
	BusyMicroseconds  int64
	TotalMicroseconds int64
	Online            int32 // CPUs
	Cores             []runfile.CoreCounters
}

// ParseCPU reads /proc/stat.
func ParseCPU(in io.Reader) (cpu CPU, err error) {
	found := false
	for _, text := range lines(in, &err) {
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu"):
		case fields[0] == "cpu":
			if err := cpu.addColumns(fields[1:]); err != nil {
				return CPU{}, err
			}
			found = true
		default:
			cpu.Online++
			if core, ok := coreOf(fields); ok {
				cpu.Cores = append(cpu.Cores, core)
			}
		}
	}
	if err != nil || !found {
		return CPU{}, cmp.Or(err, errors.New(`no line "cpu"`))
	}
	return cpu, nil
}

// coreOf parses the line of one core; ok is false if it lacks a number or the required columns.
func coreOf(fields []string) (core runfile.CoreCounters, ok bool) {
	number, err := strconv.ParseInt(strings.TrimPrefix(fields[0], "cpu"), 10, 32)
	var cpu CPU
	if err != nil || cpu.addColumns(fields[1:]) != nil {
		return core, false
	}
	return runfile.CoreCounters{Number: int32(number), BusyMicroseconds: cpu.BusyMicroseconds}, true
}

// addColumns adds the columns up to steal. Kernels before 2.6.11 have fewer.
func (c *CPU) addColumns(columns []string) error {
	if len(columns) <= columnIdle {
		return fmt.Errorf("the cpu line has %d columns, want at least %d", len(columns), columnIdle+1)
	}
	for i, word := range columns[:min(len(columns), countedColumn)] {
		ticks, err := counter(word)
		if err != nil {
			return fmt.Errorf("cpu column %d: %w", i+1, err)
		}
		if ticks > math.MaxInt64/microsecondsPerTick/countedColumn {
			return fmt.Errorf("cpu column %d: %d ticks are too many", i+1, ticks)
		}
		c.TotalMicroseconds += ticks * microsecondsPerTick
		if i != columnIdle && i != columnIOWait {
			c.BusyMicroseconds += ticks * microsecondsPerTick
		}
	}
	return nil
}

// valueOf returns the number after key in the first line of a file that starts with key.
func (r Reader) valueOf(path, key string) (int64, error) {
	return parseFile(r, path, func(in io.Reader) (_ int64, err error) {
		for _, text := range lines(in, &err) {
			if fields := strings.Fields(text); len(fields) >= 2 && fields[0] == key {
				return counter(fields[1])
			}
		}
		return 0, cmp.Or(err, fmt.Errorf("no line %q", key))
	})
}

func parseFile[T any](r Reader, path string, parse func(io.Reader) (T, error)) (T, error) {
	var none T
	f, err := r.Root.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	value, err := parse(f)
	if err != nil {
		return none, fmt.Errorf("parse /%s: %w", path, err)
	}
	return value, nil
}

func (r Reader) readWord(path string) (string, error) {
	f, err := r.Root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	raw, err := io.ReadAll(io.LimitReader(f, maxWordBytes))
	return strings.TrimSpace(string(raw)), err
}

func (r Reader) readCounter(path string) (int64, error) {
	word, err := r.readWord(path)
	if err != nil {
		return 0, err
	}
	value, err := counter(word)
	if err != nil {
		return 0, fmt.Errorf("parse /%s: %w", path, err)
	}
	return value, nil
}

// lines yields each line with its number, from 1 on. After the last line, failed holds the error that ended
// the reading before the end of in.
func lines(in io.Reader, failed *error) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, maxLineBytes)
		for line := 1; scan.Scan(); line++ {
			if !yield(line, scan.Text()) {
				return
			}
		}
		*failed = scan.Err()
	}
}

var errNegative = errors.New("counter is negative or larger than 63 bits")

// counter parses a kernel counter, which is never negative.
func counter(word string) (int64, error) {
	value, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, err
	}
	if value < 0 {
		return 0, errNegative
	}
	return value, nil
}
