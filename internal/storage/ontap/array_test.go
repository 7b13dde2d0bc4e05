package ontap_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	user = "benchaccount"
	pass = `Pa"ss  w0rd`
	uuid = "028baa66-41bd-11e9-81d5-00a0986138f7"
)

// array answers as it was told to. It knows nothing of ONTAP but who may sign in.
type array struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	pass    string
	answers map[string]http.HandlerFunc // by path
	asked   []string                    // path and decoded query
}

func newArray(t *testing.T) *array {
	t.Helper()
	a := &array{t: t, pass: pass, answers: map[string]http.HandlerFunc{}}
	a.Server = httptest.NewUnstartedServer(a)
	a.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that a test breaks off
	a.StartTLS()
	t.Cleanup(a.Close)
	a.say("/api/cluster", 200, `{"name":"naclu1","version":{"full":"NetApp Release 9.14.1: Thu","generation":9,"major":14,"minor":1}}`)
	a.say("/api/cluster/nodes", 200, records(nodeJSON("b", 200, 2000), nodeJSON("a", 100, 1000)))
	a.say("/api/network/ip/interfaces", 200, records(lifJSON("lif_b", "10.0.2.61", "b", "a"), lifJSON("lif_a", "10.0.1.61", "a", "a")))
	a.say("/api/storage/aggregates", 200, records(`{"name":"aggr_a","node":{"name":"a"}}`, `{"name":"aggr_b","node":{"name":"b"}}`))
	a.say("/api/storage/volumes", 200, records(volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1000)))
	a.say("/api/storage/volumes/"+uuid, 200, volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1000))
	a.say("/api/protocols/nfs/services", 200, records(`{"enabled":true,"state":"online","protocol":{"v3_enabled":true,"v40_enabled":false,
		"v41_enabled":true,"v41_features":{"pnfs_enabled":false}},"transport":{"tcp_max_transfer_size":65536}}`))
	a.say(rulesPath, 200, records(
		`{"index":2,"clients":[{"match":"10.0.0.0/8"},{"match":"@hosts"}],"protocols":["nfs"],"ro_rule":["any"],"rw_rule":["sys"],"superuser":["none"]}`,
		`{"index":1,"clients":[{"match":"10.9.9.9"}],"protocols":["any"],"ro_rule":["never"],"rw_rule":["never"],"superuser":["never"]}`))
	return a
}

// rulesPath has the rules of the export policy of the volume.
const rulesPath = "/api/protocols/nfs/export-policies/12884901889/rules"

func records(all ...string) string {
	return fmt.Sprintf(`{"records":[%s],"num_records":%d}`, strings.Join(all, ","), len(all))
}

func nodeJSON(name string, raw, base int64) string {
	return fmt.Sprintf(`{"name":%q,"state":"up","model":"FAS8300","statistics":{"status":"ok","timestamp":"2026-01-01T00:00:14Z",
		"processor_utilization_raw":%d,"processor_utilization_base":%d}}`, name, raw, base)
}

func lifJSON(name, address, node, home string) string {
	return fmt.Sprintf(`{"name":%q,"enabled":true,"state":"up","ip":{"address":%q,"netmask":"24","family":"ipv4"},
		"location":{"node":{"name":%q},"home_node":{"name":%q},"is_home":%t},
		"statistics":{"status":"ok","timestamp":"2026-01-01T00:00:13Z","throughput_raw":{"read":5000,"write":6000,"total":11000}}}`,
		name, address, node, home, node == home)
}

func volumeJSON(aggr, at, status string, ops int64) string {
	return fmt.Sprintf(`{"uuid":%q,"name":"vol1","svm":{"name":"svm1"},"style":"flexvol","state":"online","size":1073741824,
		"space":{"available":536870912},"aggregates":[{"name":%q}],"nas":{"path":"/vol1","export_policy":{"name":"default","id":12884901889}},
		"statistics":{"timestamp":%q,"status":%q,"iops_raw":{"read":%d,"write":%d,"other":7,"total":%d},
		"latency_raw":{"read":11,"write":12,"other":13,"total":36},"throughput_raw":{"read":21,"write":22,"other":0,"total":43}}}`,
		uuid, aggr, at, status, ops, ops+1, 2*ops+8)
}

// say makes path answer so from now on.
func (a *array) say(path string, status int, body string) {
	a.answer(path, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func (a *array) answer(path string, h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[path] = h
}

func (a *array) setPassword(p string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pass = p
}

func (a *array) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	h, pass := a.answers[r.URL.Path], a.pass
	q, _ := url.QueryUnescape(r.URL.RawQuery)
	a.asked = append(a.asked, r.Method+" "+r.URL.Path+"?"+q)
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/hal+json")
	if u, p, _ := r.BasicAuth(); u != user || p != pass {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "User is not authorized: " + u + "/" + p, "code": "6691623"}})
		return
	}
	if h == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"message":"entry doesn't exist","code":4}}`))
		return
	}
	h(w, r)
}

// requests returns what was asked of path since the last call of forget.
func (a *array) requests(path string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.asked), func(s string) bool { return !strings.Contains(s, path+"?") })
}

func (a *array) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = nil
}

const forbidden = `{"error":{"message":"not authorized for that command","code":"6"}}`

func (a *array) source(change ...func(*runfile.Source)) *ontap.Source {
	a.t.Helper()
	return a.sourceWith(rest.Credentials{Username: user, Password: pass}, time.Now, change...)
}

// sourceAt has a clock that a test moves.
func (a *array) sourceAt(now *time.Time) *ontap.Source {
	a.t.Helper()
	return a.sourceWith(rest.Credentials{Username: user, Password: pass}, func() time.Time { return *now })
}

func (a *array) sourceWith(cred rest.Credentials, now func() time.Time, change ...func(*runfile.Source)) *ontap.Source {
	a.t.Helper()
	src := runfile.Source{
		Kind: runfile.SourceONTAP, Name: "array", URL: a.URL, SVM: "svm1", Volume: "vol1",
		CABundle: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})),
	}
	for _, f := range change {
		f(&src)
	}
	s, err := ontap.New(src, cred, now)
	if err != nil {
		a.t.Fatal(err)
	}
	ontap.Quicken(s)
	return s
}

// noSecret fails if err shows what only a Secret may hold.
func noSecret(t *testing.T, err error) {
	t.Helper()
	for _, s := range []string{user, pass, "w0rd"} {
		if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), s) {
			t.Errorf("the error shows %q: %v", s, err)
		}
	}
}
