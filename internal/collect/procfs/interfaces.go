package procfs

import (
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	netClass = "sys/class/net"
	// maxStacked bounds how deep interfaces may stand on each other: VLAN on
	// bond on NIC is two.
	maxStacked = 4
)

// Interface returns the facts of one interface.
//
// An interface is virtual unless hardware carries it: it has a device link
// itself, or it stands only on interfaces that have one (a bond, a VLAN). The
// speed of a virtual interface is left out, because drivers such as veth give
// a constant that says nothing of a link.
func (r Reader) Interface(name string) runfile.Interface {
	facts := runfile.Interface{Name: name, Virtual: !r.hasHardware(name, maxStacked)}
	if mtu, err := r.readCounter(path.Join(netClass, name, "mtu")); err == nil && mtu < 1<<31 {
		facts.MTUBytes = int32(mtu)
	}
	if facts.Virtual {
		return facts
	}
	if speed, ok := r.speed(name); ok {
		facts.SpeedBitsPerSecond = &speed
	}
	return facts
}

// speed reads the megabits per second of the link. -1, 0 and an error mean
// that the driver does not know: the link is down, or it is a virtio NIC.
func (r Reader) speed(name string) (int64, bool) {
	word, err := r.readWord(path.Join(netClass, name, "speed"))
	if err != nil {
		return 0, false
	}
	megabits, err := strconv.ParseInt(word, 10, 32)
	// Some drivers say "unknown" as an unsigned -1, which does not fit 32 bits.
	if err != nil || megabits <= 0 {
		return 0, false
	}
	return megabits * 1_000_000, true
}

func (r Reader) hasHardware(name string, depth int) bool {
	if name == "" || !fs.ValidPath(name) || strings.Contains(name, "/") {
		return false
	}
	if _, err := fs.Stat(r.Root, path.Join(netClass, name, "device")); err == nil {
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

// Interfaces returns the facts and addresses of the interfaces of the network
// namespace that are up, without the loopback.
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
