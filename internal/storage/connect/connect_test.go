package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/connect"
)

func TestEachKindIsOpenedWithTheFilesOfItsSecret(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "array"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"username": "benchaccount\n", "password": "hunter22\n", "token": "T-1\n"} {
		if err := os.WriteFile(filepath.Join(dir, "array", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{"cluster": "c1"}
	cases := map[string]struct {
		source     runfile.Source
		name, want string // the beginning of the name, or the error
	}{
		"ONTAP":              {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", SVM: "svm1", Credentials: "array"}, "ONTAP 10.0.0.5", ""},
		"FlashBlade":         {runfile.Source{Kind: runfile.SourceFlashBlade, URL: "https://10.0.0.5", Credentials: "array"}, "FlashBlade 10.0.0.5", ""},
		"Prometheus":         {runfile.Source{Kind: runfile.SourcePrometheus, URL: "http://10.0.0.6:9090", Labels: labels}, "Prometheus 10.0.0.6:9090", ""},
		"Prometheus, secret": {runfile.Source{Kind: runfile.SourcePrometheus, URL: "https://10.0.0.7", Labels: labels, Credentials: "array"}, "Prometheus 10.0.0.7", ""},
		"exporter":           {runfile.Source{Kind: runfile.SourceExporter, Nodes: []runfile.SourceNode{{Name: "a", URL: "http://10.0.0.8:9100/metrics"}}}, "exporters 10.0.0.8:9100", ""},
		"no folder":          {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", Name: "naclu1"}, "", "naclu1"},
		"a folder outside":   {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", Credentials: "../array"}, "", "no folder of secrets"},
		"a folder too many":  {runfile.Source{Kind: runfile.SourcePrometheus, URL: "https://10.0.0.5", Credentials: "other"}, "", "none of the keys"},
		"plain HTTP":         {runfile.Source{Kind: runfile.SourceONTAP, URL: "http://10.0.0.5", Credentials: "array"}, "", "https"},
		"unknown":            {runfile.Source{Kind: "x"}, "", "not known"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := connect.Open(tc.source, connect.Options{SecretsDir: dir, Now: time.Now})
			if tc.want == "" {
				if err != nil || !strings.HasPrefix(s.Name(), tc.name) {
					t.Errorf("got %v, %v", s, err)
				}
				return
			}
			if err == nil || !storage.IsPermanent(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter22") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}
