package integration

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

// TestSequence writes down a run from its creation to its deletion, one line
// for each decision, as a story to be read when it changes.
func TestSequence(t *testing.T) {
	t.Parallel()
	cases := map[string][]gen.Mod{
		"embedded-direct": {gen.Embedded("1Gi", 2)},
		"export-kernel":   {gen.Export("/vol/oradata", "filer.sequence.example"), gen.Kernel},
		"two-clients":     {gen.Export("/vol/oradata", "array.sequence.example"), gen.Clients(2)},
	}
	for name, mods := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("demo", mods...)
			s := &story{w: w}
			s.line("user     creates the benchmark")
			s.tell()
			w.delete("demo")
			s.line("user     deletes the benchmark")
			s.tell()
			golden.Compare(t, filepath.Join("testdata", "sequence", name+".txt"), []byte(s.text()))
		})
	}
}

type story struct {
	w     *world
	lines []string
}

func (s *story) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// tell lets manager and cluster take turns and writes down what they do.
func (s *story) tell() {
	s.w.Helper()
	for range 100 {
		s.w.faults.writes, s.w.rec.events = nil, nil
		if _, err := s.w.pass("demo"); err != nil {
			s.w.Fatal(err)
		}
		if s.manager(s.w.get("demo")) {
			continue
		}
		did := s.w.robot("demo")
		if did == "" {
			return
		}
		s.line("cluster  %s", did)
	}
	s.w.Fatal("the story has no end")
}

// manager writes down what a pass wrote and what the status says after it.
func (s *story) manager(b *v1alpha1.NFSBenchmark) bool {
	var made []string
	for _, w := range s.w.faults.writes {
		if !strings.HasPrefix(w, "patch status") {
			made = append(made, w)
		}
	}
	if len(made) > 0 {
		s.line("manager  %s", strings.Join(made, ", "))
	}
	if len(s.w.faults.writes) > len(made) {
		s.line("status   %s: %s", b.Status.Phase, b.Status.Message)
	}
	for _, e := range s.w.rec.events {
		s.line("event    %s", strings.Join(strings.Fields(e)[:2], " "))
	}
	return len(s.w.faults.writes) > 0
}

// text is the story without what differs from one telling to the next.
func (s *story) text() string {
	text := strings.Join(slices.Concat(s.lines, []string{""}), "\n")
	text = strings.ReplaceAll(text, s.w.ns, "NAMESPACE")
	return regexp.MustCompile(`-demo(-[0-9a-f]{8})?-[0-9a-f]{8}([0-9a-f]{16})?`).ReplaceAllString(text, "-demo-HASH")
}
