package ports

import (
	"errors"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// TestAClosedPortRefusesWhileProcessesStart: a process that starts has a copy of every
// descriptor for a moment, and a listener lives as long as its last copy.
func TestAClosedPortRefusesWhileProcessesStart(t *testing.T) {
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
		c, err := net.Dial("tcp", Closed(t).String())
		if err == nil {
			_ = c.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("got %v", err)
		}
	}
	starting.Wait()
}

func TestAFreeAddressCanBeListenedOn(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", Free(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
