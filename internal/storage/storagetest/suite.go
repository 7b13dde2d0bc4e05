package storagetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// Subject is a source under test and the storage behind it.
type Subject struct {
	Source storage.Source
	// Work makes the storage read at least one operation of at least one byte.
	Work func(t *testing.T)
	// Restart begins a new epoch with counters at zero; nil = it can not be done.
	Restart func(t *testing.T)
	// Break makes the storage unreachable until Mend is called; nil = it can not be done.
	Break, Mend func(t *testing.T)
}

// Run checks a source against the contract of storage.Source. start makes a fresh subject.
func Run(t *testing.T, start func(t *testing.T) Subject) {
	t.Helper()
	checks := map[string]func(*testing.T, Subject){
		"a snapshot is well formed":                   wellFormed,
		"counters grow with work and time goes on":    grows,
		"samples may be taken at once":                concurrent,
		"a cancelled context ends the sample":         cancelled,
		"a snapshot belongs to the caller":            owned,
		"a restart begins a new epoch":                restarts,
		"an outage is no permanent error and may end": recovers,
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) { check(t, start(t)) })
	}
}

func sample(t *testing.T, s storage.Source) storage.Snapshot {
	t.Helper()
	got, err := s.Sample(t.Context())
	if err != nil {
		t.Fatalf("sample %s: %v", s.Name(), err)
	}
	return got
}

func wellFormed(t *testing.T, s Subject) {
	t.Helper()
	s.Work(t)
	got := sample(t, s.Source)
	if s.Source.Name() == "" {
		t.Error("a source needs a name")
	}
	if got.Time.IsZero() {
		t.Error("a snapshot needs a time")
	}
	if !slices.IsSortedFunc(got.Nodes, func(a, b storage.Node) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Errorf("nodes must be sorted: %v", got.Nodes)
	}
	if !slices.IsSortedFunc(got.Paths, func(a, b storage.PathCounters) int { return cmp.Compare(a.Address, b.Address) }) {
		t.Errorf("paths must be sorted: %v", got.Paths)
	}
	for _, n := range got.Nodes {
		if n.Name == "" || n.Cores != nil && *n.Cores <= 0 || n.CPUSeconds != nil && *n.CPUSeconds < 0 {
			t.Errorf("what is unknown must be nil, what is known plausible: %+v", n)
		}
	}
	for _, p := range got.Paths {
		withinTotal(t, p, got.Total)
	}
}

func withinTotal(t *testing.T, p storage.PathCounters, total storage.Counters) {
	t.Helper()
	if p.Address == "" {
		t.Error("a path needs an address")
	}
	all := fields(total)
	for name, f := range fields(p.Counters) {
		if f != nil && all[name] != nil && *f > *all[name] {
			t.Errorf("path %s: %s is %d, more than the total %d", p.Address, name, *f, *all[name])
		}
	}
}

func fields(c storage.Counters) map[string]*uint64 {
	return map[string]*uint64{
		"ReadOps": c.ReadOps, "WriteOps": c.WriteOps, "OtherOps": c.OtherOps,
		"ReadBytes": c.ReadBytes, "WrittenBytes": c.WrittenBytes,
	}
}

func grows(t *testing.T, s Subject) {
	t.Helper()
	before := sample(t, s.Source)
	s.Work(t)
	after := sample(t, s.Source)
	if after.Epoch != before.Epoch {
		t.Fatalf("the epoch changed from %q to %q without a restart", before.Epoch, after.Epoch)
	}
	if after.Time.Before(before.Time) {
		t.Errorf("time went back from %v to %v", before.Time, after.Time)
	}
	old := fields(before.Total)
	for name, f := range fields(after.Total) {
		if (f == nil) != (old[name] == nil) {
			t.Errorf("%s is known only sometimes", name)
			continue
		}
		if f == nil {
			continue
		}
		if *f < *old[name] {
			t.Errorf("%s fell from %d to %d", name, *old[name], *f)
		}
		if (name == "ReadOps" || name == "ReadBytes") && *f == *old[name] {
			t.Errorf("%s stayed %d although something was read", name, *f)
		}
	}
}

func concurrent(t *testing.T, s Subject) {
	t.Helper()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.Source.Sample(t.Context()); err != nil {
				t.Errorf("sample: %v", err)
			}
		})
	}
	all.Wait()
}

func cancelled(t *testing.T, s Subject) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Source.Sample(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if storage.IsPermanent(err) {
		t.Error("the end of a context is no permanent error")
	}
}

func owned(t *testing.T, s Subject) {
	t.Helper()
	s.Work(t)
	first := sample(t, s.Source)
	for _, f := range fields(first.Total) {
		if f != nil {
			*f = 1 << 62
		}
	}
	for name, f := range fields(sample(t, s.Source).Total) {
		if f != nil && *f >= 1<<62 {
			t.Errorf("%s: a later snapshot shares memory with the first", name)
		}
	}
}

func restarts(t *testing.T, s Subject) {
	t.Helper()
	if s.Restart == nil {
		t.Skip("this source can not be restarted by a test")
	}
	s.Work(t)
	before := sample(t, s.Source)
	s.Restart(t)
	after := sample(t, s.Source)
	if after.Epoch == before.Epoch {
		t.Errorf("the epoch is still %q: differences across the restart would be believed", after.Epoch)
	}
}

func recovers(t *testing.T, s Subject) {
	t.Helper()
	if s.Break == nil {
		t.Skip("this source can not be broken by a test")
	}
	s.Break(t)
	if _, err := s.Source.Sample(t.Context()); err == nil || storage.IsPermanent(err) {
		t.Errorf("an outage must be an error that may pass, got %v", err)
	}
	s.Mend(t)
	sample(t, s.Source)
}
