package exporter_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/exporter"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/ports"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

func source(t *testing.T, nodes ...runfile.SourceNode) *exporter.Source {
	t.Helper()
	s, err := exporter.New(runfile.Source{Kind: runfile.SourceExporter, Name: "servers", Nodes: nodes}, rest.Credentials{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serve(t *testing.T, handler http.HandlerFunc) runfile.SourceNode {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return runfile.SourceNode{Name: "a", URL: srv.URL + "/metrics"}
}

func page(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// ganesha is written after nfs-ganesha's src/monitoring (V6): names, labels and that
// operations which never came are left out.
const ganesha = `# HELP nfs_requests_total Total requests.
# TYPE nfs_requests_total counter
nfs_requests_total{operation="read"} 40
nfs_requests_total{operation="putfh"} 60
nfs_requests_total{operation="getattr"} 3
# TYPE nfs_bytes_received_total counter
nfs_bytes_received_total{operation="read"} 327680
# TYPE nfs_bytes_sent_total counter
nfs_bytes_sent_total{operation="write"} 81920
# TYPE nfs_latency_ms histogram
nfs_latency_ms_bucket{operation="read",le="0.1"} 40
nfs_latency_ms_bucket{operation="read",le="+Inf"} 40
nfs_latency_ms_sum{operation="read"} 0
nfs_latency_ms_count{operation="read"} 40
`

func TestGaneshaIsUnderstood(t *testing.T) {
	got := storagetest.Sample(t, source(t, serve(t, page(ganesha))))
	want := runfile.StorageSample{ReadOps: new(int64(40)), WriteOps: new(int64(0)), OtherOps: new(int64(3)), ReadBytes: new(int64(327680)), WriteBytes: new(int64(81920))}
	if diff := cmp.Diff(want, storagetest.Totals(got)); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	if got.Nodes[0].BusyMicroseconds != nil || got.Nodes[0].Cores != nil {
		t.Errorf("it tells no processors: %+v", got.Nodes[0])
	}
	older := strings.ReplaceAll(strings.ReplaceAll(ganesha, `operation="read"`, `operation="NFS3_READ"`), "nfs_bytes_received_total", "nfs_bytes_receeived_total")
	got = storagetest.Sample(t, source(t, serve(t, page(older))))
	if got.ReadOps == nil || *got.ReadOps != 40 || got.ReadBytes != nil {
		t.Errorf("names differ by build: what is not there is not known: %+v", got.StorageSample)
	}
}

func TestWritesThatOldNodeExportersMiscount(t *testing.T) {
	const counters = "# TYPE node_nfsd_requests_total counter\nnode_nfsd_requests_total{method=\"Write\",proto=\"3\"} 5\nnode_nfsd_requests_total{method=\"Write\",proto=\"4\"} 2\n"
	build := func(version string) string {
		return "# TYPE node_exporter_build_info gauge\nnode_exporter_build_info{version=\"" + version + "\"} 1\n"
	}
	cases := map[string]struct {
		reason, page string
		want         *int64
	}{
		"1.7":         {"it counts WRITE", counters + build("1.7.0"), new(int64(7))},
		"2.0":         {"so will later ones", counters + build("2.0.0-rc.0"), new(int64(7))},
		"1.6":         {"it counts another operation", counters + build("1.6.1"), nil},
		"odd":         {"nobody knows which it is", counters + build("(devel)"), nil},
		"no version":  {"nobody knows which it is", counters, nil},
		"only NFSv3":  {"those are counted rightly by all", strings.Replace(counters, `proto="4"} 2`, `proto="4"} 0`, 1), new(int64(5))},
		"not numbers": {"a sum with it is none", strings.Replace(counters, "} 5", "} NaN", 1) + build("1.8.2"), nil},
		"negative":    {"no counter is", strings.Replace(counters, "} 5", "} -5", 1) + build("1.8.2"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := storagetest.Sample(t, source(t, serve(t, page(tc.page))))
			if diff := cmp.Diff(tc.want, got.WriteOps); diff != "" {
				t.Errorf("%s:\n%s", tc.reason, diff)
			}
			if got.ReadOps != nil {
				t.Errorf("%d reads, of which nothing is told", *got.ReadOps)
			}
		})
	}
}

// TestBytesOfAKernelWhoseCountersWrapAreNotKnown: before Linux 5.12 they have 32 bits.
func TestBytesOfAKernelWhoseCountersWrapAreNotKnown(t *testing.T) {
	uname := func(release string) string {
		return "# TYPE node_uname_info gauge\nnode_uname_info{release=\"" + release + "\"} 1\n"
	}
	cases := map[string]struct {
		read, release string
		known         bool
	}{
		"5.12":              {"4096", uname("5.12.0-rc1"), true},
		"6.1":               {"4096", uname("6.1.0-18-amd64"), true},
		"5.11":              {"4294967295", uname("5.11.22"), false},
		"RHEL 8":            {"4096", uname("4.18.0-553.el8_10.x86_64"), false},
		"with more bits":    {"4294967296", uname("4.18.0-553.el8_10.x86_64"), true},
		"no release":        {"4096", "", false},
		"no release, large": {"1e+12", "", true},
		"odd":               {"4096", uname("linux"), false},
		"no minor":          {"4096", uname("6"), false},
	}
	for name, tc := range cases {
		text := "# TYPE node_nfsd_requests_total counter\nnode_nfsd_requests_total{method=\"Read\",proto=\"3\"} 5\n" +
			"# TYPE node_nfsd_disk_bytes_read_total counter\nnode_nfsd_disk_bytes_read_total " + tc.read + "\n" +
			"# TYPE node_nfsd_disk_bytes_written_total counter\nnode_nfsd_disk_bytes_written_total 4096\n" + tc.release
		got := storagetest.Sample(t, source(t, serve(t, page(text))))
		if (got.ReadBytes != nil) != tc.known || (got.WriteBytes != nil) != tc.known || got.ReadOps == nil {
			t.Errorf("%s: %+v", name, got.StorageSample)
		}
	}
}

func TestFileHandlesAreNoOperations(t *testing.T) {
	text := "# TYPE node_nfsd_requests_total counter\nnode_exporter_build_info{version=\"1.9.0\"} 1\n"
	for _, method := range []string{"Read", "Write", "PutFH", "GetFH", "SaveFH", "RestoreFH", "GetAttr"} {
		text += `node_nfsd_requests_total{method="` + method + `",proto="4"} 10` + "\n"
	}
	if c := storagetest.Sample(t, source(t, serve(t, page(text)))); c.OtherOps == nil || *c.OtherOps != 10 {
		t.Errorf("they come with each operation of NFSv4: %+v", c)
	}
}

func TestOnlyWhatIsReadIsAskedFor(t *testing.T) {
	var asked []string
	choosy := true
	s := source(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if choosy && r.URL.RawQuery != "" {
			http.Error(w, "disabled collector: nfsd", http.StatusBadRequest)
			return
		}
		page(ganesha)(w, r)
	}))
	for range 2 {
		storagetest.Sample(t, s)
	}
	choice := "collect[]=cpu&collect[]=nfsd&collect[]=stat&collect[]=uname"
	if diff := cmp.Diff([]string{choice, "", ""}, asked); diff != "" {
		t.Errorf("who refuses the choice is asked for everything from then on (-want +got):\n%s", diff)
	}
}

func TestABootIsANewEpochAndAClockThatIsSetIsNot(t *testing.T) {
	boot := "1790000000"
	s := source(t, serve(t, func(w http.ResponseWriter, r *http.Request) { page(ganesha+"node_boot_time_seconds "+boot+"\n")(w, r) }))
	first := storagetest.Sample(t, s).Epoch
	boot = "1790000001.5"
	if e := storagetest.Sample(t, s).Epoch; e != first || e != "a 1790000000" {
		t.Errorf("epoch %q after %q: the kernel computes the boot time anew with each correction of its clock", e, first)
	}
	boot = "1790000100"
	if e := storagetest.Sample(t, s).Epoch; e == first {
		t.Errorf("epoch %q: it booted", e)
	}
}

func TestAnswersThatAreNoCounters(t *testing.T) {
	cases := map[string]struct {
		reason    string
		status    int
		body      string
		permanent bool
	}{
		"not found":     {"another server is there", http.StatusNotFound, "", true},
		"overloaded":    {"it may pass", http.StatusServiceUnavailable, "", false},
		"too many":      {"it may pass", http.StatusTooManyRequests, "", false},
		"a web page":    {"another server is there", http.StatusOK, "<html>", true},
		"other metrics": {"another program is there", http.StatusOK, "go_goroutines 7\n", true},
		"empty":         {"nothing is told", http.StatusOK, "", true},
		"endless":       {"the body is bounded", http.StatusOK, strings.Repeat("# x\n", 3<<20), true},
		"redirect":      {"nobody else's counters", http.StatusFound, "", true},
		"bad request":   {"with all collectors too", http.StatusBadRequest, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			node := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			node.URL += "?token=s3cret"
			_, err := source(t, node).Sample(t.Context())
			if err == nil || storage.IsPermanent(err) != tc.permanent {
				t.Fatalf("%s: error %v, permanent %v", tc.reason, err, storage.IsPermanent(err))
			}
			if strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "server a at 127.0.0.1:") {
				t.Errorf("an error names the server and not its query: %v", err)
			}
		})
	}
}

func TestOneServerThatIsSilentFailsTheSample(t *testing.T) {
	there := serve(t, page(ganesha))
	gone := runfile.SourceNode{Name: "b", URL: "http://" + ports.Reserve(t).String() + "/metrics?token=s3cret"}
	hanging := make(chan struct{})
	mute := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-hanging:
		}
	})
	t.Cleanup(func() { close(hanging) })
	_, err := source(t, there, gone).Sample(t.Context())
	if err == nil || storage.IsPermanent(err) || !strings.Contains(err.Error(), "server b") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := source(t, mute).Sample(ctx); !errors.Is(err, context.DeadlineExceeded) || storage.IsPermanent(err) {
		t.Errorf("the end of the context is an error that wraps it: %v", err)
	}
}

func TestNewRefusesWhatIsNoServer(t *testing.T) {
	good := runfile.SourceNode{Name: "a", URL: "http://10.0.0.7:9100/metrics"}
	cases := map[string]runfile.Source{
		"nobody":      {},
		"no scheme":   {Nodes: []runfile.SourceNode{{Name: "a", URL: "10.0.0.7:9100"}}},
		"no host":     {Nodes: []runfile.SourceNode{{Name: "a", URL: "http:///metrics"}}},
		"no URL":      {Nodes: []runfile.SourceNode{{Name: "a", URL: "http://[::1"}}},
		"a password":  {Nodes: []runfile.SourceNode{{Name: "a", URL: "http://u:s3cret@10.0.0.7/metrics"}}},
		"no name":     {Nodes: []runfile.SourceNode{{URL: good.URL}}},
		"a twin":      {Nodes: []runfile.SourceNode{good, good}},
		"no CABundle": {Nodes: []runfile.SourceNode{good}, CABundle: "s3cret"},
	}
	for name, src := range cases {
		_, err := exporter.New(src, rest.Credentials{}, time.Now)
		if err == nil || !storage.IsPermanent(err) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := exporter.New(runfile.Source{Nodes: []runfile.SourceNode{good}}, rest.Credentials{}, time.Now); err != nil {
		t.Error(err)
	}
}
