package deliver

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// ended is a benchmark of two clients that has ended and is cleaned up, and its result.
func ended(name string, verdict bench.Verdict) (*v1alpha1.NFSBenchmark, *corev1.ConfigMap) {
	at := metav1.NewTime(noon.Add(-time.Minute))
	b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: types.UID("uid-" + name)}}
	b.Spec.Clients = 2
	b.Status = v1alpha1.NFSBenchmarkStatus{
		Phase: v1alpha1.PhaseSucceeded, Verdict: verdict, CompletionTime: &at, Message: "900 MB/s <at> most",
		ResultRef:  &v1alpha1.ResultReference{Name: name + "-result"},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionTrue}},
	}
	return b, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name + "-result"},
		BinaryData: map[string][]byte{
			runfile.ResultKey(0): []byte("first"), runfile.ResultKey(1): []byte("second"), "of-a-stranger": []byte("x"),
		},
	}
}

// suite has a run that regressed, one that broke and one under way.
func suite() (*v1alpha1.NFSBenchmarkSuite, *corev1.ConfigMap) {
	s := &v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", UID: "s"}}
	at := metav1.NewTime(noon.Add(-time.Hour))
	s.Status.History = []v1alpha1.SuiteHistoryEntry{
		{Run: "nightly-3", Phase: v1alpha1.SuiteSucceeded, CompletionTime: &at}, // its verdict is to come
		{Run: "nightly-2", Phase: v1alpha1.SuiteSucceeded, Verdict: v1alpha1.SuiteRegressed, CompletionTime: &at},
		{Run: "nightly-1", Phase: v1alpha1.SuiteFailed, Verdict: v1alpha1.SuiteFail, CompletionTime: &at},
	}
	return s, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly-2-record"},
		BinaryData: map[string][]byte{runfile.KeySuiteRun: []byte("record")},
	}
}

// cluster has some objects.
func cluster(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// courier brings what is in a cluster to where send sends it.
func courier(c client.Client, send func(context.Context, Run) error) (*Courier, *events.FakeRecorder) {
	said := events.NewFakeRecorder(100)
	return New(Options{
		Send: send, Cache: c, Writer: c, Recorder: said, Clock: testclock.NewFakeClock(noon), Suites: true,
	}), said
}

// mounted is a Secret as the kubelet mounts it.
func mounted(t *testing.T, keys map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for key, value := range keys {
		if err := os.WriteFile(filepath.Join(dir, key), []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// objects are what an S3 server was given, by path.
type objects struct {
	mu  sync.Mutex
	put map[string]string
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPut || !strings.Contains(r.Header.Get("Authorization"), "Credential=id/") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put[strings.TrimPrefix(r.URL.Path, "/results/")] = string(data)
}

// taken are the objects that came since the last call, by key.
func (o *objects) taken() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.put
	o.put = map[string]string{}
	return all
}

// bucket is an S3 server with a bucket. Over TLS, objects come as they are.
func bucket(t *testing.T) (*objects, Config) {
	t.Helper()
	backend := &objects{put: map[string]string{}}
	server := httptest.NewTLSServer(backend)
	t.Cleanup(server.Close)
	return backend, Config{Cluster: "lab", S3: &S3{
		Endpoint: server.URL, Region: "us-east-1", Bucket: "results", Prefix: "nfsbench",
		SecretDir: mounted(t, map[string]string{"accessKeyID": "id", "secretAccessKey": "key"}),
		CABundle:  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	}}
}

func TestTheBucketHasTheResultOfEachRunOnce(t *testing.T) {
	t.Parallel()
	b, result := ended("demo", bench.VerdictPass)
	running, _ := ended("running", "")
	running.Status.CompletionTime = nil
	dirty, _ := ended("dirty", bench.VerdictPass)
	dirty.Status.Conditions = nil
	s, record := suite()
	c := cluster(t, b, result, running, dirty, s, record)
	backend, config := bucket(t)
	bringer, _ := courier(c, NewBucket(config, c).Send)
	if err := bringer.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := backend.taken()
	stored := &v1alpha1.NFSBenchmark{}
	const text = "nfsbench/lab/bench/benchmarks/demo/uid-demo/benchmark.json"
	if err := json.Unmarshal([]byte(got[text]), stored); err != nil || stored.Status.Message != b.Status.Message || stored.Kind != "NFSBenchmark" {
		t.Errorf("the benchmark is %q (%v)", got[text], err)
	}
	delete(got, text)
	want := map[string]string{
		"nfsbench/lab/bench/benchmarks/demo/uid-demo/client-0.result.json.gz": "first",
		"nfsbench/lab/bench/benchmarks/demo/uid-demo/client-1.result.json.gz": "second",
		"nfsbench/lab/bench/suites/nightly/nightly-2/record.json.gz":          "record",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Nothing is sent twice: neither the benchmark nor the runs.
	if err := bringer.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := backend.taken(); len(again) != 0 {
		t.Errorf("sent again: %v", again)
	}
	// But the verdict of a run that comes late is, and a run that ends again.
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	s.Status.History[0].Verdict = v1alpha1.SuitePass
	later := metav1.NewTime(noon)
	s.Status.History[2].CompletionTime = &later
	if err := c.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	waiting, err := bringer.waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range waiting {
		names = append(names, r.SuiteRun)
	}
	if want := []string{"nightly-3", "nightly-1"}; !slices.Equal(names, want) {
		t.Errorf("%v wait, want %v", names, want)
	}
}

func TestACopyOfADeliveredBenchmarkIsDelivered(t *testing.T) {
	t.Parallel()
	b, result := ended("demo", bench.VerdictPass)
	b.Annotations = map[string]string{v1alpha1.AnnotationDelivered: "uid-of-another"}
	c := cluster(t, b, result)
	backend, config := bucket(t)
	bringer, _ := courier(c, NewBucket(config, c).Send)
	err := bringer.Pass(t.Context())
	if got := backend.taken(); err != nil || len(got) != 3 {
		t.Errorf("%v in the bucket (%v)", got, err)
	}
}

// stubborn takes no run of one name.
type stubborn struct {
	refuses string
	taken   []string
}

func (s *stubborn) send(_ context.Context, r Run) error {
	if r.object().GetName() == s.refuses {
		return errors.New("no")
	}
	s.taken = append(s.taken, r.object().GetName())
	return nil
}

func TestARunThatIsNeverTakenHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	a, _ := ended("a", bench.VerdictPass)
	b, _ := ended("b", bench.VerdictPass)
	d := &stubborn{refuses: "a"}
	bringer, said := courier(cluster(t, a, b), d.send)
	if err := bringer.Pass(t.Context()); err == nil || !strings.Contains(err.Error(), "NFSBenchmark bench/a") {
		t.Errorf("the error is %v", err)
	}
	for range 2 {
		if err := bringer.Pass(t.Context()); err == nil {
			t.Error("no error, and a was not taken")
		}
	}
	if !slices.Equal(d.taken, []string{"b"}) {
		t.Errorf("taken: %v", d.taken)
	}
	if n := len(said.Events); n != 1 {
		t.Errorf("%d events, want one for three failures", n)
	}
}

func TestAServerThatIsGoneIsAnErrorWithoutSecrets(t *testing.T) {
	t.Parallel()
	b, result := ended("demo", bench.VerdictFail)
	c := cluster(t, b, result)
	_, config := bucket(t)
	config.S3.Endpoint = "http://127.0.0.1:1"
	config.S3.SecretDir = mounted(t, map[string]string{"accessKeyID": "id", "secretAccessKey": "T0PS3CRET"})
	bringer, _ := courier(c, NewBucket(config, c).Send)
	err := bringer.Pass(t.Context())
	if err == nil || strings.Contains(err.Error(), "T0PS3CRET") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v", err)
	}
}

func TestErrorsOfTheBucketNameTheField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"unknown field": {"s4: {}", "results: "},
		"no URL":        {"s3: {endpoint: s3.example.com, bucket: b}", "results.s3.endpoint"},
		"credentials":   {"s3: {endpoint: 'https://u:p@s3.example.com', bucket: b}", "results.s3.endpoint"},
		"no bucket":     {"s3: {endpoint: 'https://s3.example.com'}", "results.s3.bucket"},
		"no CA":         {"s3: {endpoint: 'https://s3.example.com', bucket: b, caBundle: x}", "results.s3.caBundle"},
		"too long":      {"cluster: " + strings.Repeat("x", maxConfigBytes), "longer than"},
		"whole":         {"cluster: lab\ns3: {endpoint: 'https://s3.example.com/', bucket: b}", ""},
	} {
		file := filepath.Join(t.TempDir(), "results.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(file)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
