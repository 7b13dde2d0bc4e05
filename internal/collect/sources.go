package collect

import (
	"fmt"
	"math"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/embedded"
)

// planSources makes the sources that the plan names. One that can not be made
// is a problem; the others are sampled.
func planSources(o Options, problem func(source string, err error)) []storage.Source {
	var sources []storage.Source
	for _, s := range o.Plan.Collect.Sources {
		source, err := newSource(s)
		if err != nil {
			problem(s.Name, err)
			continue
		}
		sources = append(sources, named{Source: source, name: s.Name})
	}
	return sources
}

func newSource(s runfile.Source) (storage.Source, error) {
	switch s.Kind {
	case runfile.SourceEmbedded:
		return embedded.New(s.URL)
	default:
		return nil, fmt.Errorf("source kind %q is not known", s.Kind)
	}
}

// named gives a source the name that it has in the plan.
type named struct {
	storage.Source
	name string
}

func (n named) Name() string { return n.name }

// storageSample is a snapshot in the words of the result file.
func storageSample(source string, s storage.Snapshot) runfile.StorageSample {
	sample := runfile.StorageSample{
		Source:     source,
		Time:       s.Time.Round(0),
		ReadOps:    signed(s.Total.ReadOps),
		WriteOps:   signed(s.Total.WriteOps),
		OtherOps:   signed(s.Total.OtherOps),
		ReadBytes:  signed(s.Total.ReadBytes),
		WriteBytes: signed(s.Total.WrittenBytes),
	}
	for _, n := range s.Nodes {
		node := runfile.StorageNode{Name: n.Name, Cores: n.Cores}
		if n.CPUSeconds != nil && *n.CPUSeconds >= 0 && *n.CPUSeconds < math.MaxInt64/microsecondsPerSecond {
			node.BusyMicroseconds = new(int64(*n.CPUSeconds * microsecondsPerSecond))
		}
		sample.Nodes = append(sample.Nodes, node)
	}
	for _, p := range s.Paths {
		sample.Paths = append(sample.Paths, runfile.StoragePath{
			Address:    p.Address,
			ReadBytes:  signed(p.ReadBytes),
			WriteBytes: signed(p.WrittenBytes),
			Ops:        sum(p.ReadOps, p.WriteOps, p.OtherOps),
		})
	}
	return sample
}

// signed is nil for what is unknown or does not fit.
func signed(v *uint64) *int64 {
	if v == nil || *v > math.MaxInt64 {
		return nil
	}
	return new(int64(*v))
}

// sum is nil unless all parts are known.
func sum(parts ...*uint64) *int64 {
	var total int64
	for _, p := range parts {
		v := signed(p)
		if v == nil || total > math.MaxInt64-*v {
			return nil
		}
		total += *v
	}
	return &total
}
