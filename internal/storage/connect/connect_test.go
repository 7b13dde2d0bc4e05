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

func TestAnArrayIsOpenedWithTheFilesOfItsSecret(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"username": "benchaccount\n", "password": "hunter22\n"} {
		if err := os.MkdirAll(filepath.Join(dir, "array"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "array", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		source runfile.Source
		want   string // the error; empty = none
	}{
		"ONTAP":             {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", SVM: "svm1", Credentials: "array"}, ""},
		"no folder":         {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", Name: "naclu1"}, "naclu1"},
		"a folder outside":  {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", Credentials: "../array"}, "no folder of secrets"},
		"a folder too many": {runfile.Source{Kind: runfile.SourceONTAP, URL: "https://10.0.0.5", Credentials: "other"}, "none of the keys"},
		"plain HTTP":        {runfile.Source{Kind: runfile.SourceONTAP, URL: "http://10.0.0.5", Credentials: "array"}, "https"},
		"unknown":           {runfile.Source{Kind: "x"}, "not known"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := connect.Open(tc.source, connect.Options{SecretsDir: dir, Now: time.Now})
			if tc.want == "" {
				if err != nil || !strings.HasPrefix(s.Name(), "ONTAP 10.0.0.5") {
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
