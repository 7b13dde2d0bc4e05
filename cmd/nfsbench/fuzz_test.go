package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzReadRecorded reads what report and compare are given: a result or a record of a suite,
// plain or gzip.
func FuzzReadRecorded(f *testing.F) {
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return runfile.WriteResult(b, runfile.Result{}) },
		func(b *bytes.Buffer) error {
			_, err := runfile.WriteResultGzip(b, runfile.Result{})
			return err
		},
		func(b *bytes.Buffer) error { return runfile.WriteSuiteRunGzip(b, runfile.SuiteRun{Run: "a"}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := &cobra.Command{}
		cmd.SetContext(t.Context())
		// A gzip unpacks to a thousand times its bytes at most.
		memory.Bound(t, 1<<20+64*1024*len(data), func() { _, _ = readRecorded(cmd, []string{path}) })
	})
}
