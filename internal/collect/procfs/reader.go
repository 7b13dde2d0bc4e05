package procfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxLineBytes bounds one line of any file read here. The longest real lines
// are mount options of a few KiB.
const maxLineBytes = 1 << 20

// Reader reads the files of one machine. It keeps no state and may be used
// from several goroutines.
type Reader struct {
	Root fs.FS // of the machine: holds proc and sys
}

// Host returns a Reader of the machine that the process runs on.
func Host() Reader { return Reader{Root: os.DirFS("/")} }

// CPU reads the CPU time of the whole machine. In a pod that is the node.
func (r Reader) CPU() (CPU, error) { return parseFile(r, "proc/stat", ParseCPU) }

// InterfaceCounters reads the byte counters of every interface of the network
// namespace, without the loopback.
func (r Reader) InterfaceCounters() ([]runfile.InterfaceRead, error) {
	return parseFile(r, "proc/net/dev", ParseNetDev)
}

// RetransmittedSegments reads the TCP segments sent again in the network
// namespace, of all connections.
func (r Reader) RetransmittedSegments() (int64, error) {
	return parseFile(r, "proc/net/snmp", ParseRetransmittedSegments)
}

// NFSMounts reads the counters of every NFS mount of the mount namespace.
func (r Reader) NFSMounts() ([]NFSMount, error) {
	return parseFile(r, "proc/self/mountstats", ParseMountStats)
}

// Mounts reads the mounts of the mount namespace, in the order in which they
// were made.
func (r Reader) Mounts() ([]Mount, error) {
	return parseFile(r, "proc/self/mountinfo", ParseMountInfo)
}

// KernelRelease reads what "uname -r" prints.
func (r Reader) KernelRelease() (string, error) {
	return r.readWord("proc/sys/kernel/osrelease")
}

// MemoryBytes reads how much memory the machine has.
func (r Reader) MemoryBytes() (int64, error) { return parseFile(r, "proc/meminfo", ParseMemTotal) }

// ParseMemTotal reads MemTotal of /proc/meminfo.
func ParseMemTotal(in io.Reader) (int64, error) {
	kib, err := valueOf(in, "MemTotal:")
	if err != nil {
		return 0, err
	}
	if kib > math.MaxInt64/1024 {
		return 0, fmt.Errorf("MemTotal of %d KiB is too large", kib)
	}
	return kib * 1024, nil
}

// valueOf returns the number that follows key at the start of a line.
func valueOf(in io.Reader, key string) (int64, error) {
	scan := newScanner(in)
	for scan.Scan() {
		fields := strings.Fields(scan.Text())
		if len(fields) >= 2 && fields[0] == key {
			return counter(fields[1])
		}
	}
	if err := scan.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("no line %q", key)
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
	raw, err := fs.ReadFile(r.Root, path)
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

func newScanner(in io.Reader) *bufio.Scanner {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLineBytes)
	return scan
}

var errNegative = errors.New("counter is negative or larger than 63 bits")

// counter parses a kernel counter: a number that never is negative.
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
