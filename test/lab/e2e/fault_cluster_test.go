package e2e

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestAPIServerMayBeAwayDuringARun stops it while one run fills its files, one
// measures, and one comes to its end, and until the manager has given
// up, which it does when it cannot renew its lease. No other test runs beside it.
func TestAPIServerMayBeAwayDuringARun(t *testing.T) {
	c := newCluster(t)
	needNodeHere(t, c)
	pid := apiServer(t, c)
	manager := managerProcess(t, c.leader(t).pod)
	long, ends, fills := c.plot(t, 1), c.plot(t, 1), c.plot(t, 1)
	// Two are held in their fill until the third measures, however long its pod takes to start.
	filling := fills.run(t, fileSize("256Mi"))
	fill := c.running(t, filling, 1)[0].hold(t, runfile.SpanFill)
	ending := ends.run(t, fileSize("64Mi"))
	last := c.running(t, ending, 1)[0]
	end := last.hold(t, runfile.SpanFill)
	measuring := long.run(t, lasting(30))
	c.running(t, measuring, 1)[0].await(t, runfile.SpanMeasure)

	send(t, pid, syscall.SIGSTOP)
	stopped := time.Now()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	send(t, fill, syscall.SIGCONT)
	send(t, end, syscall.SIGCONT)
	last.await(t, runfile.SpanDone)
	poll(t, func() (bool, string) {
		return syscall.Kill(manager, 0) != nil, "the manager goes on although it cannot renew its lease"
	})
	send(t, pid, syscall.SIGCONT)
	back := time.Now()
	t.Logf("the API server was away for %v", back.Sub(stopped).Round(time.Second))

	poll(t, func() (bool, string) {
		b := &v1alpha1.NFSBenchmark{}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(ending), b)
		return err == nil && b.Status.Phase.IsFinished(), "its status does not say that the run has ended"
	})
	t.Logf("the end of a run in that time was in its status after %v", time.Since(back).Round(time.Second))
	for _, b := range []*v1alpha1.NFSBenchmark{ending, measuring, filling} {
		c.undisturbed(t, b)
	}
	for _, p := range []*plot{long, ends, fills} {
		p.noFiles(t)
	}
}

// apiServer finds the process of the API server, or skips the test where it is
// not on this machine.
func apiServer(t *testing.T, c *cluster) int {
	t.Helper()
	u, err := url.Parse(c.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		args, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(args, []byte("kube-apiserver\x00")) || !bytes.Contains(args, []byte("--secure-port\x00"+u.Port()+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Skip("needs an API server that is a process of this machine: `CLUSTER=local make test`")
	return 0
}
