// Package vendors holds what the sources of storage ask of an array, and what the stand-ins of the tests answer,
// against the client libraries of the vendors.
package vendors

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/flashblade"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	fb "github.com/nfsbench/nfsbench/test/flashblade"
	standin "github.com/nfsbench/nfsbench/test/lab/ontap"
)

// libraries names the folder with the client libraries.
const libraries = "NFSBENCH_VENDORS"

// idle is an array whose counters stand still, and that moves volumes at once.
type idle struct{}

func (idle) Node(string) standin.NodeCounters {
	return standin.NodeCounters{BusyMicros: 1, BaseMicros: 2}
}
func (idle) LIF(string) standin.LIFCounters       { return standin.LIFCounters{} }
func (idle) Volume(string) standin.VolumeCounters { return standin.VolumeCounters{} }
func (idle) Clients() []standin.Client {
	return []standin.Client{{ClientIP: "10.0.0.1", ServerIP: "192.0.2.11", Volume: "vol1", Protocol: "nfs3"}}
}
func (idle) Move(ctx context.Context, _, _ string) error { return ctx.Err() }

// exchange is one request and its answer.
type exchange struct {
	Array  string `json:"array"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Sent   string `json:"sent"`
	Status int    `json:"status"`
	Answer string `json:"answer"`
}

// recorder writes what goes through it.
type recorder struct {
	mu  sync.Mutex
	out *json.Encoder
}

// between gives the URL and the certificate of a proxy that records what goes to an array.
func (r *recorder) between(t *testing.T, array, at string) (address, certificate string) {
	t.Helper()
	target, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a stand-in of this test
	proxy.ModifyResponse = func(a *http.Response) error {
		body, err := io.ReadAll(a.Body)
		a.Body = io.NopCloser(bytes.NewReader(body))
		sent, _ := a.Request.Context().Value(r).(string)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil {
			err = r.out.Encode(exchange{array, a.Request.Method, a.Request.URL.RequestURI(), sent, a.StatusCode, string(body)})
		}
		return err
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, q.WithContext(context.WithValue(q.Context(), r, string(body))))
	}))
	t.Cleanup(server.Close)
	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func askONTAP(t *testing.T, r *recorder) {
	t.Helper()
	model := standin.Model{
		Cluster: "naclu1", SVM: "svm1",
		Nodes:      []standin.Node{{Name: "a", Model: "FAS3170"}, {Name: "b", Model: "FAS3170"}},
		Aggregates: []standin.Aggregate{{Name: "aggr_a", Node: "a"}, {Name: "aggr_b", Node: "b"}},
		LIFs:       []standin.LIF{{Name: "lif_a", Address: "192.0.2.11", Prefix: 24, HomeNode: "a"}},
		Volumes:    []standin.Volume{{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_a"}, SizeBytes: 1 << 30, ExportPolicy: "bench", QoSPolicy: "gold"}},
		Qtrees:     []standin.Qtree{{Name: "q1", Volume: "vol1", ExportPolicy: "bench"}},
		NFS:        standin.NFSService{Enabled: true, V3: true, V41: true, TransferSizeBytes: 65536},
		Policies: []standin.ExportPolicy{{Name: "bench", Rules: []standin.Rule{
			{Index: 1, Clients: []string{"10.0.0.0/8"}, Protocols: []string{"nfs3"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"sys"}, SuperUser: []string{"none"}},
		}}},
		QoS:      []standin.QoSPolicy{{Name: "gold", MaxIOPS: 1000, MaxMegabytes: 10}},
		Accounts: []standin.Account{standin.Admin("admin", "x"), standin.SVMAdmin("vsadmin", "x", "svm1")},
	}
	s := standin.New(standin.Options{Truth: idle{}, Model: model})
	t.Cleanup(s.Close)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, _, err := s.StartTLS(l)
	if err != nil {
		t.Fatal(err)
	}
	address, certificate := r.between(t, "ontap", at)
	for _, user := range []string{"admin", "vsadmin"} { // of the cluster, and of the SVM
		src := runfile.Source{Kind: runfile.SourceONTAP, Name: "array", URL: address, SVM: "svm1", CABundle: certificate}
		for _, src.Volume = range []string{"vol1", ""} { // by its name, and by its junction
			a, err := ontap.New(src, rest.Credentials{Username: user, Password: "x"}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			survey(t, a, "/vol1/q1")
			if _, err := a.Move(t.Context(), "/vol1", "aggr_b", nil); err != nil && user == "admin" {
				t.Error(err)
			}
		}
	}
}

func askFlashBlade(t *testing.T, r *recorder) {
	t.Helper()
	s := fb.New(time.Now())
	t.Cleanup(s.Close)
	address, certificate := r.between(t, "flashblade", s.URL())
	a, err := flashblade.New(runfile.Source{Kind: runfile.SourceFlashBlade, Name: "array", URL: address, CABundle: certificate, Volume: "fs1"},
		rest.Credentials{Token: fb.Token}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	survey(t, a, "/fs1")
	s.Pass(1, fb.Second{Reads: 1})
	if _, err := a.Sample(t.Context()); err != nil { // since the last one
		t.Error(err)
	}
	s.Put("/file-systems", fb.FileSystem("fs2"))
	if _, err := a.Survey(t.Context(), "/fs1"); err == nil {
		t.Error("a file system that is not there was surveyed")
	}
	if err := storage.Close(a); err != nil {
		t.Error(err)
	}
}

// survey asks all that is asked before a run, and what is asked during it.
func survey(t *testing.T, a storage.Surveyor, export string) {
	t.Helper()
	s, err := a.Survey(t.Context(), export)
	if err != nil || len(s.Rules) == 0 {
		t.Errorf("survey: rules %+v, %v", s.Rules, err)
	}
	if _, err := a.Sample(t.Context()); err != nil {
		t.Error(err)
	}
}

// checked holds the exchanges that ask makes against the libraries and returns what the check prints.
func checked(t *testing.T, ask func(*testing.T, *recorder)) (string, error) {
	t.Helper()
	folder := os.Getenv(libraries)
	if folder == "" {
		t.Skip(libraries + " names no folder: export " + libraries + "=$(hack/lab/vendors.sh)")
	}
	path := filepath.Join(t.TempDir(), "recorded.json")
	file, err := os.Create(path) //nolint:gosec // below a folder of this test
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{out: json.NewEncoder(file)}
	ask(t, r)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("check.py") // so that the go command knows what the outcome depends on
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), "python3", "-", path)
	check.Stdin = bytes.NewReader(script)
	check.Env = append(os.Environ(), "PYTHONPATH="+folder)
	out, err := check.CombinedOutput()
	t.Logf("%s", out)
	return string(out), err
}

// TestTheVendorsKnowWhatIsAskedAndAnswered: paths, parameters and their values; names, types and values of fields that
// are asked for, sent and answered, errors included.
func TestTheVendorsKnowWhatIsAskedAndAnswered(t *testing.T) {
	if _, err := checked(t, func(t *testing.T, r *recorder) {
		t.Helper()
		askONTAP(t, r)
		askFlashBlade(t, r)
	}); err != nil {
		t.Error(err)
	}
}

func TestWhatTheVendorsDoNotKnowIsFound(t *testing.T) {
	const volume, systems = "/api/storage/volumes/1", "/api/2.29/file-systems"
	wrong := map[string]exchange{
		"ontap: path: /api/colours":                                           {"ontap", "GET", "/api/colours", "", 200, `{}`},
		"ontap: query: colour red":                                            {"ontap", "GET", "/api/storage/volumes?colour=red", "", 200, `{"records":[]}`},
		"ontap: query: is_svm_root maybe":                                     {"ontap", "GET", "/api/storage/volumes?is_svm_root=maybe", "", 200, `{"records":[]}`},
		"ontap: query: svm x":                                                 {"ontap", "GET", "/api/storage/volumes?svm=x", "", 200, `{"records":[]}`},
		"ontap: field asked for: colour":                                      {"ontap", "GET", "/api/storage/volumes?fields=name,colour", "", 200, `{"records":[]}`},
		"ontap: sent: movement.colour":                                        {"ontap", "PATCH", volume, `{"movement":{"colour":"red"}}`, 202, `{"job":{"uuid":"1"}}`},
		"ontap: sent type: movement.percent_complete 5":                       {"ontap", "PATCH", volume, `{"movement":{"percent_complete":"5"}}`, 202, `{"job":{"uuid":"1"}}`},
		`ontap: sent value: {"state"`:                                         {"ontap", "PATCH", volume, `{"state":"odd"}`, 202, `{"job":{"uuid":"1"}}`},
		"ontap: job: state":                                                   {"ontap", "PATCH", volume, "", 202, `{"job":{"state":"queued"}}`},
		"ontap: error type: code 4":                                           {"ontap", "GET", volume, "", 404, `{"error":{"message":"no","code":4}}`},
		"ontap: answered type: size 5":                                        {"ontap", "GET", volume, "", 200, `{"size":"5"}`},
		"flashblade: query: FB_2_29 file-systems colour red":                  {"flashblade", "GET", systems + "?colour=red", "", 200, `{"items":[]}`},
		"flashblade: query: FB_2_29 file-systems/performance protocol FTP":    {"flashblade", "GET", systems + "/performance?protocol=FTP", "", 200, `{"items":[]}`},
		"flashblade: query: FB_2_29 file-systems/performance resolution 1s":   {"flashblade", "GET", systems + "/performance?resolution=1s", "", 200, `{"items":[]}`},
		"flashblade: sent: FB_2_29 file-systems colour":                       {"flashblade", "PATCH", systems + "?names=a", `{"colour":"red"}`, 200, `{"items":[]}`},
		"flashblade: sent value: FB_2_29 file-systems 1 validation error":     {"flashblade", "PATCH", systems + "?names=b", `{"provisioned":"5"}`, 200, `{"items":[]}`},
		"flashblade: answered: FB_2_29 file-systems errors.colour":            {"flashblade", "GET", systems, "", 400, `{"errors":[{"colour":"red"}]}`},
		"flashblade: answered value: FB_2_29 file-systems 1 validation error": {"flashblade", "GET", systems, "", 200, `{"items":[{"destroyed":"no"}]}`},
	}
	out, err := checked(t, func(t *testing.T, r *recorder) {
		t.Helper()
		for _, e := range wrong {
			if err := r.out.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err == nil {
		t.Error("nothing was found")
	}
	for what := range wrong {
		if !strings.Contains(out, "not in the library: "+what) {
			t.Errorf("%s: not found", what)
		}
	}
}
