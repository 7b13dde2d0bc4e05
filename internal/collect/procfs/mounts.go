package procfs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Mount is one line of /proc/self/mountinfo.
type Mount struct {
	Point   string
	Type    string // nfs, nfs4, ext4...
	Source  string
	Device  string   // major:minor; mounts of one file system share its counters and have the same device
	Options []string // of the mount and of its file system, in effect, without duplicates
}

// IsNFS reports whether the kernel's NFS client serves the mount.
func (m Mount) IsNFS() bool { return m.Type == "nfs" || m.Type == "nfs4" }

// Facts returns the facts from the mount and its options. A size that is not a number is 0, which means
// unknown.
func (m Mount) Facts() runfile.MountFacts {
	f := runfile.MountFacts{FilesystemType: m.Type, Source: m.Source, Options: m.Options}
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

// ParseMountInfo reads /proc/self/mountinfo, see proc_pid_mountinfo(5).
func ParseMountInfo(in io.Reader) (mounts []Mount, err error) {
	for line, text := range lines(in, &err) {
		fields := strings.Fields(text)
		// A hyphen ends the optional fields, which start at the seventh.
		end := slices.Index(fields, "-")
		if end < 6 || len(fields) < end+3 {
			return nil, fmt.Errorf("line %d is not of the form of mountinfo", line)
		}
		m := Mount{
			Point:  unescape(fields[4]),
			Type:   fields[end+1],
			Source: unescape(fields[end+2]),
			Device: fields[2],
		}
		options := fields[5]
		if len(fields) > end+3 {
			options += "," + fields[end+3]
		}
		for option := range strings.SplitSeq(options, ",") {
			if option = unescape(option); option != "" && !slices.Contains(m.Options, option) {
				m.Options = append(m.Options, option)
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, err
}

// MountOf returns the mount that holds path: the one with the longest mount point that contains path. Of
// several mounts on the same mount point it returns the last.
func MountOf(mounts []Mount, path string) (best Mount, found bool) {
	for _, m := range mounts {
		rest, below := strings.CutPrefix(path, strings.TrimSuffix(m.Point, "/"))
		if below && (rest == "" || rest[0] == '/') && len(m.Point) >= len(best.Point) {
			best, found = m, true
		}
	}
	return best, found
}

// unescape decodes the \ooo with which the kernel writes blanks and backslashes.
func unescape(word string) string {
	var out strings.Builder
	before, after, found := strings.Cut(word, `\`)
	for ; found; before, after, found = strings.Cut(after, `\`) {
		out.WriteString(before)
		if len(after) >= 3 {
			if b, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				out.WriteByte(byte(b))
				after = after[3:]
				continue
			}
		}
		out.WriteByte('\\')
	}
	return out.String() + before
}

// NFSMount is what /proc/self/mountstats reports about one NFS mount. Its counters
// belong to the mounted file system, not to a process: other mounts of the
// same export on the same machine may share them.
type NFSMount struct {
	Point    string
	Counters runfile.MountCounters
}

// Columns after the first word of a line.
const (
	eventColumns  = 27 // the last two are pNFS reads and writes; older kernels have fewer
	byteColumns   = 6  // followed by two of pages, which add nothing
	perOpColumns  = 4  // operations, transmissions, major timeouts, bytes sent...
	tcpSendsAt    = 6  // xprt: tcp port bind connects connect-time idle sends receives...
	tcpReceivesAt = 7
)

// ParseMountStats parses /proc/self/mountstats of the versions 1.0 and 1.1, and returns the NFS mounts in
// their order.
func ParseMountStats(in io.Reader) (mounts []NFSMount, err error) {
	var add func(c *runfile.MountCounters, name string, columns []string) error // nil: not the lines of an NFS mount
	for line, text := range lines(in, &err) {
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
		case fields[0] == "device" || slices.Equal(fields[:min(2, len(fields))], []string{"no", "device"}):
			add = nil
			m, err := startMount(fields)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			if m != nil {
				mounts, add = append(mounts, *m), addStatistics
			}
		case add == nil:
		case fields[0] == "per-op":
			add = addOperation
			mounts[len(mounts)-1].Counters.Operations = []runfile.OperationCounters{}
		default:
			m := &mounts[len(mounts)-1]
			if err := add(&m.Counters, fields[0], fields[1:]); err != nil {
				return nil, fmt.Errorf("line %d: mount %q, %w", line, m.Point, err)
			}
		}
	}
	return mounts, err
}

// startMount parses "device S:/p mounted on /mp with fstype nfs statvers=1.1". It returns nil for other file
// systems.
func startMount(fields []string) (*NFSMount, error) {
	if len(fields) < 8 || fields[7] != "nfs" && fields[7] != "nfs4" {
		return nil, nil
	}
	m := NFSMount{Point: unescape(fields[4])}
	if len(fields) < 9 || fields[8] != "statvers=1.0" && fields[8] != "statvers=1.1" {
		return nil, fmt.Errorf("mount %q: statistics of another version than 1.0 and 1.1", m.Point)
	}
	return &m, nil
}

// addStatistics parses a line about the whole mount.
func addStatistics(c *runfile.MountCounters, name string, columns []string) error {
	var (
		v   []int64
		err error
	)
	switch {
	case name == "bytes:":
		if v, err = counters(columns, byteColumns); err == nil {
			c.NormalReadBytes, c.NormalWriteBytes = v[0], v[1]
			c.DirectReadBytes, c.DirectWriteBytes = v[2], v[3]
			c.ServerReadBytes, c.ServerWriteBytes = v[4], v[5]
		}
	case name == "events:" && len(columns) >= eventColumns: // otherwise a kernel without pNFS
		if v, err = counters(columns[eventColumns-2:], 2); err == nil {
			c.PNFSReads, c.PNFSWrites = v[0], v[1]
		}
	// One connection. RDMA lines have the same columns as TCP lines here; UDP and local connections carry no
	// benchmark.
	case name == "xprt:" && len(columns) > 0 && (columns[0] == "tcp" || columns[0] == "rdma"):
		if len(columns) <= tcpReceivesAt {
			return errors.New("xprt: has too few columns")
		}
		if v, err = counters(columns[tcpSendsAt:], 2); err == nil {
			c.Transports = append(c.Transports, runfile.Transport{Protocol: columns[0], Sends: v[0], Receives: v[1]})
		}
	}
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	return nil
}

// addOperation parses "READ: operations transmissions ...". It omits operations that the mount never did.
func addOperation(c *runfile.MountCounters, name string, columns []string) error {
	name, ok := strings.CutSuffix(name, ":")
	if !ok {
		return nil
	}
	v, err := counters(columns, perOpColumns)
	if err == nil {
		if v[0] > 0 || v[1] > 0 {
			c.Operations = append(c.Operations, runfile.OperationCounters{Name: name, Operations: v[0], Transmissions: v[1]})
		}
		switch name {
		case "READ", "READ_PLUS": // with NFSv4.2 some kernels send READ_PLUS
			err = grow(&c.ReadOps, v[0])
		case "WRITE":
			c.WriteOps = v[0]
		}
	}
	if err != nil {
		return fmt.Errorf("operation %s: %w", name, err)
	}
	return nil
}

// grow adds n to a counter. It returns an error if the sum exceeds 63 bits.
func grow(counter *int64, n int64) error {
	if *counter > math.MaxInt64-n {
		return errNegative
	}
	*counter += n
	return nil
}

// counters parses the first n columns.
func counters(columns []string, n int) ([]int64, error) {
	if len(columns) < n {
		return nil, fmt.Errorf("has %d columns, want %d", len(columns), n)
	}
	values := make([]int64, 0, n)
	for _, word := range columns[:n] {
		value, err := counter(word)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// NFSMountAt returns the counters of the mount at point. Of several mounts on point it returns the last.
func NFSMountAt(mounts []NFSMount, point string) (NFSMount, bool) {
	for _, m := range slices.Backward(mounts) {
		if m.Point == point {
			return m, true
		}
	}
	return NFSMount{}, false
}
