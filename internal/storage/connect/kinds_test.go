package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage/connect"
)

func TestEveryKindIsOpened(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "array"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "array", "token"), []byte("T-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"cluster": "c1"}
	for want, s := range map[string]runfile.Source{
		"FlashBlade 10.0.0.5":      {Kind: runfile.SourceFlashBlade, URL: "https://10.0.0.5", Credentials: "array"},
		"Prometheus 10.0.0.6:9090": {Kind: runfile.SourcePrometheus, URL: "http://10.0.0.6:9090", Labels: labels},
		"Prometheus 10.0.0.7":      {Kind: runfile.SourcePrometheus, URL: "https://10.0.0.7", Labels: labels, Credentials: "array"},
		"exporters 10.0.0.8:9100":  {Kind: runfile.SourceExporter, Nodes: []runfile.SourceNode{{Name: "a", URL: "http://10.0.0.8:9100/metrics"}}},
	} {
		got, err := connect.Open(s, connect.Options{SecretsDir: dir, Now: time.Now})
		if err != nil || !strings.HasPrefix(got.Name(), want) {
			t.Errorf("%s: got %v, %v", want, got, err)
		}
	}
}
