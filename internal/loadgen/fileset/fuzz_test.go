package fileset

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// FuzzReadMarker finds hostile bytes where a marker should be. Only a marker of
// ours makes a directory ours; everything else
// is somebody's and is refused before anything is written.
func FuzzReadMarker(f *testing.F) {
	whole, err := json.Marshal(marker{Tool: markerTool, Version: markerVersion, Seed: 7, FileSizeBytes: size, Complete: []string{"c0-j0.dat"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:30])
	f.Add([]byte(`{"tool":"somebody else"}`))
	f.Add([]byte(nil))
	f.Add([]byte(`{"tool":"nfsbench","version":1,"epoch":18446744073709551615,"fileSizeBytes":-1,"complete":["../x"]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 128*len(in)+(2<<20), func() { prepareOver(t, in) })
	})
}

func prepareOver(t *testing.T, in []byte) {
	t.Helper()
	content := in
	if n := -len(in) & (target.SectorBytes - 1); n > 0 {
		content = append(bytes.Clone(in), bytes.Repeat([]byte(" "), n)...)
	}
	tgt := &targettest.Memory{}
	dir, err := tgt.Directory(t.Context(), "d", true)
	if err != nil {
		t.Fatal(err)
	}
	file, err := dir.Open(t.Context(), "nfsbench-c0.json", target.OpenOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > 0 {
		if err := file.WriteAt(t.Context(), content, 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Prepare(t.Context(), tgt, testSpec())
	var head struct {
		Tool    string
		Version int
	}
	text := bytes.TrimRight(content, " \n\x00")
	ours := json.Unmarshal(text, &head) == nil && head.Tool == markerTool &&
		(head.Version != markerVersion || json.Unmarshal(text, &marker{}) == nil)
	if refused := target.CodeOf(err) == runfile.FailureForeignFiles; refused == ours {
		t.Fatalf("a marker that is ours (%v) gives %v", ours, err)
	}
}
