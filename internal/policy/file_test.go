package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/policy"
)

func TestAFileThatChangesIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	written := time.Now().Add(-time.Hour)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		written = written.Add(time.Second)
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	write("limits: {clients: 2}")
	f, err := policy.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := f.Policy(); err != nil || p.Limits.Clients != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	write("limits: {clients: 3}")
	if p, err := f.Policy(); err != nil || p.Limits.Clients != 3 {
		t.Errorf("after a change: %+v, %v", p, err)
	}
	write("limits: {client: 3}")
	for range 2 { // the second answer must not be that of the file before
		if p, err := f.Policy(); err == nil || !strings.Contains(err.Error(), path) || p.Limits.Clients == 3 {
			t.Errorf("a mistake in the file: %+v, %v", p, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Policy(); err == nil {
		t.Error("a file that is gone still has a policy")
	}
	if _, err := policy.Open(path); err == nil {
		t.Error("a file that is not there is opened")
	}
}
