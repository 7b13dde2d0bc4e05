package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// served is "nfsbench serve" in a process of its own.
type served struct {
	t       *testing.T
	program string
	dir     string
	listen  []string
	cmd     *exec.Cmd
}

// serve builds the program and starts it on two loopback addresses.
func serve(t *testing.T) (*served, site) {
	t.Helper()
	s := &served{t: t, program: filepath.Join(t.TempDir(), "nfsbench"), dir: t.TempDir()}
	build := exec.Command("go", "build", "-C", "../../..", "-o", s.program, "./cmd/nfsbench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nfsbench: %v\n%s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	at := site{paths: []string{"127.0.0.2", "127.0.0.3"}, port: port}
	for _, a := range at.paths {
		s.listen = append(s.listen, net.JoinHostPort(a, strconv.Itoa(port)))
	}
	s.start()
	t.Cleanup(s.kill)
	return s, at
}

func (s *served) start() {
	s.t.Helper()
	args := []string{"serve", "--dir", s.dir}
	for _, l := range s.listen {
		args = append(args, "--listen", l)
	}
	s.cmd = exec.Command(s.program, args...)
	s.cmd.Stderr = s.t.Output()
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	waitFor(s.t, "the server answers", func() bool {
		nc, err := net.Dial("tcp", s.listen[len(s.listen)-1])
		if err != nil {
			return false
		}
		_ = nc.Close()
		return true
	})
}

// kill ends the server as a power cut does.
func (s *served) kill() {
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

func TestAServerThatIsKilledAndComesBackLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		span   string
		change []func(*runfile.Plan)
	}{
		"in the fill":          {runfile.SpanFill, []func(*runfile.Plan){load(2<<20, 4, 2), pattern(bench.PatternRandomRead)}},
		"while it is measured": {runfile.SpanMeasure, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, at := serve(t)
			r := start(t, plan(at, 3, tc.change...))
			r.await(tc.span)
			kills := 0
			for range 3 {
				r.watch.carries(t, 0)
				s.kill()
				if r.in() == tc.span {
					kills++
				}
				r.watch.down(t, 0)
				s.start()
			}
			l := r.finish()
			wantClean(t, l)
			if kills == 0 {
				t.Errorf("no kill came while the run was in %s: the test proves nothing", tc.span)
			}
			t.Logf("killed %d times in %s", kills, tc.span)
			if files, err := os.ReadDir(filepath.Join(s.dir)); err != nil || len(files) != 0 {
				t.Errorf("the run left %v, %v", files, err)
			}
			if tc.span != runfile.SpanMeasure {
				return
			}
			for _, c := range channels(l) {
				if int(c.Reconnects) < kills || c.DownMilliseconds == 0 {
					t.Errorf("the result does not tell of the restarts: %s", fmt.Sprintf("%+v", c))
				}
			}
		})
	}
}
