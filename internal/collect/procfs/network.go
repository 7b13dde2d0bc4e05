package procfs

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	netClass = "sys/class/net"
	// maxStacked bounds the depth of stacked interfaces: VLAN on bond on NIC is two.
	maxStacked = 4
)

// Interface returns the facts of one interface.
//
// An interface is virtual unless hardware carries it: it has a device link itself, or it stands only on
// interfaces that have one (a bond, a VLAN). Interface omits the speed of a virtual interface, because
// drivers such as veth report a constant that says nothing about a link.
func (r Reader) Interface(name string) runfile.Interface {
	facts := runfile.Interface{Name: name, Virtual: !r.hasHardware(name, maxStacked)}
	if mtu, err := r.readCounter(path.Join(netClass, name, "mtu")); err == nil && mtu < 1<<31 {
		facts.MTUBytes = int32(mtu)
	}
	if facts.Virtual {
		return facts
	}
	// Megabits per second. -1, 0 and an error mean that the driver does not know the speed: the link is down, or
	// it is a virtio NIC. Some drivers write an unsigned -1, which does not fit 32 bits. A file that cannot be
	// read gives an empty word, which is not a number.
	word, _ := r.readWord(path.Join(netClass, name, "speed"))
	if megabits, err := strconv.ParseInt(word, 10, 32); err == nil && megabits > 0 {
		facts.SpeedBitsPerSecond = new(megabits * 1_000_000)
	}
	return facts
}

func (r Reader) hasHardware(name string, depth int) bool {
	if name == "" || !fs.ValidPath(name) || strings.Contains(name, "/") {
		return false
	}
	if r.exists(path.Join(netClass, name, "device")) {
		return true
	}
	entries, err := fs.ReadDir(r.Root, path.Join(netClass, name))
	if err != nil || depth == 0 {
		return false
	}
	found := false
	for _, entry := range entries {
		lower, ok := strings.CutPrefix(entry.Name(), "lower_")
		if !ok {
			continue
		}
		if !r.hasHardware(lower, depth-1) {
			return false
		}
		found = true
	}
	return found
}

// Interfaces returns the facts and addresses of the interfaces of the network namespace that are up, except
// the loopback.
func (r Reader) Interfaces() ([]runfile.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []runfile.Interface
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		facts := r.Interface(i.Name)
		if i.MTU > 0 && i.MTU < 1<<31 {
			facts.MTUBytes = int32(i.MTU)
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addresses {
			facts.Addresses = append(facts.Addresses, a.String())
		}
		out = append(out, facts)
	}
	return out, nil
}

// The columns of /proc/net/dev after the name.
const (
	columnReceivedBytes = 0
	columnSentBytes     = 8
)

// ParseNetDev parses /proc/net/dev and omits the loopback.
func ParseNetDev(in io.Reader) (reads []runfile.InterfaceRead, err error) {
	for line, text := range lines(in, &err) {
		// Only the two heading lines have a bar.
		if strings.Contains(text, "|") {
			continue
		}
		// The last colon ends the name, because an alias (eth0:1) contains one.
		at := strings.LastIndex(text, ":")
		if at < 0 {
			return nil, fmt.Errorf("line %d has no interface name", line)
		}
		name, columns := strings.TrimSpace(text[:at]), strings.Fields(text[at+1:])
		if name == "lo" {
			continue
		}
		if len(columns) <= columnSentBytes {
			return nil, fmt.Errorf("line %d, interface %q: %d columns, want more than %d",
				line, name, len(columns), columnSentBytes)
		}
		received, err := counter(columns[columnReceivedBytes])
		if err != nil {
			return nil, fmt.Errorf("line %d, interface %q: received bytes: %w", line, name, err)
		}
		sent, err := counter(columns[columnSentBytes])
		if err != nil {
			return nil, fmt.Errorf("line %d, interface %q: sent bytes: %w", line, name, err)
		}
		reads = append(reads, runfile.InterfaceRead{Name: name, ReceivedBytes: received, SentBytes: sent})
	}
	return reads, err
}

// protocolCounter reads a counter from a file of /proc/net in which a line of names and a line of values have
// the protocol as their prefix.
func (r Reader) protocolCounter(path, protocol, name string) (int64, error) {
	return parseFile(r, path, func(in io.Reader) (_ int64, err error) {
		var names []string
		for _, text := range lines(in, &err) {
			fields := strings.Fields(text)
			switch {
			case len(fields) == 0 || fields[0] != protocol+":":
			case names == nil:
				names = fields
			default:
				at := slices.Index(names, name)
				if at < 0 || at >= len(fields) {
					return 0, fmt.Errorf("the %s lines have no %s", protocol, name)
				}
				return counter(fields[at])
			}
		}
		return 0, cmp.Or(err, fmt.Errorf("no %s lines", protocol))
	})
}
