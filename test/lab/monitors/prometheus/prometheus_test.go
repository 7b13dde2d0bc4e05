package prometheus_test

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/prometheus"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/lab/monitors"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// odd is a value of a label that would end a string which is not quoted.
const odd = `c"1\`

// poller exports the names of Harvest, as its pages do: gauges that hold until they are set.
type poller struct {
	url string

	mu      sync.Mutex
	values  map[string]float64
	reads   int // a real counter, for expressions
	scrapes int
}

func startPoller(t *testing.T) *poller {
	t.Helper()
	p := &poller{values: map[string]float64{}}
	cluster := strconv.Quote(odd)
	volume := `{datacenter="dc1",cluster=` + cluster + `,svm="svm1",volume="vol1",node="a",aggr="aggr1",style="flexvol"}`
	p.set("volume_read_ops"+volume, 1000)
	p.set("volume_write_ops"+volume, 100)
	p.set("volume_other_ops"+volume, 10)
	p.set("volume_read_data"+volume, 8192000)
	p.set("volume_write_data"+volume, 819200)
	p.set("volume_read_latency"+volume, 250)
	p.set("volume_write_latency"+volume, 500)
	p.set(`volume_read_ops{datacenter="dc1",cluster="other",svm="svm1",volume="vol1",node="x"}`, 77)
	for node, busy := range map[string]float64{"a": 25, "b": 75} {
		p.set(`node_avg_processor_busy{datacenter="dc1",cluster=`+cluster+`,node="`+node+`"}`, busy)
		p.set(`node_cpu_busy{datacenter="dc1",cluster=`+cluster+`,node="`+node+`"}`, 99)
		lif := `{datacenter="dc1",cluster=` + cluster + `,svm="svm1",lif="lif_` + node + `",node="` + node + `",port="e0a"}`
		p.set("lif_sent_data"+lif, 9e6)
		p.set("lif_recv_data"+lif, 1e6)
		p.set(strings.Replace("lif_labels"+lif, "port=", `address="10.0.0.`+node+`",port=`, 1), 1)
	}
	srv := httptest.NewServer(http.HandlerFunc(p.page))
	t.Cleanup(srv.Close)
	p.url = srv.URL
	return p
}

func (p *poller) set(series string, value float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[series] = value
}

// moveVolume moves the volume from node a to node b.
func (p *poller) moveVolume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for series, v := range maps.Clone(p.values) {
		if strings.HasPrefix(series, "volume_") && strings.Contains(series, `node="a"`) {
			delete(p.values, series)
			p.values[strings.Replace(series, `node="a"`, `node="b"`, 1)] = v
		}
	}
}

func (p *poller) page(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scrapes++
	p.reads += 10
	for series, v := range p.values {
		fmt.Fprintf(w, "%s %g\n", series, v)
	}
	fmt.Fprintf(w, "# TYPE test_reads_total counter\ntest_reads_total %d\n", p.reads)
}

func (p *poller) scraped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.scrapes
}

// wait waits until Prometheus has what it scrapes now: the second scrape from here begins
// after the first was stored.
func (p *poller) wait(t *testing.T) {
	t.Helper()
	for from := p.scraped(); p.scraped() < from+2; {
		select {
		case <-t.Context().Done():
			t.Fatal("Prometheus scrapes no more")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startPrometheus starts a Prometheus. Its first scrape comes five seconds later, which is
// why the tests that use it run beside each other.
func startPrometheus(t *testing.T, targets string) *monitors.Program {
	t.Helper()
	return monitors.Prometheus(t, "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs:\n"+targets)
}

func target(job, url string) string {
	return fmt.Sprintf("- {job_name: %s, honor_labels: true, static_configs: [{targets: [%q]}]}\n", job, strings.TrimPrefix(url, "http://"))
}

func source(t *testing.T, src runfile.Source) *prometheus.Source {
	t.Helper()
	src.Kind, src.Name = runfile.SourcePrometheus, "prometheus"
	s, err := prometheus.New(src, rest.Credentials{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sampleWith samples until what a test needs is there: a rate has no value before its
// window holds two scrapes.
func (p *poller) sampleWith(t *testing.T, s storage.Source, there func(storage.Snapshot) bool) storage.Snapshot {
	t.Helper()
	for {
		if got := storagetest.Sample(t, s); there(got) {
			return got
		}
		p.wait(t)
	}
}

func harvestLabels() map[string]string {
	return map[string]string{"cluster": odd, "svm": "svm1", "volume": "vol1"}
}

func readyURL(t *testing.T, base string) {
	t.Helper()
	for t.Context().Err() == nil {
		resp, err := http.Get(base + "/-/ready") //nolint:noctx // a test's own server
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestARealPrometheusKeepsTheContract(t *testing.T) {
	t.Parallel()
	p := startPoller(t)
	server := startPrometheus(t, target("harvest", p.url))
	p.wait(t)
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		t.Helper()
		return storagetest.Subject{
			Source:         source(t, runfile.Source{URL: server.URL, Labels: harvestLabels()}),
			Work:           p.wait,
			Break:          func(t *testing.T) { t.Helper(); server.End(t) },
			Mend:           func(t *testing.T) { t.Helper(); server.Start(t); readyURL(t, server.URL) },
			PathsCountMore: true,
		}
	})
}

// near compares with what counters lose by being whole.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1.5+want*1e-6 {
		t.Errorf("%s: %f, want %f", what, got, want)
	}
}

func TestRatesOfARealPrometheusBecomeWhatHappened(t *testing.T) {
	t.Parallel()
	p := startPoller(t)
	server := startPrometheus(t, target("harvest", p.url))
	p.wait(t)
	s := source(t, runfile.Source{URL: server.URL, Labels: harvestLabels()})
	first := storagetest.Sample(t, s)
	for range 10 { // many samples in one scrape add nothing
		storagetest.Sample(t, s)
	}
	p.wait(t)
	p.wait(t)
	second := storagetest.Sample(t, s)
	seconds := second.Time.Sub(first.Time).Seconds()
	if seconds <= 0 || second.Epoch != first.Epoch {
		t.Fatalf("%f s, epochs %q and %q", seconds, first.Epoch, second.Epoch)
	}
	grew := func(get func(runfile.StorageSample) *int64) float64 {
		return float64(*get(second.StorageSample)) - float64(*get(first.StorageSample))
	}
	near(t, "reads", grew(func(c runfile.StorageSample) *int64 { return c.ReadOps }), 1000*seconds)
	near(t, "writes", grew(func(c runfile.StorageSample) *int64 { return c.WriteOps }), 100*seconds)
	near(t, "others", grew(func(c runfile.StorageSample) *int64 { return c.OtherOps }), 10*seconds)
	near(t, "bytes read", grew(func(c runfile.StorageSample) *int64 { return c.ReadBytes }), 8192000*seconds)
	near(t, "bytes written", grew(func(c runfile.StorageSample) *int64 { return c.WriteBytes }), 819200*seconds)
	near(t, "time of reads", grew(func(c runfile.StorageSample) *int64 { return c.ReadMicroseconds }), 250*1000*seconds)
	near(t, "time of writes", grew(func(c runfile.StorageSample) *int64 { return c.WriteMicroseconds }), 500*100*seconds)
	for i, busy := range []float64{0.25, 0.75} {
		a, b := first.Nodes[i], second.Nodes[i]
		if share := float64(*b.BusyMicroseconds-*a.BusyMicroseconds) / float64(*b.BaseMicroseconds-*a.BaseMicroseconds); math.Abs(share-busy) > 1e-5 {
			t.Errorf("node %s was busy for %f, want %f: the mean of its cores, not the busiest domain", b.Name, share, busy)
		}
	}
	path := second.Paths[1]
	near(t, "bytes of a LIF", float64(*path.ReadBytes)/float64(*path.WriteBytes), 9)
	if path.Address != "10.0.0.b" || path.Name != "lif_b" || path.Node != "b" || len(second.Paths) != 2 {
		t.Errorf("paths %+v", second.Paths)
	}
	if second.VolumeNode != "a" {
		t.Errorf("the volume is on %q", second.VolumeNode)
	}
}

// TestWhatMovesIsFollowed checks an integral against what the exporter really served, where
// the rates change while nobody samples.
func TestWhatMovesIsFollowed(t *testing.T) {
	t.Parallel()
	p := startPoller(t)
	server := startPrometheus(t, target("harvest", p.url))
	p.wait(t)
	s := source(t, runfile.Source{URL: server.URL, Labels: harvestLabels()})
	first := storagetest.Sample(t, s)
	series := `volume_read_ops{datacenter="dc1",cluster=` + strconv.Quote(odd) + `,svm="svm1",volume="vol1",node="a",aggr="aggr1",style="flexvol"}`
	p.set(series, 0)
	p.wait(t)
	idle := storagetest.Sample(t, s)
	p.wait(t)
	still := storagetest.Sample(t, s)
	if *still.ReadOps != *idle.ReadOps || !still.Time.After(idle.Time) {
		t.Errorf("idle, and yet from %d to %d", *idle.ReadOps, *still.ReadOps)
	}
	for _, rate := range []float64{5000, 0} {
		p.set(series, rate)
		p.wait(t)
		p.wait(t)
	}
	end := storagetest.Sample(t, s)
	grew, span := float64(*end.ReadOps-*still.ReadOps), end.Time.Sub(still.Time).Seconds()
	if grew <= 5000*0.2 || grew >= 5000*span {
		t.Errorf("%f reads in %f s: there were 5000/s in a part of it", grew, span)
	}
	p.moveVolume()
	p.wait(t)
	if v := storagetest.Sample(t, s); v.VolumeNode != "b" {
		t.Errorf("the volume was moved to b: %+v", v)
	}
	if e := storagetest.Sample(t, s).Epoch; e != first.Epoch {
		t.Errorf("epoch %q after %q", e, first.Epoch)
	}
}

func TestQueriesOfTheUserOnARealPrometheus(t *testing.T) {
	t.Parallel()
	p := startPoller(t)
	machine := monitors.NodeExporter(t, "/proc", "cpu")
	server := startPrometheus(t, target("harvest", p.url)+target("machine", machine.URL))
	p.wait(t)
	s := source(t, runfile.Source{URL: server.URL, Queries: map[string]string{
		"nodeCPUPercent": `100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[30s])))`,
		"readOperations": `sum(rate(test_reads_total[30s]))`,
		"readBytes":      `8192 * sum(rate(test_reads_total[30s]))`, "readLatencyMicroseconds": `scalar(vector(250))`,
		"writeBytes": `sum(rate(nobody_has_this[30s]))`,
	}})
	first := p.sampleWith(t, s, func(got storage.Snapshot) bool {
		return got.ReadOps != nil && got.ReadBytes != nil && got.ReadMicroseconds != nil
	})
	second := p.sampleWith(t, s, func(got storage.Snapshot) bool {
		return len(got.Nodes) == 1 && got.Nodes[0].BusyMicroseconds != nil && *got.ReadOps > *first.ReadOps
	})
	reads := float64(*second.ReadOps - *first.ReadOps)
	if second.WriteBytes != nil || second.WriteOps != nil {
		t.Errorf("%f reads in %v, total %+v", reads, second.Time.Sub(first.Time), second.StorageSample)
	}
	if bytes := float64(*second.ReadBytes - *first.ReadBytes); math.Abs(bytes-8192*reads) > 8192*2 {
		t.Errorf("%f bytes in %f reads", bytes, reads)
	}
	if us := float64(*second.ReadMicroseconds - *first.ReadMicroseconds); math.Abs(us-250*reads) > 500 {
		t.Errorf("%f us in %f reads", us, reads)
	}
	n := second.Nodes[0]
	if n.Name != strings.TrimPrefix(machine.URL, "http://") || n.BusyMicroseconds == nil || *n.BusyMicroseconds < 0 || *n.BusyMicroseconds > *n.BaseMicroseconds {
		t.Errorf("node %+v", n)
	}
}

func TestLabelsAreOnlyValues(t *testing.T) {
	t.Parallel()
	p := startPoller(t)
	server := startPrometheus(t, target("harvest", p.url))
	p.wait(t)
	for _, cluster := range []string{`c"1`, `"} or up{job=~"`, `.*`, "c\x00\n1"} {
		labels := harvestLabels()
		labels["cluster"] = cluster
		_, err := source(t, runfile.Source{URL: server.URL, Labels: labels}).Sample(t.Context())
		if err == nil || storage.IsPermanent(err) || !strings.Contains(err.Error(), "no series match") {
			t.Errorf("cluster %q: %v", cluster, err)
		}
	}
	labels := map[string]string{"cluster": odd}
	if got := storagetest.Sample(t, source(t, runfile.Source{URL: server.URL, Labels: labels})); len(got.Nodes) != 2 || got.ReadOps != nil || got.VolumeNode != "" {
		t.Errorf("without SVM and volume there are the nodes: %+v", got)
	}
}
