package procfs

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The columns of /proc/net/dev after the name.
const (
	columnReceivedBytes = 0
	columnSentBytes     = 8
)

// ParseNetDev reads /proc/net/dev and leaves out the loopback.
func ParseNetDev(in io.Reader) ([]runfile.InterfaceRead, error) {
	var reads []runfile.InterfaceRead
	scan := newScanner(in)
	for line := 1; scan.Scan(); line++ {
		// The two lines of headings are the ones with a bar.
		if strings.Contains(scan.Text(), "|") {
			continue
		}
		// The last colon ends the name: an alias (eth0:1) has one in it.
		at := strings.LastIndex(scan.Text(), ":")
		if at < 0 {
			return nil, fmt.Errorf("line %d has no interface name", line)
		}
		name := strings.TrimSpace(scan.Text()[:at])
		if name == "lo" {
			continue
		}
		read, err := interfaceRead(name, strings.Fields(scan.Text()[at+1:]))
		if err != nil {
			return nil, fmt.Errorf("line %d, interface %q: %w", line, name, err)
		}
		reads = append(reads, read)
	}
	return reads, scan.Err()
}

func interfaceRead(name string, columns []string) (runfile.InterfaceRead, error) {
	if len(columns) <= columnSentBytes {
		return runfile.InterfaceRead{}, fmt.Errorf("%d columns, want more than %d", len(columns), columnSentBytes)
	}
	received, err := counter(columns[columnReceivedBytes])
	if err != nil {
		return runfile.InterfaceRead{}, fmt.Errorf("received bytes: %w", err)
	}
	sent, err := counter(columns[columnSentBytes])
	if err != nil {
		return runfile.InterfaceRead{}, fmt.Errorf("sent bytes: %w", err)
	}
	return runfile.InterfaceRead{Name: name, ReceivedBytes: received, SentBytes: sent}, nil
}

// ParseRetransmittedSegments reads RetransSegs of /proc/net/snmp, where a line
// of names and a line of values share a prefix.
func ParseRetransmittedSegments(in io.Reader) (int64, error) {
	var names []string
	scan := newScanner(in)
	for scan.Scan() {
		fields := strings.Fields(scan.Text())
		switch {
		case len(fields) == 0 || fields[0] != "Tcp:":
		case names == nil:
			names = fields
		default:
			at := slices.Index(names, "RetransSegs")
			if at < 0 || at >= len(fields) {
				return 0, errors.New("the Tcp lines have no RetransSegs")
			}
			return counter(fields[at])
		}
	}
	if err := scan.Err(); err != nil {
		return 0, err
	}
	return 0, errors.New("no Tcp lines")
}
