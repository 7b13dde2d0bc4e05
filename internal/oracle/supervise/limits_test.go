package supervise

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheLimitOfOpenFilesIsLoweredAndNeverRaised(t *testing.T) {
	t.Parallel()
	const none = ^uint64(0)
	cases := map[string]struct{ now, want syscall.Rlimit }{
		"none":    {syscall.Rlimit{Cur: none, Max: none}, syscall.Rlimit{Cur: 65536, Max: 65536}},
		"systemd": {syscall.Rlimit{Cur: 1024, Max: 1073741816}, syscall.Rlimit{Cur: 1024, Max: 65536}},
		"narrow":  {syscall.Rlimit{Cur: 1024, Max: 4096}, syscall.Rlimit{Cur: 1024, Max: 4096}},
	}
	for name, tc := range cases {
		if got := lowered(tc.now, maxOpenFiles); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestTheDatabaseStartsWithFewOpenFiles sees the limit in the start script. A process without
// privilege cannot begin with a higher limit than 65,536 everywhere, so the bound is lower here.
func TestTheDatabaseStartsWithFewOpenFiles(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `ulimit -Hn > "$ORACLE_BASE/limit"
touch`, 1))
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil || now.Max <= 1000 {
		t.Fatalf("the limit of open files is %d (%v)", now.Max, err)
	}
	r, cmd := i.asProcess(envOpenFiles + "=1000")
	s := r.ready(1)
	if got := i.read(i.base + "/limit"); got != "1000\n" {
		t.Errorf("the start script may have %s open files", got)
	}
	var found runfile.ProcessLimit
	for _, l := range s.Host.Limits {
		if l.Name == openFiles {
			found = l
		}
	}
	want := runfile.ProcessLimit{Name: openFiles, Soft: new(int64(1000)), Hard: new(int64(1000)), HardBefore: new(int64(now.Max))}
	if diff := cmp.Diff(want, found); diff != "" || len(s.Host.Limits) < 10 {
		t.Errorf("%d limits in the state; of open files (-want +got):\n%s", len(s.Host.Limits), diff)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
