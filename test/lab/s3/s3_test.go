// Package s3 tests that results arrive in a bucket of a real S3 server.
package s3

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/deliver"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/ports"
)

const keyID, key = "nfsbench", "a-key-of-forty-characters-or-something"

// server is an S3 server whose objects are files below a folder.
type server struct{ folder, url, ca string }

// start runs the Versity S3 Gateway, with the bucket results, until the test ends.
func start(t *testing.T) server {
	t.Helper()
	dir := t.TempDir()
	s := server{folder: filepath.Join(dir, "objects", "results")}
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s.ca = certify(t, dir)
	tool, err := repository.Path("hack/tool.sh")
	if err != nil {
		t.Fatal(err)
	}
	address := ports.Reserve(t).String()
	var said bytes.Buffer
	cmd := exec.Command(tool, "versitygw", "--quiet", "--port", address, "--access", keyID, "--secret", key, //nolint:gosec // ours
		"--cert", filepath.Join(dir, "tls.crt"), "--key", filepath.Join(dir, "tls.key"), "posix", filepath.Dir(s.folder))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var outcome error // of the server, once ended is closed
	go func() {
		outcome = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-ended
	})
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			break
		}
		select {
		case <-ended:
			t.Fatalf("the S3 server ended: %v\n%s", outcome, said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.url = "https://" + address
	return s
}

// certify writes a key and a certificate for 127.0.0.1, and returns the certificate.
func certify(t *testing.T, dir string) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	if _, err := tls.X509KeyPair(crt, pemKey); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"tls.crt": crt, "tls.key": pemKey} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return string(crt)
}

// config sends results to the server with a key.
func (s server) config(t *testing.T, key string) deliver.Config {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{"accessKeyID": keyID, "secretAccessKey": key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return deliver.Config{Cluster: "lab", S3: &deliver.S3{
		Endpoint: s.url, Region: "us-east-1", Bucket: "results", Prefix: "nfsbench", SecretDir: dir, CABundle: s.ca,
	}}
}

// finished is a cluster with a benchmark that has ended, and a courier of its result.
func finished(t *testing.T, config deliver.Config) (client.Client, *deliver.Courier) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	at := metav1.Now()
	b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "demo", UID: "uid-demo"}}
	b.Status.Phase, b.Status.CompletionTime = v1alpha1.PhaseSucceeded, &at
	b.Status.ResultRef = &v1alpha1.ResultReference{Name: "demo-result"}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionTrue}}
	result := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "demo-result"},
		BinaryData: map[string][]byte{runfile.ResultKey(0): bytes.Repeat([]byte("result "), 100_000)},
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(b, result).Build()
	return c, deliver.New(deliver.Options{
		Send: deliver.NewBucket(config, c).Send, Cache: c, Writer: c, Recorder: events.NewFakeRecorder(10), Clock: clock.RealClock{},
	})
}

func isMarked(t *testing.T, c client.Client) bool {
	t.Helper()
	var b v1alpha1.NFSBenchmark
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "bench", Name: "demo"}, &b); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(b.Annotations[v1alpha1.AnnotationDelivered], "uid-demo")
}

func TestAResultArrivesInTheBucketAsItIs(t *testing.T) {
	s := start(t)
	c, courier := finished(t, s.config(t, key))
	if err := courier.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.folder, "nfsbench/lab/bench/benchmarks/demo/uid-demo")
	got, err := os.ReadFile(filepath.Join(folder, "client-0.result.json.gz"))
	if err != nil || !bytes.Equal(got, bytes.Repeat([]byte("result "), 100_000)) {
		t.Errorf("the server has %d bytes of the result (%v)", len(got), err)
	}
	if _, err := os.Stat(filepath.Join(folder, "benchmark.json")); err != nil {
		t.Error(err)
	}
	if !isMarked(t, c) {
		t.Error("the benchmark is not marked as sent")
	}
}

func TestAWrongKeyIsRefusedAndTheRunIsKeptForLater(t *testing.T) {
	s := start(t)
	c, courier := finished(t, s.config(t, "another-key"))
	err := courier.Pass(t.Context())
	if err == nil || strings.Contains(err.Error(), "another-key") {
		t.Errorf("error %v; want a refusal that does not tell the key", err)
	}
	if isMarked(t, c) {
		t.Error("a run that the server refused is marked as sent")
	}
}
