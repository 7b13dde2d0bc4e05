package ports

import (
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAReservedPortRefusesWhileProcessesStart: a process that starts has a copy of every
// descriptor for a moment, and a listener lives as long as its last copy.
func TestAReservedPortRefusesWhileProcessesStart(t *testing.T) {
	t.Parallel()
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for range 50 {
				if err := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$").Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 1000 {
		c, err := net.Dial("tcp", Reserve(t).String())
		if err == nil {
			_ = c.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("got %v", err)
		}
	}
	starting.Wait()
}

// TestAReservedPortIsTheTestsAlone also while nobody listens, and the test can listen on every
// address, again and again.
func TestAReservedPortIsTheTestsAlone(t *testing.T) {
	t.Parallel()
	at := Reserve(t)
	for range 2 {
		for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
			l, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(host), at.Port()).String())
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if err := Close(l); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Without SO_REUSEADDR, a port is had by one socket alone.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 3}, Port: int(at.Port())}); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("another has the port, too: %v", err)
	}
}

func TestNoCopyOfAClosedListenerAcceptsOrKeepsTheAddress(t *testing.T) {
	t.Parallel()
	at := Reserve(t).String()
	for range 2 {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		held, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Close() }()
		if err := Close(l); err != nil {
			t.Fatal(err)
		}
		if _, err := net.Dial("tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
	}
}
