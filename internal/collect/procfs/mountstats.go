package procfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// NFSMount is what /proc/self/mountstats reports about one NFS mount. Its counters
// belong to the mounted file system, not to a process: other mounts of the
// same export on the same machine may share them.
type NFSMount struct {
	Device     string // server:/path
	Point      string
	Type       string   // nfs or nfs4
	Options    []string // in effect
	AgeSeconds int64
	LayoutGets int64 // LAYOUTGET calls: pNFS layouts asked for
	Counters   runfile.MountCounters
}

// The columns of the lines that are read, after their first word.
const (
	eventColumns  = 27 // the last two are pNFS reads and writes; older kernels have fewer
	byteColumns   = 6  // and two of pages, which say nothing new
	perOpColumns  = 4  // operations, transmissions, major timeouts, bytes sent...
	tcpSendsAt    = 6  // xprt: tcp port bind connects connect-time idle sends receives...
	tcpReceivesAt = 7
)

// ParseMountStats reads /proc/self/mountstats of the versions 1.0 and 1.1 and
// returns the NFS mounts in their order.
func ParseMountStats(in io.Reader) ([]NFSMount, error) {
	p := statsParser{scan: newScanner(in)}
	for p.scan.Scan() {
		p.line++
		if err := p.parseLine(strings.Fields(p.scan.Text())); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return p.mounts, p.scan.Err()
}

// statsParser walks the lines. A "device" line ends the mount before it.
type statsParser struct {
	scan   *bufio.Scanner
	line   int
	mounts []NFSMount
	inNFS  bool // the lines belong to the last of mounts
	inOps  bool // the lines are per-op statistics
}

func (p *statsParser) parseLine(fields []string) error {
	switch {
	case len(fields) == 0:
		return nil
	case fields[0] == "device" || (fields[0] == "no" && len(fields) > 1 && fields[1] == "device"):
		return p.startMount(fields)
	case !p.inNFS:
		return nil
	case p.inOps:
		return p.current().addOperation(fields)
	case fields[0] == "per-op":
		p.inOps = true
		return nil
	default:
		return p.current().addLine(fields)
	}
}

func (p *statsParser) current() *NFSMount { return &p.mounts[len(p.mounts)-1] }

// startMount reads "device S:/p mounted on /mp with fstype nfs statvers=1.1".
func (p *statsParser) startMount(fields []string) error {
	p.inNFS, p.inOps = false, false
	if len(fields) < 8 || (fields[7] != "nfs" && fields[7] != "nfs4") {
		return nil
	}
	m := NFSMount{Device: unescape(fields[1]), Point: unescape(fields[4]), Type: fields[7]}
	if len(fields) < 9 || (fields[8] != "statvers=1.0" && fields[8] != "statvers=1.1") {
		return fmt.Errorf("mount %q: statistics of another version than 1.0 and 1.1", m.Point)
	}
	p.mounts = append(p.mounts, m)
	p.inNFS = true
	return nil
}

func (m *NFSMount) addLine(fields []string) error {
	var err error
	switch fields[0] {
	case "opts:":
		m.Options = strings.Split(strings.Join(fields[1:], " "), ",")
	case "age:":
		err = m.setAge(fields[1:])
	case "bytes:":
		err = m.setBytes(fields[1:])
	case "events:":
		err = m.setEvents(fields[1:])
	case "xprt:":
		err = m.addTransport(fields[1:])
	}
	if err != nil {
		return fmt.Errorf("mount %q, %s %w", m.Point, fields[0], err)
	}
	return nil
}

func (m *NFSMount) setAge(columns []string) error {
	values, err := counters(columns, 1)
	if err == nil {
		m.AgeSeconds = values[0]
	}
	return err
}

func (m *NFSMount) setBytes(columns []string) error {
	v, err := counters(columns, byteColumns)
	if err != nil {
		return err
	}
	c := &m.Counters
	c.NormalReadBytes, c.NormalWriteBytes = v[0], v[1]
	c.DirectReadBytes, c.DirectWriteBytes = v[2], v[3]
	c.ServerReadBytes, c.ServerWriteBytes = v[4], v[5]
	return nil
}

func (m *NFSMount) setEvents(columns []string) error {
	if len(columns) < eventColumns {
		return nil // a kernel without pNFS
	}
	v, err := counters(columns[eventColumns-2:], 2)
	if err == nil {
		m.Counters.PNFSReads, m.Counters.PNFSWrites = v[0], v[1]
	}
	return err
}

// addTransport reads one connection. RDMA lines have the columns of TCP where
// we look; UDP and local ones carry no benchmark.
func (m *NFSMount) addTransport(columns []string) error {
	if len(columns) == 0 || (columns[0] != "tcp" && columns[0] != "rdma") {
		return nil
	}
	if len(columns) <= tcpReceivesAt {
		return errors.New("has too few columns")
	}
	v, err := counters(columns[tcpSendsAt:], 2)
	if err == nil {
		m.Counters.Transports = append(m.Counters.Transports, runfile.Transport{Sends: v[0], Receives: v[1]})
	}
	return err
}

// addOperation reads "READ: operations transmissions ...". A transmission more
// than operations is a call that was sent again.
func (m *NFSMount) addOperation(fields []string) error {
	name, ok := strings.CutSuffix(fields[0], ":")
	if !ok {
		return nil
	}
	v, err := counters(fields[1:], perOpColumns)
	if err != nil {
		return fmt.Errorf("mount %q, operation %s: %w", m.Point, name, err)
	}
	err = grow(&m.Counters.Retransmits, max(v[1]-v[0], 0))
	switch name {
	case "READ", "READ_PLUS": // with NFSv4.2 some kernels send the latter
		err = errors.Join(err, grow(&m.Counters.ReadOps, v[0]))
	case "WRITE":
		m.Counters.WriteOps = v[0]
	case "LAYOUTGET":
		m.LayoutGets = v[0]
	}
	if err != nil {
		return fmt.Errorf("mount %q, operation %s: %w", m.Point, name, err)
	}
	return nil
}

// grow adds n to a counter, which stays in 63 bits.
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

// NFSMountAt returns the counters of the mount at point. Of mounts over each
// other it is the last.
func NFSMountAt(mounts []NFSMount, point string) (NFSMount, bool) {
	for _, m := range slices.Backward(mounts) {
		if m.Point == point {
			return m, true
		}
	}
	return NFSMount{}, false
}
