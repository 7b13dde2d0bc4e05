package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// poolLIFs is more than the tests that run at once take.
const poolLIFs = 48

// pool is one NFS server with many LIFs. A test takes LIFs that nobody else uses,
// so that its runs do not wait for the target of another test. The links are slow,
// so that many full ones cost little processor time.
type pool struct {
	start  sync.Once
	array  ganesha.Array
	err    error
	free   chan int
	taking sync.Mutex // held while a test takes all its LIFs, so that two tests cannot wait for each other
}

var shared = pool{free: make(chan int, poolLIFs)}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (p *pool) begin() {
	var subnets []string
	for i := range poolLIFs {
		subnets = append(subnets, fmt.Sprintf("10.242.%d.0/24", i+1))
		p.free <- i
	}
	p.array, p.err = ganesha.Up("pool", subnets, "--rate", "100mbit")
}

// stop removes the server, if a test has started it.
func (p *pool) stop() error {
	if p.array.Name == "" && p.err == nil {
		return nil
	}
	return ganesha.Down("pool")
}

// take gives a test LIFs until its end, or skips the test where there is no lab.
func (p *pool) take(t *testing.T, lifs int) array {
	t.Helper()
	if os.Getenv("NFSBENCH_LAB") != "1" {
		t.Skip("needs NFS-Ganesha in network namespaces: run `make test` as root, which sets NFSBENCH_LAB=1")
	}
	p.start.Do(p.begin)
	if p.err != nil {
		t.Fatal(p.err)
	}
	a := array{export: p.array.Export, denied: p.array.Denied, folder: p.array.Data}
	p.taking.Lock()
	defer p.taking.Unlock()
	for range lifs {
		i := <-p.free
		t.Cleanup(func() { p.free <- i })
		a.lifs = append(a.lifs, p.array.LIFs[i])
		if len(p.array.LIFs6) > 0 {
			a.lifs6 = append(a.lifs6, p.array.LIFs6[i])
		}
	}
	subnet := a.lifs[0][:strings.LastIndex(a.lifs[0], ".")]
	a.unreachable, a.silent = subnet+".250", subnet+".251" // as hack/lab/ganesha.sh describes
	return a
}

// plot is what a test has to itself: a namespace, and LIFs of the pool.
type plot struct {
	*cluster
	array
	t  *testing.T
	ns string
}

// newPlot lets the test run beside others, each on a plot of its own.
func newPlot(t *testing.T, lifs int) *plot {
	t.Helper()
	c := newCluster(t)
	t.Parallel()
	return c.plot(t, lifs)
}

// plot is newPlot for a test that others must not run beside.
func (c *cluster) plot(t *testing.T, lifs int) *plot {
	t.Helper()
	a := shared.take(t, lifs)
	return &plot{cluster: c, array: a, t: t, ns: c.namespace(t)}
}

// benchmark reads one small file over the LIFs of the plot for 5 s.
func (p *plot) benchmark(name string, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	small := raw(func(w *bench.RawWorkload) { w.Jobs, w.Depth, w.Directory = 1, 2, p.ns })
	all := append([]gen.Mod{gen.In(p.ns), gen.Export(p.export, p.lifs...), seconds(5), small, fileSize("16Mi"), baseline(3), modest}, mods...)
	return gen.Benchmark(name, all...)
}

// modest asks for so little of a processor that the pods of all runs that go on at
// once fit on a node with two.
func modest(b *v1alpha1.NFSBenchmark) {
	b.Spec.Pods = &v1alpha1.Pods{Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}}}
}

// run creates a benchmark of the plot.
func (p *plot) run(t *testing.T, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	t.Helper()
	return p.create(t, p.benchmark("fault", mods...))
}

// noFiles demands that a run has removed its directory from the array.
func (p *plot) noFiles(t *testing.T) {
	t.Helper()
	p.hasNo(t, p.ns)
}
