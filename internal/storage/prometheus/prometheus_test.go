package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/prometheus"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

func source(t *testing.T, src runfile.Source) *prometheus.Source {
	t.Helper()
	src.Kind, src.Name = runfile.SourcePrometheus, "prometheus"
	s, err := prometheus.New(src, rest.Credentials{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const secret = "s3cret-of-a-token"

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv.URL
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func data(kind, result string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
}

func TestAnswersThatAreNoCounters(t *testing.T) {
	reads := map[string]string{"readOperations": "x"}
	cpu := map[string]string{"nodeCPUPercent": "x"}
	cases := map[string]struct {
		reason    string
		queries   map[string]string // nil = Harvest
		status    int
		body      string
		permanent bool
		says      string
	}{
		"wrong PromQL":      {"only the user can fix it", reads, 400, `{"status":"error","errorType":"bad_data","error":"parse error near ` + secret + `"}`, true, "parse error"},
		"overloaded":        {"it may pass", reads, 500, "", false, "500"},
		"another program":   {"it is no Prometheus", reads, 200, "<html>", true, "not what was expected"},
		"no data":           {"it is no Prometheus", reads, 200, `{}`, true, "the whole of data"},
		"an error of 200":   {"it says what is wrong", nil, 200, `{"status":"error","errorType":"execution","error":"query timed out"}`, false, "code execution: query timed out"},
		"no result":         {"that is not to have none", nil, 200, data("matrix", "null"), true, "result"},
		"no values":         {"they are not 0", reads, 200, data("vector", `[{"metric":{}}]`), true, "without a value"},
		"a null value":      {"it is not 0", reads, 200, data("vector", `[{"metric":{},"value":[1,null]}]`), true, "not what was expected"},
		"a null in a range": {"it is not 0", nil, 200, data("matrix", `[{"metric":{"__name__":"node_cpu_busy","node":"a"},"values":[[1790000000,null]]}]`), true, "not what was expected"},
		"half a sample":     {"it is not 0", nil, 200, data("matrix", `[{"metric":{"__name__":"node_cpu_busy","node":"a"},"values":[[1790000000]]}]`), true, "1 parts"},
		"a null scalar":     {"it is not 0", reads, 200, data("scalar", `[1790000000,null]`), true, "not what was expected"},
		"a range":           {"a rate is missing", reads, 200, data("matrix", "[]"), true, "gives a matrix"},
		"two series":        {"which of them?", reads, 200, data("vector", `[{"metric":{"a":"1"},"value":[1,"2"]},{"metric":{},"value":[1,"2"]}]`), true, "gives 2 series"},
		"nothing":           {"it may come", reads, 200, data("vector", "[]"), false, "none of the queries"},
		"odd values":        {"it is no Prometheus", reads, 200, data("vector", `[{"metric":{},"value":5}]`), true, "not what was expected"},
		"null":              {"it is no Prometheus", reads, 200, data("vector", `[null]`), true, "null"},
		"odd time":          {"nobody was born", reads, 200, data("vector", `[{"metric":{},"value":[-1,"2"]}]`), false, "none of the queries"},
		"nameless node":     {"it cannot be told from others", cpu, 200, data("vector", `[{"metric":{},"value":[1,"2"]}]`), true, "avg by (node)"},
		"one node twice":    {"cores were not averaged", cpu, 200, data("vector", `[{"metric":{"node":"a","cpu":"0"},"value":[1,"2"]},{"metric":{"node":"a","cpu":"1"},"value":[1,"2"]}]`), true, "node a twice"},
		"cores in all":      {"a share is 100 at most", cpu, 200, data("vector", `[{"metric":{"node":"a"},"value":[1,"350"]}]`), true, "350 for node a"},
		"Harvest is away":   {"it may come", nil, 200, data("matrix", "[]"), false, "no series match"},
		"no matrix":         {"it is no Prometheus", nil, 200, data("vector", "[]"), true, "no range"},
		"odd matrix":        {"it is no Prometheus", nil, 200, data("matrix", `{}`), true, "not what was expected"},
		"two data centers":  {"which of them?", nil, 200, data("matrix", `[{"metric":{"datacenter":"a"},"values":[]},{"metric":{"datacenter":"b"},"values":[]}]`), false, "two data centers"},
		"somewhere else":    {"nobody else's counters", nil, 302, "", true, "redirects"},
		"no such user":      {"credentials are wrong", nil, 401, "no such token " + secret, true, "401"},
		"endless answer":    {"bodies are bounded", nil, 200, strings.Repeat(" ", 17<<20), true, "longer than"},
		"a matrix too wide": {"series are bounded", nil, 200, data("matrix", "["+strings.TrimSuffix(strings.Repeat(`{"metric":{},"values":[]},`, 10001), ",")+"]"), true, "more than 10000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			src := runfile.Source{URL: serve(t, says(tc.status, tc.body)), Queries: tc.queries, Labels: map[string]string{"cluster": "c1"}}
			s, err := prometheus.New(src, rest.Credentials{Token: secret}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Sample(t.Context())
			if err == nil || storage.IsPermanent(err) != tc.permanent || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%s: %v, permanent %v", tc.reason, err, storage.IsPermanent(err))
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}

func TestTheSameMomentIsAskedOfAllQueries(t *testing.T) {
	var times []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		times = append(times, r.URL.Query().Get("time"))
		says(200, data("vector", `[{"metric":{"node":"a"},"value":[1790000000.123,"NaN"]}]`))(w, r)
	})
	got := storagetest.Sample(t, source(t, runfile.Source{URL: url, Queries: map[string]string{"readBytes": "x", "readOperations": "x", "nodeCPUPercent": "x"}}))
	if strings.Join(times, " ") != " 1790000000.123 1790000000.123" {
		t.Errorf("asked for %q", times)
	}
	if !got.Time.Equal(time.UnixMilli(1790000000123)) || got.ReadOps != nil || got.Nodes != nil {
		t.Errorf("what is no number is not known: %+v", got)
	}
}

// TestFewSeriesAreComparedWithEachOther: 10,000 that differ in their reader only took minutes of each sample.
func TestFewSeriesAreComparedWithEachOther(t *testing.T) {
	var all []string
	for i := range 65 {
		all = append(all, fmt.Sprintf(
			`{"metric":{"__name__":"node_avg_processor_busy","node":"a","instance":"i%d"},"values":[[1,"10"],[4,"10"]]}`, i))
	}
	for _, n := range []int{64, 65} {
		url := serve(t, says(200, data("matrix", "["+strings.Join(all[:n], ",")+"]")))
		_, err := source(t, runfile.Source{URL: url, Labels: map[string]string{"cluster": "c1"}}).Sample(t.Context())
		if (err == nil) != (n == 64) {
			t.Errorf("%d series: %v", n, err)
		}
	}
}

func TestTheBusiestDomainIsOnlyTakenWhereThereIsNoMean(t *testing.T) {
	mean := `{"metric":{"__name__":"node_avg_processor_busy","node":"a"},"values":[[1,"10"],[4,"10"]]}`
	busiest := `{"metric":{"__name__":"node_cpu_busy","node":"a"},"values":[[1,"80"],[3,"80"]]}`
	body := data("matrix", "["+busiest+"]")
	s := source(t, runfile.Source{URL: serve(t, func(w http.ResponseWriter, r *http.Request) { says(200, body)(w, r) }), Labels: map[string]string{"cluster": "c1"}})
	if n := storagetest.Sample(t, s).Nodes[0]; *n.BusyMicroseconds != 1.6e6 {
		t.Errorf("node %+v", n)
	}
	body = data("matrix", "["+mean+","+busiest+"]")
	if n := storagetest.Sample(t, s).Nodes[0]; *n.BusyMicroseconds != 1.6e6 || *n.BaseMicroseconds != 2e6 {
		t.Errorf("they are two numbers, and one source gives one: %v of %v", *n.BusyMicroseconds, *n.BaseMicroseconds)
	}
}

func TestCredentialsGoWhereTheyBelong(t *testing.T) {
	var got string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got = r.Header.Get("Authorization"); !strings.Contains(got, "second") && !strings.HasPrefix(got, "Basic") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		says(200, data("scalar", `[1790000000,"2"]`))(w, r)
	})
	src := runfile.Source{URL: url, Queries: map[string]string{"readBytes": "x"}}
	ask := func(cred rest.Credentials) error {
		s, err := prometheus.New(src, cred, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Sample(t.Context())
		return err
	}
	if err := ask(rest.Credentials{Username: "u", Password: "p"}); err != nil || got != "Basic dTpw" {
		t.Errorf("%q, %v", got, err)
	}
	dir := t.TempDir()
	write := func(token string) {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	cred, err := rest.ReadCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	write("second")
	if err := ask(cred); err != nil || got != "Bearer second" {
		t.Errorf("a token that was exchanged is read again: %q, %v", got, err)
	}
}

func TestASlowPrometheusEndsWithTheContext(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := source(t, runfile.Source{URL: url, Labels: map[string]string{"cluster": "c"}}).Sample(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || storage.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	const url = "http://10.0.0.7:9090"
	cases := map[string]runfile.Source{
		"neither":       {URL: url},
		"no cluster":    {URL: url, Labels: map[string]string{"svm": "s"}},
		"odd label":     {URL: url, Labels: map[string]string{"cluster": "c", `a="b",c`: "d"}},
		"unknown query": {URL: url, Queries: map[string]string{"latency": "x"}},
		"empty query":   {URL: url, Queries: map[string]string{"readBytes": " "}},
		"a password":    {URL: "http://u:" + secret + "@10.0.0.7", Labels: map[string]string{"cluster": "c"}},
		"no URL":        {Labels: map[string]string{"cluster": "c"}},
	}
	for name, src := range cases {
		_, err := prometheus.New(src, rest.Credentials{}, time.Now)
		if err == nil || !storage.IsPermanent(err) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two series of one thing are one only where they do not meet, or are two scrapes of the same values.
func TestNoSeriesIsLostBehindAnother(t *testing.T) {
	series := func(labels string, samples ...string) string {
		return `{"metric":{"__name__":` + labels + `},"values":[` + strings.Join(samples, ",") + `]}`
	}
	const read, lif, cpu = `"volume_read_data","node":`, `"lif_sent_data","lif":"l","port":`, `"node_cpu_busy","node":"n","job":`
	for name, c := range map[string]struct{ first, second, says string }{
		"members of a volume": {
			series(read+`"a"`, `[60,"7"]`, `[120,"7"]`), series(read+`"b"`, `[60,"9"]`, `[120,"9"]`),
			"volume_read_data give one thing at one time, and are not the same (labels that differ: node)",
		},
		"members that are equal": {series(read+`"a"`, `[60,"7"]`), series(read+`"b"`, `[60,"7"]`), "differ: node"},
		"aggregates of one node": {series(read+`"a","aggr":"x"`, `[60,"7"]`), series(read+`"a","aggr":"y"`, `[60,"7"]`), "differ: aggr"},
		"members of two pollers": {series(read+`"a"`, `[60,"7"]`, `[120,"7"]`), series(read+`"b"`, `[67,"9"]`, `[127,"9"]`), "differ: node"},
		"first scrapes of both":  {series(read+`"a"`, `[60,"7"]`), series(read+`"b"`, `[60.25,"9"]`), "differ: node"},
		"a volume that moved":    {series(read+`"a"`, `[60,"7"]`), series(read+`"b"`, `[120,"9"]`), ""},
		"scraped often, moved":   {series(read+`"a"`, `[60,"7"]`, `[61,"7"]`), series(read+`"b"`, `[62,"9"]`), ""},
		"a takeover and giveback": {
			series(read+`"a"`, `[60,"7"]`, `[120,"7"]`, `[300,"7"]`, `[360,"7"]`), series(read+`"b"`, `[180,"9"]`, `[240,"9"]`), "",
		},
		"a long takeover": {series(read+`"a"`, `[60,"7"]`, `[300,"7"]`), series(read+`"b"`, `[120,"9"]`, `[180,"9"]`, `[240,"9"]`), ""},
		"members, one with a gap": {
			series(read+`"a"`, `[60,"7"]`, `[120,"7"]`, `[300,"7"]`), series(read+`"b"`, `[67,"9"]`, `[127,"9"]`, `[187,"9"]`), "differ: node",
		},
		"a LIF":                   {series(lif+`"p"`, `[60,"7"]`), series(lif+`"q"`, `[60,"9"]`), "lif_sent_data"},
		"jobs that differ":        {series(cpu+`"p"`, `[60,"7"]`), series(cpu+`"q"`, `[60,"9"]`), "differ: job"},
		"soon after the other":    {series(cpu+`"p"`, `[60,"7"]`), series(cpu+`"q"`, `[61,"90"]`), "differ: job"},
		"in turn":                 {series(cpu+`"p"`, `[60,"7"]`, `[120,"7"]`), series(cpu+`"q"`, `[61,"90"]`, `[121,"90"]`), "differ: job"},
		"a value of one job only": {series(cpu+`"p"`, `[60,"7"]`, `[70,"8"]`, `[80,"7"]`), series(cpu+`"q"`, `[61,"7"]`, `[79,"7"]`), "differ: job"},
		"jobs that agree":         {series(cpu+`"p"`, `[60,"7"]`, `[120,"7"]`), series(cpu+`"q"`, `[60,"7"]`, `[120,"NaN"]`), ""},
		"a value not yet read":    {series(cpu+`"p"`, `[60,"7"]`, `[120,"7"]`), series(cpu+`"q"`, `[61,"7"]`, `[121,"8"]`), ""},
		"the same value later":    {series(cpu+`"p"`, `[60,"7"]`, `[120,"8"]`), series(cpu+`"q"`, `[71,"8"]`, `[131,"8"]`), ""},
		"replicas that agree": {
			series(cpu+`"p","prometheus_replica":"x","replica":"0"`, `[60,"7"]`, `[120,"8"]`),
			series(cpu+`"p","prometheus_replica":"y","replica":"1"`, `[60,"7"]`, `[120,"8"]`), "",
		},
		"replicas that differ": {
			series(cpu+`"p","replica":"0"`, `[60,"7"]`, `[120,"8"]`), series(cpu+`"p","replica":"1"`, `[60,"7"]`, `[120,"9"]`), "differ: replica",
		},
		"a rolling restart": {
			series(cpu+`"p","instance":"i","pod":"x"`, `[60,"7"]`, `[120,"8"]`),
			series(cpu+`"p","instance":"j","pod":"y"`, `[97,"8"]`, `[157,"9"]`), "",
		},
		"a restart elsewhere": {
			series(cpu+`"p","namespace":"m","service":"h","endpoint":"e","container":"c"`, `[60,"7"]`, `[120,"8"]`),
			series(cpu+`"p","namespace":"n","service":"i","endpoint":"f","container":"d"`, `[97,"8"]`, `[157,"9"]`), "",
		},
		"an exporter that moved": {
			series(cpu+`"p","instance":"i"`, `[60,"7"]`, `[120,"7"]`), series(cpu+`"p","instance":"j"`, `[180,"90"]`), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, both := range []string{c.first + "," + c.second, c.second + "," + c.first} {
				labels := map[string]string{"cluster": "c", "svm": "s", "volume": "v"}
				s := source(t, runfile.Source{URL: serve(t, says(200, data("matrix", "["+both+"]"))), Labels: labels})
				_, err := s.Sample(t.Context())
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Error(err)
				}
			}
		})
	}
}

// The window of five minutes moves on over both changes of the node.
func TestATakeoverAndGivebackIsNoErrorInAnyWindow(t *testing.T) {
	for step, last := range map[int]int{60: 5, 100: 4} { // the last scrape of the other node
		t.Run(strconv.Itoa(step), func(t *testing.T) {
			var now int // the newest scrape
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				samples := map[string][]string{}
				for at := max(1, now-300/step+1); at <= now; at++ {
					node := "a"
					if at >= 4 && at <= last {
						node = "b"
					}
					samples[node] = append(samples[node], fmt.Sprintf(`[%d,"7"]`, at*step))
				}
				var all []string
				for node, s := range samples {
					all = append(all, `{"metric":{"__name__":"volume_read_data","node":"`+node+`"},"values":[`+strings.Join(s, ",")+`]}`)
				}
				says(200, data("matrix", "["+strings.Join(all, ",")+"]"))(w, r)
			})
			s := source(t, runfile.Source{URL: url, Labels: map[string]string{"cluster": "c", "svm": "s", "volume": "v"}})
			for now = 1; now < 11; now++ {
				storagetest.Sample(t, s)
			}
		})
	}
}

// Where scrapes are minutes apart, one answer may hold one sample of each of two series.
func TestSeriesThatMetBeforeAreTwo(t *testing.T) {
	one := func(node string, samples string) string {
		return `{"metric":{"__name__":"volume_read_data","node":"` + node + `"},"values":[` + samples + `]}`
	}
	answer := one("a", `[180,"7"]`)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { says(200, data("matrix", "["+answer+"]"))(w, r) })
	s := source(t, runfile.Source{URL: url, Labels: map[string]string{"cluster": "c", "svm": "s", "volume": "v"}})
	storagetest.Sample(t, s)
	answer = one("a", `[180,"7"]`) + "," + one("b", `[270,"9"]`)
	storagetest.Sample(t, s) // as if it had moved
	for _, now := range []string{
		one("a", `[180,"7"],[360,"7"]`) + "," + one("b", `[270,"9"]`),
		one("a", `[360,"7"]`) + "," + one("b", `[450,"9"]`),
	} {
		answer = now
		if _, err := s.Sample(t.Context()); err == nil || !strings.Contains(err.Error(), "differ: node") {
			t.Error(err)
		}
	}
}
