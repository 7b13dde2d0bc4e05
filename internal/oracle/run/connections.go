package run

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	nfsPort     = 2049 // the usual port of NFS servers
	established = "01" // the state of a connection in /proc/net/tcp
)

// seeConnections lists the connections of the pod to NFS servers. All
// containers of a pod share its network, so the list includes the connections
// of Direct NFS. The connections of a kernel mount belong to the node.
func (r *runner) seeConnections() []runfile.Connection {
	if r.opt.Root == nil || r.plan.Database.Kind != runfile.DatabaseContainer {
		return nil
	}
	servers := map[netip.Addr]bool{}
	for _, ch := range r.plan.Engine.Channels {
		if a, err := netip.ParseAddr(ch.Path); err == nil {
			servers[a.Unmap()] = true
		}
	}
	var out []runfile.Connection
	for _, file := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		found, err := readConnections(r.opt.Root, file)
		if err != nil {
			r.opt.Log.Warn("The connections of the pod cannot be read", "error", err)
			continue
		}
		for _, c := range found {
			port := int(c.remote.Port())
			if port == nfsPort || port == r.plan.Engine.Ports.NFS || servers[c.remote.Addr()] {
				out = append(out, runfile.Connection{Local: c.local.String(), Remote: c.remote.String()})
			}
		}
	}
	slices.SortFunc(out, func(a, b runfile.Connection) int {
		return strings.Compare(a.Remote+" "+a.Local, b.Remote+" "+b.Local)
	})
	return out
}

// ends holds the two ends of a connection.
type ends struct{ local, remote netip.AddrPort }

func readConnections(root fs.FS, file string) ([]ends, error) {
	raw, err := fs.ReadFile(root, file)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(file, "6") {
		return nil, nil // no IPv6 here
	}
	if err != nil {
		return nil, err
	}
	found, err := parseConnections(string(raw))
	if err != nil {
		return nil, fmt.Errorf("read /%s: %w", file, err)
	}
	return found, nil
}

// parseConnections returns the established connections, see proc_net_tcp(5).
func parseConnections(text string) ([]ends, error) {
	var out []ends
	_, rows, _ := strings.Cut(text, "\n") // titles
	line := 1
	for row := range strings.Lines(rows) {
		line++
		fields := strings.Fields(row)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d has %d columns", line, len(fields))
		}
		if fields[3] != established {
			continue
		}
		local, err1 := parseEnd(fields[1])
		remote, err2 := parseEnd(fields[2])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, ends{local, remote})
	}
	return out, nil
}

// parseEnd parses an address such as 0100007F:0801. The kernel prints it in
// 32-bit words of the machine's byte order, which is little-endian wherever
// Oracle runs on Linux.
func parseEnd(s string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(address)
	p, errPort := strconv.ParseUint(port, 16, 16)
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.LittleEndian.Uint32(raw[i:]))
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok || err != nil || errPort != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", s)
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(p)), nil
}
