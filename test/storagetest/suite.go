package storagetest

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
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
	// PathsCountMore: the paths carry what Total does not count, such as other
	// volumes and the headers of the protocol.
	PathsCountMore bool
	// Secrets are words that no error may hold.
	Secrets []string
}

// Run checks a source against the contract of storage.Source. start makes a fresh subject.
// What a storage can not be made to do is no test that was skipped: it never can be.
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

// Sample takes a sample of a source, which must not fail.
func Sample(t *testing.T, s storage.Source) storage.Snapshot {
	t.Helper()
	got, err := s.Sample(t.Context())
	if err != nil {
		t.Fatalf("sample %s: %v", s.Name(), err)
	}
	return got
}

// Totals are the counters of a snapshot without what they consist of, and without its time.
func Totals(s storage.Snapshot) runfile.StorageSample {
	t := s.StorageSample
	t.Time, t.VolumeNode, t.Nodes, t.Paths, t.Clients = time.Time{}, "", nil, nil, nil
	return t
}

func grows(t *testing.T, s Subject) {
	t.Helper()
	before := Sample(t, s.Source)
	s.Work(t)
	after := Sample(t, s.Source)
	if after.Epoch != before.Epoch {
		t.Fatalf("the epoch changed from %q to %q without a restart", before.Epoch, after.Epoch)
	}
	if after.Time.Before(before.Time) {
		t.Errorf("time went back from %v to %v", before.Time, after.Time)
	}
	grown(t, before.StorageSample, after.StorageSample)
	nodesGrow(t, before.Nodes, after.Nodes)
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
	first, second := Sample(t, s.Source), Sample(t, s.Source)
	before, after := map[uintptr]string{}, map[uintptr]string{}
	pointers(reflect.ValueOf(first), "first", before)
	pointers(reflect.ValueOf(second), "second", after)
	for at, path := range after {
		if before[at] != "" {
			t.Errorf("%s shares memory with %s", path, before[at])
		}
	}
	runtime.KeepAlive(first)
}

func restarts(t *testing.T, s Subject) {
	t.Helper()
	if s.Restart == nil {
		t.Log("this source can not be restarted by a test")
		return
	}
	s.Work(t)
	before := Sample(t, s.Source)
	s.Restart(t)
	after := Sample(t, s.Source)
	if after.Epoch == before.Epoch {
		t.Errorf("the epoch is still %q: differences across the restart would be believed", after.Epoch)
	}
}

func recovers(t *testing.T, s Subject) {
	t.Helper()
	if s.Break == nil {
		t.Log("this source can not be broken by a test")
		return
	}
	s.Break(t)
	_, err := s.Source.Sample(t.Context())
	if err == nil || storage.IsPermanent(err) {
		t.Errorf("an outage must be an error that may pass, got %v", err)
	}
	if err != nil {
		noSecret(t, "the error", err.Error(), s.Secrets)
	}
	s.Mend(t)
	Sample(t, s.Source)
}
