package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

// apiServer answers as a real API server does what the fake client cannot: what
// kinds there are, and who may do what.
type apiServer struct {
	mu       sync.Mutex
	answers  map[string]any // by path; a string is answered as 403 with that message
	requests []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.String())
	answer, ok := s.answers[r.URL.Path]
	switch text := answer.(type) {
	case nil:
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "404 page not found")
		}
	case string:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": text})
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(text)
	}
}

// resources is what discovery reports about a version.
func resources(version string, kinds map[string]string) map[string]any {
	var list []any
	for plural, kind := range kinds {
		list = append(list, map[string]any{"name": plural, "kind": kind, "namespaced": true, "verbs": []string{"get", "list", "patch", "create"}})
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list}
}

func objectOf(t *testing.T, kind string, o any) map[string]any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	m["kind"] = kind
	return m
}

// onServer is the program with the flags and the client that people use, on this server.
func onServer(t *testing.T, s *apiServer, args ...string) outcome {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: secret-token}}]
contexts:
- {name: one, context: {cluster: c, user: u, namespace: bench}}
- {name: two, context: {cluster: c, user: u, namespace: other}}
current-context: one
`, server.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newApp()
	a.every = time.Millisecond
	var out, errOut bytes.Buffer
	code := a.execute(t.Context(), append(args, "--kubeconfig", config), strings.NewReader(""), &out, &errOut)
	if strings.Contains(out.String()+errOut.String(), "secret-token") {
		t.Errorf("the token is shown: %s %s", out.String(), errOut.String())
	}
	return outcome{code, out.String(), errOut.String()}
}

func withCRDs() *apiServer {
	return &apiServer{answers: map[string]any{
		"/api": map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{map[string]any{
			"name": "nfsbench.io", "versions": []any{map[string]any{"groupVersion": "nfsbench.io/v1alpha1", "version": "v1alpha1"}},
			"preferredVersion": map[string]any{"groupVersion": "nfsbench.io/v1alpha1", "version": "v1alpha1"},
		}}},
		"/apis/nfsbench.io/v1alpha1": resources("nfsbench.io/v1alpha1", map[string]string{"nfsbenchmarks": "NFSBenchmark", "nfsbenchmarksuites": "NFSBenchmarkSuite"}),
		"/api/v1":                    resources("v1", map[string]string{"pods": "Pod", "configmaps": "ConfigMap"}),
	}}
}

func TestWithoutTheOperatorAllCommandsSayHowToInstallIt(t *testing.T) {
	t.Parallel()
	bare := &apiServer{answers: map[string]any{
		"/api": map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}, "/apis": map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}},
	}}
	for _, args := range [][]string{{"watch", "x"}, {"report", "suite/x"}, {"run", "x", "--claim", "c"}} {
		onServer(t, bare, args...).mustEnd(t, cli.ExitFailed).mustSay(t, "this cluster does not know nfsbench.io/v1alpha1: install the operator with 'helm install")
	}
}

func TestTheRightThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	s := withCRDs()
	s.answers["/apis/nfsbench.io/v1alpha1/namespaces/bench/nfsbenchmarks/demo"] = `nfsbenchmarks.nfsbench.io "demo" is forbidden: User "u" cannot get resource "nfsbenchmarks" in API group "nfsbench.io" in the namespace "bench"`
	onServer(t, s, "watch", "demo").mustEnd(t, cli.ExitFailed).mustSay(t, `you may not get nfsbenchmarks.nfsbench.io in namespace "bench": ask for a role with the verb get`)
	onServer(t, &apiServer{}, "watch", "x", "--server", "http://127.0.0.1:1").mustEnd(t, cli.ExitFailed).mustSay(t, "the cluster does not answer: dial tcp 127.0.0.1:1")
	onServer(t, s, "watch", "x", "--context", "three").mustEnd(t, cli.ExitBadInput).mustSay(t, "no such context", "three", "kubectl config get-contexts")
}

func TestTheFlagsOfKubectlChooseTheNamespace(t *testing.T) {
	t.Parallel()
	s := withCRDs()
	for _, args := range [][]string{{"report", "x"}, {"report", "x", "--context", "two"}, {"report", "x", "-n", "three"}} {
		onServer(t, s, args...).mustEnd(t, cli.ExitBadInput)
	}
	all := strings.Join(s.requests, "\n")
	for _, namespace := range []string{"bench", "other", "three"} {
		if !strings.Contains(all, "GET /apis/nfsbench.io/v1alpha1/namespaces/"+namespace+"/nfsbenchmarks/x") {
			t.Errorf("namespace %s was not asked:\n%s", namespace, all)
		}
	}
}

func TestNewObjectsGoToTheServerAsTheyShould(t *testing.T) {
	t.Parallel()
	s := withCRDs()
	const path = "/apis/nfsbench.io/v1alpha1/namespaces/bench/nfsbenchmarks"
	s.answers[path] = objectOf(t, "NFSBenchmark", gen.Benchmark("demo"))
	onServer(t, s, "run", "demo", "--claim", "data", "--dry-run=server").mustEnd(t, cli.ExitOK)
	if all := strings.Join(s.requests, "\n"); !strings.Contains(all, "POST "+path+"?dryRun=All&fieldValidation=Strict") {
		t.Errorf("no object was posted in\n%s", all)
	}
}
