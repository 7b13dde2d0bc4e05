package collect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// killed samples in dir until it is told to stop and then ends as a process
// that is killed does: with no last sample and no last word.
func killed(t *testing.T, dir string, until func(*Session)) {
	t.Helper()
	source := &storagetest.Fake{}
	source.Set(storage.Snapshot{Epoch: "e"})
	o := options(dir, 1).Options
	o.Journal, o.Sources = filepath.Join(dir, JournalFile), []storage.Source{source}
	ctx, cancel := context.WithCancel(t.Context())
	s := Start(ctx, o)
	if err := touch(dir, ReadyFile); err != nil {
		t.Fatal(err)
	}
	until(s)
	cancel()
	s.running.Wait()
}

func samplesOf(s *Session) int { return len(s.Observe(runfile.Load{}).Samples) }

// spanned ends a span when the samples in it stand for it: on a busy machine the first of
// them is late.
func spanned(t *testing.T, s *Session, span *runfile.Span) {
	t.Helper()
	waitFor(t, "samples that stand for "+span.Kind, func() bool {
		span.End = time.Now().Round(0)
		windows := s.Observe(runfile.Load{Spans: []runfile.Span{*span}}).Windows
		return len(windows) == 1 && windows[0].NodeCPUPermille != nil && len(windows[0].Storage) == 1
	})
}

func TestACollectorThatWasKilledInTheWindowLosesOnlyTheGap(t *testing.T) {
	dir := t.TempDir()
	loader := loaderStub{t, dir}
	var baseline, measure runfile.Span
	killed(t, dir, func(s *Session) {
		baseline = runfile.Span{Kind: runfile.SpanBaseline, Repetition: 1, Start: time.Now().Round(0)}
		loader.event(runfile.Event{Time: baseline.Start, Span: baseline.Kind, Repetition: 1})
		spanned(t, s, &baseline)
		before := samplesOf(s)
		measure = runfile.Span{Kind: runfile.SpanMeasure, Repetition: 1, Start: baseline.End}
		loader.event(runfile.Event{Time: measure.Start, Span: measure.Kind, Repetition: 1})
		waitFor(t, "samples of the window", func() bool { return samplesOf(s) > before+8 })
	})

	r := startRig(t, dir, 1, nil)
	r.samples(8)
	spanned(t, r.session, &measure)
	r.load(done(runfile.Load{Spans: []runfile.Span{baseline, measure}}))
	waitFor(t, "the final result", r.recorder.any(final))
	_, result := r.recorder.last(t)
	o := result.Clients[0].Observed
	if len(o.Windows) != 2 {
		t.Fatalf("windows %+v, want the baseline and the measured one", o.Windows)
	}
	for i, span := range []runfile.Span{baseline, measure} {
		w := o.Windows[i]
		if covered := w.End.Sub(w.Start); covered < span.End.Sub(span.Start)/2 || w.NodeCPUPermille == nil || len(w.Storage) != 1 {
			t.Errorf("of %v of %s %v are known: %+v", span.End.Sub(span.Start), span.Kind, covered, w)
		}
	}
	if w := o.Windows[1]; !w.Start.Before(r.session.resumed) {
		t.Errorf("the window begins at %v, after the restart at %v: what was sampled before is lost", w.Start, r.session.resumed)
	}
	if len(o.Problems) != 1 || o.Problems[0].Source != problemRestart || !strings.Contains(o.Problems[0].Message, "nothing was sampled for") {
		t.Errorf("problems %+v, want the gap", o.Problems)
	}
}

func TestTheJournalGivesBackWhatItWasGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), JournalFile)
	want := []entry{
		{Host: &runfile.HostSample{Time: day, NodeBusyMicroseconds: new(int64(7)), Interfaces: []runfile.InterfaceRead{{Name: "eth0", SentBytes: 3}}}, Edge: true},
		{Reading: &Reading{At: day.Add(time.Second), Epoch: "e", Sample: runfile.StorageSample{Source: "array", Time: day, ReadBytes: new(int64(9))}}},
		{Problem: &runfile.CollectionError{Source: "array", Message: "away", Since: day, Count: 3}},
	}
	j, got, err := openJournal(path)
	if err != nil || len(got) != 0 {
		t.Fatalf("a new journal holds %v (%v)", got, err)
	}
	for _, e := range want {
		if err := j.add(e); err != nil {
			t.Fatal(err)
		}
	}
	// Its writer is killed inside a line.
	if _, err := j.file.WriteString(`{"host":{"time":"20`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time without the half line
		j, got, err = openJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if err := j.add(want[0]); err != nil {
		t.Fatal(err)
	}
	if _, got, _ = openJournal(path); len(got) != 4 {
		t.Errorf("after a half line %d entries are read, want 4", len(got))
	}
}

func TestTheJournalGrowsNoLongerThanTheSeries(t *testing.T) {
	dir := t.TempDir()
	o := sessionOptions()
	o.Journal = filepath.Join(dir, JournalFile)
	s := Start(t.Context(), o)
	s.mu.Lock()
	s.hosts.limit = 20
	s.mu.Unlock()
	waitFor(t, "thinned samples", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.hosts.thinned > 2
	})
	s.Finish(t.Context(), runfile.Load{})
	entries, err := (&journal{dir: filepath.Dir(o.Journal), name: JournalFile}).read()
	if err != nil || len(entries) > 25 || len(entries) < 10 {
		t.Errorf("%d entries of a series of 20 (%v)", len(entries), err)
	}
}

func TestProblemsOutliveARestart(t *testing.T) {
	o := sessionOptions()
	o.Journal = filepath.Join(t.TempDir(), JournalFile)
	first := Start(t.Context(), o)
	first.problem("array", errors.New("away"))
	first.problem("array", errors.New("still away"))
	first.Finish(t.Context(), runfile.Load{})
	second := Start(t.Context(), o)
	defer second.Finish(t.Context(), runfile.Load{})
	got := second.Observe(runfile.Load{}).Problems
	if len(got) != 1 || got[0].Count != 2 || got[0].Message != "still away" {
		t.Errorf("problems %+v", got)
	}
}

func TestAJournalThatCannotBeKeptIsAProblemAndNoMore(t *testing.T) {
	o := sessionOptions()
	o.Journal = filepath.Join(t.TempDir(), "nowhere", JournalFile)
	s := Start(t.Context(), o)
	waitFor(t, "samples", func() bool { return samplesOf(s) > 3 })
	got := s.Finish(t.Context(), runfile.Load{}).Problems
	if len(got) != 1 || got[0].Source != problemJournal {
		t.Errorf("problems %+v", got)
	}
	if _, err := os.Stat(o.Journal); err == nil {
		t.Error("there is a journal")
	}
}

// TestAProblemIsShort: it may have words of an array.
func TestAProblemIsShort(t *testing.T) {
	var p problems
	now, _ := p.add("array", errors.New(strings.Repeat("ä", 16<<20)), time.Time{})
	if n := len(now.Message); n > 2*maxProblemBytes || !strings.HasPrefix(now.Message, "ää") {
		t.Errorf("a problem of %d bytes", n)
	}
}
