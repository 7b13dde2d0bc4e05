package collect

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// at is a clock that is moved by hand.
type at struct {
	mu  sync.Mutex
	now time.Time
}

func (a *at) Now() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

func (a *at) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.now.Add(d)
}

// liveSession samples nothing by itself: the test takes each sample.
func liveSession(t *testing.T, source storage.Source) (*Session, *at) {
	t.Helper()
	clock := &at{now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	o := Options{
		Plan: runfile.Plan{
			Run: runfile.Identity{Namespace: "bench", Name: "demo"}, Engine: runfile.Engine{Channels: runfile.ChannelsTo("10.0.1.61", "10.0.2.61")},
			Collect: runfile.Collect{IntervalMilliseconds: 3_600_000},
		},
		Now: clock.Now, Log: slog.New(slog.DiscardHandler), Sources: []storage.Source{source}, Client: 1,
	}
	s := Start(t.Context(), o)
	t.Cleanup(func() { s.Finish(t.Context(), runfile.Load{}) })
	waitFor(t, "the first samples", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.hosts.items) > 0 && len(s.readings[0].items) > 0
	})
	return s, clock
}

func get(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("answer %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// told reads a page: metrics without what all have in common, and their values.
func told(t *testing.T, page string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			key := strings.TrimPrefix(name, "nfsbench_live_")
			common := map[string]string{"namespace": "bench", "name": "demo", "client": "1"}
			for _, l := range m.GetLabel() {
				if want, is := common[l.GetName()]; is {
					if l.GetValue() != want {
						t.Errorf("%s: %s is %q", key, l.GetName(), l.GetValue())
					}
					delete(common, l.GetName())
					continue
				}
				key += " " + l.GetValue()
			}
			if len(common) > 0 {
				t.Errorf("%s has no %v", key, common)
			}
			out[key] = m.GetGauge().GetValue()
		}
	}
	return out
}

func snapshot(busyMicroseconds, read int64) storage.Snapshot {
	return storage.Snapshot{Epoch: "e", StorageSample: runfile.StorageSample{
		Nodes: []runfile.StorageNode{{Name: "fas-a", BusyMicroseconds: &busyMicroseconds, Cores: new(int32(4))}},
		Paths: []runfile.StoragePath{{Address: "10.0.1.61", ReadBytes: &read}},
	}}
}

// underWay is a session whose load has just told of a second.
func underWay(t *testing.T) (*Session, *at) {
	t.Helper()
	source := &storagetest.Fake{}
	source.Set(snapshot(10e6, 1_000))
	s, clock := liveSession(t, source)
	clock.pass(2 * time.Second)
	source.Set(snapshot(14e6, 401_000))
	s.takeStorage(t.Context(), 0, source, false)
	s.mu.Lock()
	first := s.hosts.items[0].value
	first.Time = clock.Now()
	first.NodeBusyMicroseconds = new(*first.NodeBusyMicroseconds + 250_000)
	first.NodeTotalMicroseconds = new(*first.NodeTotalMicroseconds + 1_000_000)
	s.hosts.add(first, false)
	s.mu.Unlock()
	s.setEvent(runfile.Event{Time: clock.Now(), Span: runfile.SpanMeasure, Percent: 47, BytesPerSecond: 7, OpsPerSecond: 3})
	s.setLoad(&runfile.Load{Samples: []runfile.LoadSample{{Time: clock.Now().Add(-time.Minute)}, {
		Time: clock.Now(), Span: runfile.SpanMeasure,
		Read:     &runfile.SampleOps{Count: 200, Bytes: 200 << 20, MeanMicroseconds: 4_000, P50Microseconds: 3_900, P99Microseconds: 9_000, MaxMicroseconds: 12_000},
		Write:    &runfile.SampleOps{},
		Channels: []runfile.PathBytes{{ID: 0, BytesRead: 150 << 20}, {ID: 1, BytesRead: 50 << 20}, {ID: 2, BytesWritten: 1}},
	}}})
	return s, clock
}

func TestWhatHappensNowIsTold(t *testing.T) {
	s, _ := underWay(t)
	want := map[string]float64{
		"progress_ratio Measure":                                       0.47,
		"throughput_bytes_per_second read":                             200 << 20,
		"throughput_bytes_per_second write":                            0,
		"iops read":                                                    200,
		"iops write":                                                   0,
		"latency_seconds read mean":                                    0.004,
		"latency_seconds read p50":                                     0.0039,
		"latency_seconds read p99":                                     0.009,
		"latency_seconds read max":                                     0.012,
		"client_cpu_ratio":                                             0.25,
		"storage_cpu_ratio fas-a fake":                                 0.5, // 4 s of CPU time in 2 s on 4 cores
		"path_throughput_bytes_per_second 0 read 10.0.1.61":            150 << 20,
		"path_throughput_bytes_per_second 0 write 10.0.1.61":           0,
		"path_throughput_bytes_per_second 1 read 10.0.2.61":            50 << 20,
		"path_throughput_bytes_per_second 1 write 10.0.2.61":           0,
		"path_throughput_bytes_per_second 2 read ":                     0, // not of the oranfstab
		"path_throughput_bytes_per_second 2 write ":                    1,
		"storage_path_throughput_bytes_per_second read 10.0.1.61 fake": 200_000,
	}
	if diff := cmp.Diff(want, told(t, get(t, s.Metrics()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsOldIsNotTold(t *testing.T) {
	s, clock := underWay(t)
	clock.pass(4 * time.Hour)
	if got := told(t, get(t, s.Metrics())); len(got) != 0 {
		t.Errorf("hours later there is %v", got)
	}
}

func TestALoadThatIsNotCountedByTheSecondHasItsEvents(t *testing.T) {
	s, clock := liveSession(t, &storagetest.Fake{})
	event := runfile.Event{Time: clock.Now(), Span: runfile.SpanMeasure, Percent: 10, BytesPerSecond: 7, OpsPerSecond: 3}
	s.setEvent(event)
	want := map[string]float64{"progress_ratio Measure": 0.1, "throughput_bytes_per_second both": 7, "iops both": 3}
	if diff := cmp.Diff(want, told(t, get(t, s.Metrics()))); diff != "" {
		t.Errorf("under load (-want +got):\n%s", diff)
	}
	event.Span = runfile.SpanBaseline
	s.setEvent(event)
	if diff := cmp.Diff(map[string]float64{"progress_ratio Baseline": 0.1}, told(t, get(t, s.Metrics()))); diff != "" {
		t.Errorf("while it is idle (-want +got):\n%s", diff)
	}
}

func TestASampleOfASecondLongPastIsNotTheLoadOfNow(t *testing.T) {
	s, clock := underWay(t)
	clock.pass(stale + time.Second)
	s.setEvent(runfile.Event{Time: clock.Now(), Span: runfile.SpanCooldown, Percent: 60})
	for name := range told(t, get(t, s.Metrics())) {
		if strings.HasPrefix(name, "throughput") || strings.HasPrefix(name, "path_") {
			t.Errorf("in the cool-down there is %s", name)
		}
	}
}

func TestManyScrapesCostOne(t *testing.T) {
	clock := &at{now: time.Unix(1000, 0)}
	gathered := 0
	count := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "x"}, func() float64 { gathered++; return 0 })
	registry := prometheus.NewRegistry()
	registry.MustRegister(count)
	g := &cachedGatherer{gatherer: registry, now: clock.Now, every: time.Second}
	for range 5 {
		if f, err := g.Gather(); err != nil || len(f) != 1 {
			t.Fatal(f, err)
		}
	}
	if gathered != 1 {
		t.Errorf("gathered %d times within a second", gathered)
	}
	clock.pass(time.Second)
	if _, err := g.Gather(); err != nil || gathered != 2 {
		t.Errorf("a second later gathered %d times, %v", gathered, err)
	}
}

func TestASidecarServesWhatItsLoaderTells(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanMeasure, Repetition: 1, Percent: 47})
	r.load(runfile.Load{Partial: true, Samples: []runfile.LoadSample{{Time: time.Now(), Read: &runfile.SampleOps{Count: 5, Bytes: 500}}}})
	waitFor(t, "the bytes of the last second", func() bool {
		w := httptest.NewRecorder()
		r.session.Metrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return strings.Contains(w.Body.String(), `direction="read",name="demo",namespace=""} 500`)
	})
}

func TestPromtoolFindsNothingWrongWithLiveMetrics(t *testing.T) {
	folder := os.Getenv("NFSBENCH_MONITORS")
	if folder == "" {
		t.Skip("NFSBENCH_MONITORS is not set; try: export NFSBENCH_MONITORS=$(hack/lab/monitors.sh)")
	}
	s, _ := underWay(t)
	page := get(t, s.Metrics())
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
