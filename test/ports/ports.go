// Package ports gives a test a port of this machine that nobody else can take, and closes
// listeners for good.
package ports

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// Reserve returns 127.0.0.1 with a port that is the test's until it ends, on every IPv4
// address of this machine. It refuses connections unless the test, or a program that it
// starts, listens there.
//
// The port is bound and nobody listens on it: whoever else asks for any port is not given it,
// and no connection begins there. Listening on it needs SO_REUSEADDR, which Go sets.
//
// A listener that the test has closed is not enough: a process that starts meanwhile holds a
// copy of it until it executes its program, and another test may be given the port.
func Reserve(tb testing.TB) netip.AddrPort {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		tb.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
		tb.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		tb.Fatal(err)
	}
	port := name.(*unix.SockaddrInet4).Port
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port)) //nolint:gosec // a port has 16 bits
}

// Close closes a listener, and the copies of it that processes which start meanwhile hold: until
// they execute their programs, they would accept connections and keep the address.
func Close(l net.Listener) error {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	var ended error
	err = raw.Control(func(fd uintptr) { ended = unix.Shutdown(int(fd), unix.SHUT_RDWR) }) //nolint:gosec // a descriptor
	return errors.Join(err, ended, l.Close())
}
