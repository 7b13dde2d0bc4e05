package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Each counter of a window is the growth of the same counter of the storage.
func TestNoCounterOfAStorageIsTakenForAnother(t *testing.T) {
	start := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	reading := func(after time.Duration, factor int64) Reading {
		at := start.Add(after)
		return Reading{At: at, Sample: runfile.StorageSample{
			Source: "array", Time: at,
			ReadOps: new(factor), WriteOps: new(2 * factor), OtherOps: new(3 * factor),
			ReadBytes: new(4 * factor), WriteBytes: new(5 * factor), ReadMicroseconds: new(6 * factor), WriteMicroseconds: new(7 * factor),
		}}
	}
	got := storageWindow("array", []Reading{reading(0, 1000), reading(10*time.Second, 1100)})
	want := runfile.StorageWindow{
		Source: "array", Seconds: 10,
		ReadOps: new(int64(100)), WriteOps: new(int64(200)), OtherOps: new(int64(300)),
		ReadBytes: new(int64(400)), WriteBytes: new(int64(500)), ReadMicroseconds: new(int64(600)), WriteMicroseconds: new(int64(700)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
