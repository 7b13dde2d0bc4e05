package storagetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

func TestTheFakeKeepsTheContract(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storagetest.Subject {
		f := &storagetest.Fake{}
		var ops, size int64
		now, epoch := time.Unix(1000, 0), "first"
		set := func() {
			now = now.Add(time.Second)
			f.Set(storage.Snapshot{Epoch: epoch, StorageSample: runfile.StorageSample{
				Time: now, ReadOps: new(ops), ReadBytes: new(size), ReadMicroseconds: new(ops * 300),
				Nodes: []runfile.StorageNode{
					{Name: "a", BusyMicroseconds: new(ops), BaseMicroseconds: new(ops + 1)},
					{Name: "b", BusyMicroseconds: new(int64(500_000)), Cores: new(int32(2))},
				},
				VolumeNode: "a",
				Paths:      []runfile.StoragePath{{Address: "192.0.2.1", Name: "lif1", Node: "a", ReadBytes: new(size), Ops: new(ops)}},
			}})
		}
		set()
		return storagetest.Subject{
			Source:  f,
			Work:    func(*testing.T) { ops, size = ops+1, size+8192; set() },
			Restart: func(*testing.T) { ops, size, epoch = 0, 0, "second"; set() },
			Break:   func(*testing.T) { f.Fail(errors.New("connection refused")) },
			Mend:    func(*testing.T) { f.Fail(nil) },
		}
	})
}
