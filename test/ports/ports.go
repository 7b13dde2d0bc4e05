// Package ports gives a test addresses of this machine: those that nothing listens on, and
// those that a program of the test may listen on.
package ports

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// Closed is an address of 127.0.0.1 that refuses connections until the test ends. The port is
// bound and nobody listens on it. A listener that the test has closed is not enough: a process
// that starts meanwhile holds a copy of it until it executes its program, and another test may
// be given the port.
func Closed(tb testing.TB) netip.AddrPort {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		tb.Fatal(err)
	}
	at := name.(*unix.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)) //nolint:gosec // a port has 16 bits
}

// Free is an address that a program of the test may listen on. At 127.0.0.1 another test, or a
// connection that begins there, may take the port before the program does.
func Free(tb testing.TB) string {
	tb.Helper()
	host := net.IPv4(127, byte(64+rand.IntN(64)), byte(rand.IntN(256)), byte(1+rand.IntN(254))) //nolint:gosec // below 256
	l, err := net.Listen("tcp", net.JoinHostPort(host.String(), "0"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
