package storagetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

func TestTheFakeKeepsTheContract(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storagetest.Subject {
		f := &storagetest.Fake{}
		var ops, size uint64
		now, epoch := time.Unix(1000, 0), "first"
		set := func() {
			now = now.Add(time.Second)
			total := storage.Counters{ReadOps: new(ops), ReadBytes: new(size), ReadMicroseconds: new(ops * 300)}
			f.Set(storage.Snapshot{
				Time: now, Epoch: epoch, Total: total,
				Nodes: []storage.Node{
					{Name: "a", CPUSeconds: new(float64(ops)), BaseSeconds: new(float64(ops) + 1)},
					{Name: "b", CPUSeconds: new(0.5), Cores: new(int32(2))},
				},
				VolumeNode: "a",
				Paths:      []storage.PathCounters{{Address: "192.0.2.1", Name: "lif1", Node: "a", Counters: total}},
			})
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
