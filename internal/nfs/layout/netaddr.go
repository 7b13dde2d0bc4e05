package layout

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Network identifiers of RFC 5665 5.2.
const (
	NetIDTCP  = "tcp"
	NetIDTCP6 = "tcp6"
)

const (
	maxNetIDBytes = 32
	maxAddrBytes  = 128
)

// NetAddr is an address of a data server: netaddr4 of RFC 8881 3.3.9.
type NetAddr struct {
	NetID   string
	Address string // a universal address (RFC 5665 5.2.3)
}

func (a *NetAddr) Code(c *xdr.Coder) {
	c.String(&a.NetID, maxNetIDBytes)
	c.String(&a.Address, maxAddrBytes)
}

// NetAddrOf returns the universal address of a TCP endpoint.
func NetAddrOf(ap netip.AddrPort) NetAddr {
	ip := ap.Addr().Unmap().WithZone("")
	id := NetIDTCP
	if ip.Is6() {
		id = NetIDTCP6
	}
	return NetAddr{NetID: id, Address: fmt.Sprintf("%s.%d.%d", ip, ap.Port()>>8, ap.Port()&0xFF)}
}

// AddrPort returns host and port of a universal address for TCP. It refuses other transports, a port of zero, and
// addresses that no server can have: unspecified ones, multicast ones, and those with a zone.
func (a NetAddr) AddrPort() (netip.AddrPort, error) {
	ap, err := a.parse()
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("universal address %q of netid %q: %w", a.Address, a.NetID, err)
	}
	return ap, nil
}

// Port returns the port of a universal address for TCP; the host may be any.
func (a NetAddr) Port() (uint16, error) {
	_, port, err := a.split()
	if err != nil {
		return 0, fmt.Errorf("universal address %q of netid %q: %w", a.Address, a.NetID, err)
	}
	return port, nil
}

func (a NetAddr) split() (host string, port uint16, err error) {
	if a.NetID != NetIDTCP && a.NetID != NetIDTCP6 {
		return "", 0, errors.New("only tcp and tcp6 are supported")
	}
	rest, low, ok := cutLast(a.Address)
	host, high, ok2 := cutLast(rest)
	if !ok || !ok2 {
		return "", 0, errors.New("no port")
	}
	p1, err1 := strconv.ParseUint(high, 10, 8)
	p2, err2 := strconv.ParseUint(low, 10, 8)
	switch {
	case err1 != nil || err2 != nil:
		return "", 0, errors.New("the port is not two numbers up to 255")
	case p1|p2 == 0:
		return "", 0, errors.New("the port is 0")
	}
	return host, uint16(p1<<8 | p2), nil
}

func (a NetAddr) parse() (netip.AddrPort, error) {
	host, port, err := a.split()
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return netip.AddrPort{}, errors.New("the host is not an IP address")
	case ip.Is4() != (a.NetID == NetIDTCP):
		return netip.AddrPort{}, errors.New("the host is not of this address family")
	case ip.Zone() != "" || ip.IsUnspecified() || ip.IsMulticast():
		return netip.AddrPort{}, errors.New("no server can have this address")
	}
	return netip.AddrPortFrom(ip.Unmap(), port), nil
}

// cutLast cuts s around its last dot.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}
