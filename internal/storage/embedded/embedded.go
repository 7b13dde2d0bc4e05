// Package embedded reads the counters of the embedded NFS server (nfsbench serve) over HTTP.
package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// Source reads one embedded server.
type Source struct{ client *rest.Client }

// New returns the source of a server whose counters are at base, such as "http://10.0.0.7:8080". It sends no
// request.
func New(base string) (*Source, error) {
	client, err := rest.New(rest.Config{
		BaseURL: base, AllowPlain: true,
		Timeout:      3 * time.Second, // the server answers from memory
		MaxBodyBytes: 1 << 20,         // far above the document of a server with a hundred addresses
		// The next sample is the next attempt, however short the interval is.
		Attempts: 1, PerSecond: 1000,
	})
	if err != nil {
		return nil, fmt.Errorf("counters of the embedded server: %w", err)
	}
	return &Source{client: client}, nil
}

// Name returns the name and address of the server.
func (s *Source) Name() string { return "embedded server " + s.client.Host() }

// Close closes idle connections.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// Sample reads the counters of the server. Time is the server's time; the epoch is its start.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	var body []byte
	_, err := s.client.Get(ctx, "/counters", nil, &body)
	var doc *counters.Document
	if err == nil {
		doc, err = decode(body)
	}
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("read counters of %s: %w", s.Name(), err)
	}
	return snapshot(doc), nil
}

func decode(body []byte) (*counters.Document, error) {
	var doc struct {
		counters.Document
		Total *counters.Counts `json:"total"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, storage.Permanent(fmt.Errorf("the answer is no counter document: %w", err))
	}
	if doc.Version != counters.DocumentVersion {
		return nil, storage.Permanent(fmt.Errorf("the counter document has version %d, this program reads version %d",
			doc.Version, counters.DocumentVersion))
	}
	if doc.Time.IsZero() || doc.StartTime.IsZero() {
		return nil, storage.Permanent(fmt.Errorf("the counter document has no time"))
	}
	if doc.Total == nil {
		return nil, storage.Permanent(fmt.Errorf("the counter document has no total"))
	}
	doc.Document.Total = *doc.Total
	return &doc.Document, nil
}

func snapshot(doc *counters.Document) storage.Snapshot {
	node := runfile.StorageNode{Name: doc.Name}
	if doc.CPUSeconds != nil {
		node.BusyMicroseconds = storage.Count(*doc.CPUSeconds * 1e6)
	}
	if doc.Cores > 0 {
		node.Cores = &doc.Cores
	}
	s := storage.Snapshot{Epoch: doc.StartTime.UTC().Format(time.RFC3339Nano), StorageSample: runfile.StorageSample{
		Time: doc.Time, Nodes: []runfile.StorageNode{node},
		ReadOps: storage.Count(doc.Total.ReadOps), WriteOps: storage.Count(doc.Total.WriteOps),
		OtherOps:  storage.Count(doc.Total.OtherOps),
		ReadBytes: storage.Count(doc.Total.ReadBytes), WriteBytes: storage.Count(doc.Total.WrittenBytes),
	}}
	for _, l := range doc.Listeners {
		s.Paths = append(s.Paths, runfile.StoragePath{
			Address:   l.Address,
			ReadBytes: storage.Count(l.ReadBytes), WriteBytes: storage.Count(l.WrittenBytes),
			Ops: storage.Count(l.ReadOps + l.WriteOps + l.OtherOps),
		})
	}
	slices.SortFunc(s.Paths, func(a, b runfile.StoragePath) int { return cmp.Compare(a.Address, b.Address) })
	return s
}
