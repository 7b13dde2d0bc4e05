package supervise

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestTheLimitOfOpenFilesIsThatOfTheImages, whatever Go has made of the soft limit of this process.
func TestTheLimitOfOpenFilesIsThatOfTheImages(t *testing.T) {
	t.Parallel()
	for hard, want := range map[uint64]syscall.Rlimit{
		^uint64(0): {Cur: 1024, Max: 65536}, 1073741816: {Cur: 1024, Max: 65536}, 4096: {Cur: 1024, Max: 4096}, 512: {Cur: 512, Max: 512},
	} {
		if got := lowered(hard, maxOpenFiles); got != want {
			t.Errorf("%d: %+v, want %+v", hard, got, want)
		}
	}
}

// TestTheDatabaseStartsWithFewOpenFiles sees the limit in the start script. A process without
// privilege cannot begin with a higher limit than 65,536 everywhere, so the bound is lower here.
func TestTheDatabaseStartsWithFewOpenFiles(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `echo $(ulimit -Sn):$(ulimit -Hn) > "$ORACLE_BASE/limit"
touch`, 1))
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil || now.Max <= 2000 {
		t.Fatalf("the limit of open files is %d (%v)", now.Max, err)
	}
	r, cmd := i.asProcess(envOpenFiles + "=2000")
	s := r.ready(1)
	if got := i.read(i.base + "/limit"); got != "1024:2000\n" {
		t.Errorf("the start script may have %s open files, want 1024:2000", got)
	}
	var found runfile.ProcessLimit
	for _, l := range s.Host.Limits {
		if l.Name == openFiles {
			found = l
		}
	}
	want := runfile.ProcessLimit{Name: openFiles, Soft: new(int64(1024)), Hard: new(int64(2000)), HardBefore: new(int64(now.Max))}
	if diff := cmp.Diff(want, found); diff != "" || len(s.Host.Limits) < 10 {
		t.Errorf("%d limits in the state; of open files (-want +got):\n%s", len(s.Host.Limits), diff)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
