package collect

import (
	"math"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/connect"
)

// planSources makes the sources that the plan names. One that can not be made
// is a problem; the others are sampled.
func planSources(o Options, problem func(source string, err error)) []storage.Source {
	var sources []storage.Source
	for _, s := range o.Plan.Collect.Sources {
		if s.OneClient && o.Client != 0 {
			continue
		}
		source, err := connect.Open(s, connect.Options{SecretsDir: o.SecretsDir, Now: o.Now})
		if err != nil {
			problem(s.Name, err)
			continue
		}
		sources = append(sources, named{Source: source, name: s.Name})
	}
	return sources
}

// named gives a source the name that it has in the plan.
type named struct {
	storage.Source
	name string
}

func (n named) Name() string { return n.name }

// Close is that of the source.
func (n named) Close() error { return storage.Close(n.Source) }

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

		ReadMicroseconds:  signed(s.Total.ReadMicroseconds),
		WriteMicroseconds: signed(s.Total.WriteMicroseconds),
		VolumeNode:        ownerOf(s.Volumes),
	}
	for _, n := range s.Nodes {
		sample.Nodes = append(sample.Nodes, runfile.StorageNode{
			Name: n.Name, Cores: n.Cores,
			BusyMicroseconds: micros(n.CPUSeconds), BaseMicroseconds: micros(n.BaseSeconds),
		})
	}
	for _, p := range s.Paths {
		sample.Paths = append(sample.Paths, runfile.StoragePath{
			Address:    p.Address,
			Name:       p.Name,
			Node:       p.Node,
			ReadBytes:  signed(p.ReadBytes),
			WriteBytes: signed(p.WrittenBytes),
			Ops:        sum(p.ReadOps, p.WriteOps, p.OtherOps),
		})
	}
	for _, c := range s.Clients {
		sample.Clients = append(sample.Clients, runfile.StorageClient(c))
	}
	return sample
}

// ownerOf is the node that owns the data; empty where several do.
func ownerOf(volumes []storage.VolumeCounters) string {
	var owner string
	for _, v := range volumes {
		if owner != "" && v.Node != owner {
			return ""
		}
		owner = v.Node
	}
	return owner
}

// micros is nil for what is unknown or does not fit.
func micros(seconds *float64) *int64 {
	if seconds == nil || !(*seconds >= 0 && *seconds < math.MaxInt64/microsecondsPerSecond) {
		return nil
	}
	return new(int64(*seconds * microsecondsPerSecond))
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
