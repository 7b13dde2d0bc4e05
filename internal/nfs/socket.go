package nfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Reserved ports: servers export "secure" by default and then accept only
// clients with a port below 1024. Ports below 665 belong to well-known
// services.
const (
	reservedFirst = 665
	reservedCount = 1024 - reservedFirst
	// reservedTries bounds the search for a free port.
	reservedTries = 32
)

const (
	connectTimeout = 5 * time.Second
	// Only silence shows that a path is cut. Probes after a second without traffic
	// let stream.PathSilent distinguish it from a slow server, and end idle
	// connections. TCP_USER_TIMEOUT is unsuitable: it also ends connections to a
	// server that leaves data unread for a while.
	keepAliveIdle     = time.Second
	keepAliveInterval = time.Second
	keepAliveCount    = 2
)

// dial connects from local to a port of path, from a reserved port if this
// process may use one.
func dial(ctx context.Context, ch Channel, port int, dontRoute bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	nc, err := dialReserved(ctx, ch, port, dontRoute)
	if err == nil || !isPortTrouble(err) {
		return nc, err
	}
	return dialFrom(ctx, ch, port, 0, dontRoute)
}

func dialReserved(ctx context.Context, ch Channel, port int, dontRoute bool) (net.Conn, error) {
	if ch.HighPort || os.Geteuid() != 0 {
		return nil, syscall.EACCES
	}
	var err error
	first := rand.IntN(reservedCount)
	for i := range reservedTries {
		var nc net.Conn
		local := reservedFirst + (first+i)%reservedCount
		nc, err = dialFrom(ctx, ch, port, local, dontRoute)
		if err == nil || errors.Is(err, syscall.EACCES) || !isPortTrouble(err) {
			return nc, err
		}
	}
	return nil, err
}

// isPortTrouble reports whether another local port may help.
func isPortTrouble(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) ||
		errors.Is(err, syscall.EPERM) ||
		(errors.Is(err, syscall.EADDRNOTAVAIL) && !isBadLocal(err))
}

// isBadLocal reports whether the local address does not exist. The kernel
// reports that on bind; on connect the same code means that the port is in use.
func isBadLocal(err error) bool {
	var sys *os.SyscallError
	return errors.As(err, &sys) && sys.Syscall == "bind"
}

func dialFrom(ctx context.Context, ch Channel, port, localPort int, dontRoute bool) (net.Conn, error) {
	d := net.Dialer{
		Control: func(_, _ string, raw syscall.RawConn) error {
			var reuse, route error
			err := raw.Control(func(fd uintptr) {
				reuse = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
				if dontRoute {
					route = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DONTROUTE, 1)
				}
			})
			return errors.Join(err, os.NewSyscallError("setsockopt SO_REUSEADDR", reuse),
				os.NewSyscallError("setsockopt SO_DONTROUTE", route))
		},
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
		},
	}
	if ch.Local != "" || localPort != 0 {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(ch.Local), Port: localPort}
	}
	nc, err := d.DialContext(ctx, "tcp", net.JoinHostPort(ch.Path, strconv.Itoa(port)))
	if err != nil {
		return nil, explainDial(ch, port, err)
	}
	return nc, nil
}

// explainDial adds an explanation to the bare error of the kernel.
func explainDial(ch Channel, port int, err error) error {
	what := fmt.Sprintf("connect to %s", net.JoinHostPort(ch.Path, strconv.Itoa(port)))
	if ch.Local != "" {
		what += " from " + ch.Local
	}
	switch {
	case isBadLocal(err) && errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: the local address does not exist on this host: %w", what, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: nothing listens there: %w", what, err)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Errorf("%s: no route to the address: %w", what, err)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%s: no answer: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
