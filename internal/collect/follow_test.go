package collect

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// loaderStub writes into a run directory what a loader would.
type loaderStub struct {
	t   *testing.T
	dir string
}

func (l loaderStub) text(s string) {
	l.t.Helper()
	f, err := os.OpenFile(filepath.Join(l.dir, runfile.EventsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(s)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l loaderStub) event(e runfile.Event) {
	l.t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		l.t.Fatal(err)
	}
	l.text(string(raw) + "\n")
}

func (l loaderStub) load(load runfile.Load) {
	l.t.Helper()
	raw, err := json.Marshal(load)
	if err == nil {
		err = shareddir.Replace(l.dir, runfile.LoadFile, raw, shareddir.ForAll)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestEventsAreTakenInAsTheFileGrows(t *testing.T) {
	l := loaderStub{t, t.TempDir()}
	tail := eventTail{dir: l.dir}
	steps := []struct {
		reason, text string
		want         []int32 // percents
		wantErr      string
	}{
		{"no file yet", "", nil, ""},
		{"a whole line and half of one", `{"span":"Fill","percent":1}` + "\n" + `{"span":"Fi`, []int32{1}, ""},
		{"the other half", `ll","percent":2}` + "\n\n", []int32{2}, ""},
		{"a line cut short by a crash", "{\"span\":\n{\"span\":\"Fill\",\"percent\":3}\n", []int32{3}, "is no event"},
		{"nothing new", "", nil, ""},
		{"a line that is too long", strings.Repeat("x", 70<<10), nil, "is longer than"},
		{"its end, and one after it", "x\n{\"span\":\"Fill\",\"percent\":4}\n", []int32{4}, "is no event"},
		{"more than is read at once", strings.Repeat(`{"span":"Fill","percent":5}`+"\n", 100_000), nil, ""},
	}
	for _, step := range steps {
		if step.text != "" {
			l.text(step.text)
		}
		var got []int32
		err := tail.each(func(e runfile.Event) { got = append(got, e.Percent) })
		if (err == nil) != (step.wantErr == "") || (err != nil && !strings.Contains(err.Error(), step.wantErr)) {
			t.Errorf("%s: error %v, want %q", step.reason, err, step.wantErr)
		}
		if len(got) == 100_000 {
			continue
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}

// TestSpansOfALoaderAreBounded: an image of a tenant writes the events, and our collector
// keeps the spans.
func TestSpansOfALoaderAreBounded(t *testing.T) {
	l := loaderStub{t, t.TempDir()}
	l.text(strings.Repeat(`{"span":"Fill"}`+"\n"+`{"span":"Measure"}`+"\n", maxSpans))
	f := newFollower(l.dir)
	if _, _, err := f.readEvents(); err != nil {
		t.Fatal(err)
	}
	if len(f.spans) != maxSpans || f.last.Span != "Measure" {
		t.Errorf("%d spans, the last event %v", len(f.spans), f.last)
	}
}

func TestSpansAreMadeFromEvents(t *testing.T) {
	l := loaderStub{t, t.TempDir()}
	f := newFollower(l.dir)
	at := func(n int) time.Time { return day.Add(time.Duration(n) * time.Second) }
	l.event(runfile.Event{Time: at(1), Span: "Warmup", Repetition: 1})
	l.event(runfile.Event{Time: at(2), Span: "Measure", Repetition: 1})
	if _, moved, err := f.readEvents(); !moved || err != nil {
		t.Errorf("moved %v, %v", moved, err)
	}
	l.event(runfile.Event{Time: at(3), Span: "Measure", Repetition: 1})
	if news, moved, _ := f.readEvents(); moved || !news {
		t.Errorf("moved %v, news %v within a span", moved, news)
	}
	l.event(runfile.Event{Time: at(4), Span: "Measure", Repetition: 2})
	if _, moved, _ := f.readEvents(); !moved {
		t.Error("another repetition is another span")
	}
	want := []runfile.Span{
		{Kind: "Warmup", Repetition: 1, Start: at(1), End: at(2)},
		{Kind: "Measure", Repetition: 1, Start: at(2), End: at(4)},
		{Kind: "Measure", Repetition: 2, Start: at(4)},
	}
	if diff := cmp.Diff(want, f.partialLoad().Spans); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l.load(runfile.Load{Partial: true, Spans: want[:2]})
	if err := f.readLoad(day); err != nil {
		t.Fatal(err)
	}
	if got := f.partialLoad().Spans; len(got) != 3 {
		t.Errorf("%d spans: the load file is older than the events", len(got))
	}
	l.load(runfile.Load{Spans: want[:1]})
	if err := f.readLoad(day); err != nil || !f.ended() {
		t.Fatalf("ended %v, %v", f.ended(), err)
	}
	if got := f.partialLoad().Spans; len(got) != 1 {
		t.Errorf("%d spans: the final event of the loader counts", len(got))
	}
}

func TestALoadThatCannotBeReadLeavesTheOneBefore(t *testing.T) {
	l := loaderStub{t, t.TempDir()}
	f := newFollower(l.dir)
	if err := f.readLoad(day); err != nil || f.ended() {
		t.Errorf("no file: ended %v, %v", f.ended(), err)
	}
	l.load(runfile.Load{Partial: true, FilledBytes: 5})
	if err := f.readLoad(day); err != nil || f.ended() {
		t.Errorf("partial: ended %v, %v", f.ended(), err)
	}
	if err := shareddir.Replace(l.dir, runfile.LoadFile, []byte(`{"partial":`), shareddir.ForAll); err != nil {
		t.Fatal(err)
	}
	if err := f.readLoad(day); err == nil {
		t.Error("half a file gave no error")
	}
	if f.load.FilledBytes != 5 {
		t.Errorf("the load before is gone: %+v", f.load)
	}
	l.load(runfile.Load{Partial: true, Failure: &runfile.Failure{Code: runfile.FailureIO}})
	if err := f.readLoad(day); err != nil || !f.ended() {
		t.Errorf("failed: ended %v, %v", f.ended(), err)
	}
}

func TestSeriesAreBoundedAndKeepTheirMarks(t *testing.T) {
	s := series[int]{limit: 100}
	marks := []int{0, 333, 334, 499, 500, 901}
	isMark := map[int]bool{}
	for _, m := range marks {
		isMark[m] = true
	}
	for n := range 1000 {
		s.add(n, isMark[n])
		if len(s.items) > 100 {
			t.Fatalf("%d samples", len(s.items))
		}
	}
	kept := map[int]bool{}
	for _, v := range s.values() {
		kept[v] = true
	}
	for _, m := range marks {
		if !kept[m] || (m > 0 && !kept[m-1]) {
			t.Errorf("the samples at mark %d are gone", m)
		}
	}
	if !kept[999] || s.thinned == 0 {
		t.Errorf("last kept: %v, thinned %d times", kept[999], s.thinned)
	}
	all := series[int]{limit: 100}
	for n := range 1000 {
		all.add(n, true)
	}
	if len(all.items) > 100 {
		t.Errorf("%d marks", len(all.items))
	}
	if milliseconds(time.Second, 2) != 4000 || milliseconds(time.Hour, 60) <= 0 {
		t.Error("distances are wrong")
	}
}

// TestReadingsOfAnArrayTakeLittleMemory: what it answers at once may have 100,000 nodes, each second.
func TestReadingsOfAnArrayTakeLittleMemory(t *testing.T) {
	source := &storagetest.Fake{}
	sample := storage.Snapshot{}
	sample.Nodes = make([]runfile.StorageNode, 20_000)
	source.Set(sample)
	s := &Session{
		opt:      Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)},
		readings: []series[Reading]{newReadings()},
	}
	s.takeStorage(t.Context(), 0, source, false)
	large := func(p runfile.CollectionError) bool { return strings.Contains(p.Message, "20000 nodes") }
	if all := s.problems.snapshot(); len(s.readings[0].values()) > 0 || !slices.ContainsFunc(all, large) {
		t.Errorf("%d readings, problems %+v", len(s.readings[0].values()), all)
	}

	r := Reading{Sample: runfile.StorageSample{Nodes: make([]runfile.StorageNode, 5_000)}}
	for n := range 2_000 {
		if s.readings[0].add(r, n == 1_000); s.readings[0].bytes > maxReadings {
			t.Fatalf("after %d readings they take %d bytes", n, s.readings[0].bytes)
		}
	}
	if n := len(s.readings[0].values()); n*r.bytes() != s.readings[0].bytes || n < 32 {
		t.Errorf("%d readings take %d bytes", n, s.readings[0].bytes)
	}
}
