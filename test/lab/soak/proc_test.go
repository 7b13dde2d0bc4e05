package soak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/ports"
)

// served is "nfsbench serve" in a process of its own, so that the memory that
// is looked at is the loader's.
type served struct {
	program string
	host    string
	port    int
}

func serve(t *testing.T) served {
	t.Helper()
	s := served{program: filepath.Join(t.TempDir(), "nfsbench"), host: "127.0.0.1"}
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", s.program, "./cmd/nfsbench").CombinedOutput(); err != nil {
		t.Fatalf("build nfsbench: %v\n%s", err, out)
	}
	s.port = int(ports.Reserve(t).Port())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, s.program, "serve", "--dir", t.TempDir(), "--listen", s.address())
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if nc, err := net.Dial("tcp", s.address()); err == nil {
			_ = nc.Close()
			return s
		}
	}
	t.Fatalf("the server does not answer at %s", s.address())
	return s
}

func (s served) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// size is how large this process is at one moment.
type size struct{ kibibytes, objects, goroutines, descriptors int }

func look() (size, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return size{}, err
	}
	runtime.GC() // what is left is in use
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s := size{goroutines: runtime.NumGoroutine(), objects: int(memory.HeapObjects)} //nolint:gosec // far fewer
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			s.kibibytes, err = strconv.Atoi(f[1])
		}
	}
	if err != nil {
		return s, fmt.Errorf("read VmRSS: %w", err)
	}
	if s.kibibytes == 0 {
		return s, errors.New("/proc/self/status has no VmRSS")
	}
	open, err := os.ReadDir("/proc/self/fd")
	s.descriptors = len(open)
	return s, err
}

// median is that of one figure of a quarter of the sizes: 0 is the first.
func median(all []size, quarter int, of func(size) int) int {
	n := len(all)
	var values []int
	for _, s := range all[n*quarter/4 : n*(quarter+1)/4] {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
