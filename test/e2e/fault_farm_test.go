package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab"
)

// endsWithin is how long after a fault a user may wait for its end or its
// explanation.
const endsWithin = 60 * time.Second

// farm is an array with many slow LIFs. Each run has one of its own, so that
// runs are no targets of each other and several may go on at once.
type farm struct {
	*cluster
	array lab.Array
	free  chan int
}

// newFarm starts the array, or skips the test where the node is not here.
func newFarm(t *testing.T, name string, net, lifs int) *farm {
	t.Helper()
	c := newCluster(t)
	needNodeHere(t, c)
	newArray(t) // or says what is missing
	f := &farm{cluster: c, free: make(chan int, lifs)}
	var subnets []string
	for i := 1; i <= lifs; i++ {
		subnets = append(subnets, fmt.Sprintf("10.%d.%d.0/24", net, i))
		f.free <- i
	}
	f.array = lab.Start(t, name, subnets, "--rate", "100mbit")
	return f
}

// plot is one LIF of the farm in the hands of one test.
type plot struct {
	*farm
	t       *testing.T
	lif     int
	address string
	ns      string
}

// plot gives a test a LIF and a namespace until its end.
func (f *farm) plot(t *testing.T) *plot {
	t.Helper()
	n := <-f.free
	t.Cleanup(func() { f.free <- n })
	return &plot{farm: f, t: t, lif: n, address: f.array.LIFs[n-1], ns: f.namespace(t)}
}

// run creates a benchmark of the plot: one small file, read for 6 s.
func (p *plot) run(t *testing.T, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	t.Helper()
	small := raw(func(w *v1alpha1.RawWorkload) { w.Jobs, w.Depth, w.Directory = 1, 2, p.directory() })
	all := append([]gen.Mod{gen.In(p.ns), gen.Export(p.array.Export, p.address), seconds(6), small, fileSize("16Mi"), baseline(3)}, mods...)
	return p.create(t, gen.Benchmark("fault", all...))
}

// directory is where the runs of the plot have their files.
func (p *plot) directory() string { return p.ns }

// noFiles demands that a run has removed its directory from the array.
func (p *plot) noFiles(t *testing.T) {
	t.Helper()
	array{folder: p.array.Data}.hasNo(t, p.directory())
}

// lasting sets the measured window and nothing else.
func lasting(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.DurationSeconds = seconds }
}

func baseline(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.BaselineSeconds = &seconds }
}

func blockSize(size string) gen.Mod {
	return raw(func(w *v1alpha1.RawWorkload) { w.BlockSize = resource.MustParse(size) })
}

// running waits for the pods of a run and gives the inside of each.
func (f *farm) running(t *testing.T, b *v1alpha1.NFSBenchmark, n int) []inside {
	t.Helper()
	var pods []corev1.Pod
	poll(t, time.Minute, func() (bool, string) {
		pods = f.loadPods(t, b)
		return len(pods) == n, fmt.Sprintf("%d load pods, not %d; the benchmark is %s", len(pods), n, state(f.get(t, b)))
	})
	var out []inside
	for _, p := range pods {
		out = append(out, inside{p})
	}
	return out
}

// inside is what a pod does, as its node sees it.
type inside struct{ corev1.Pod }

// dir is the run directory of the pod on this machine.
func (i inside) dir() string {
	for _, root := range []string{filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "kubelet"), "/var/lib/kubelet"} {
		dir := filepath.Join(root, "pods", string(i.UID), "volumes", "kubernetes.io~empty-dir", "run")
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return ""
}

// spans are those that the loader has begun, in order.
func (i inside) spans(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.dir(), runfile.EventsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for line := range bytes.Lines(text) {
		var e runfile.Event
		if json.Unmarshal(line, &e) == nil && (len(out) == 0 || out[len(out)-1] != e.Span) {
			out = append(out, e.Span)
		}
	}
	return out
}

// await waits until the loader is in a span. It looks often, for some are short.
func (i inside) await(t *testing.T, span string) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(time.Millisecond) {
		seen := i.spans(t)
		if n := len(seen); n > 0 && seen[n-1] == span {
			return
		}
		if slices.Contains(seen, span) || time.Now().After(end) {
			t.Fatalf("the loader of pod %s is not caught in %s: %v", i.Name, span, seen)
		}
	}
}

// process waits for the one process of the pod that runs a subcommand.
func (i inside) process(t *testing.T, subcommand string) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if pids := processes(t, i.Pod, subcommand); len(pids) == 1 {
			return pids[0]
		}
		if time.Now().After(end) {
			t.Fatalf("no process of pod %s runs nfsbench %s", i.Name, subcommand)
		}
	}
}

// signal sends a signal to a process of the pod.
func (i inside) signal(t *testing.T, subcommand string, s syscall.Signal) {
	t.Helper()
	send(t, i.process(t, subcommand), s)
}

func send(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("signal %v to process %d: %v", s, pid, err)
	}
}

// undisturbed waits for the run to succeed, and demands a result without gaps
// from one load.
func (f *farm) undisturbed(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	f.phase(t, b, v1alpha1.PhaseSucceeded, 2*time.Minute)
	done := f.cleanedUp(t, b)
	for _, r := range f.results(t, done) {
		cl := r.Clients[0]
		if cl.Load.Partial || cl.Load.Failure != nil || len(cl.Load.Repetitions) != 1 {
			t.Errorf("partial: %v, failure: %+v, %d repetitions", cl.Load.Partial, cl.Load.Failure, len(cl.Load.Repetitions))
		}
		complete(t, cl)
	}
	if s := done.Status.Summary; s == nil || s.BlocksVerified == nil || *s.BlocksVerified == 0 || *s.BlocksWrong != 0 {
		t.Errorf("blocks were not verified: %+v", s)
	}
	f.startedOnce(t, done)
	return done
}

// complete demands that the collector knows what the client did in the idle
// baseline and in most of the measured window.
func complete(t *testing.T, cl runfile.ClientResult) {
	t.Helper()
	if cl.Observed == nil {
		t.Fatal("nothing was observed")
	}
	var kinds []string
	for _, w := range cl.Observed.Windows {
		if w.NodeCPUPermille != nil {
			kinds = append(kinds, w.Kind)
		}
	}
	if !slices.Equal(kinds, []string{runfile.SpanBaseline, runfile.SpanMeasure}) {
		t.Errorf("the CPU of the client is known of %v, not of baseline and window; problems: %+v", kinds, cl.Observed.Problems)
	}
}

// startedOnce demands that the Job has made each pod of the run once.
func (f *farm) startedOnce(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	list := &corev1.EventList{}
	if err := f.List(t.Context(), list, inNamespace(b)); err != nil {
		t.Fatal(err)
	}
	var made int32
	for _, e := range list.Items {
		if e.Reason == "SuccessfulCreate" && e.InvolvedObject.Name == loadJob(b) {
			made += max(e.Count, 1)
		}
	}
	if made != b.Spec.Clients {
		t.Errorf("%d load pods were made for %d clients", made, b.Spec.Clients)
	}
}
