package report

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
)

// unknown stands for a number that nobody told.
const unknown = "-"

// storage is what the storage saw of the run: its nodes, of which one that is no
// owner only passes on what it gets, and its addresses.
func storage(p *page, s judge.Summary) {
	nodes(p, s.StorageNodes)
	lifs(p, s.StoragePaths)
}

func nodes(p *page, all []judge.StorageNode) {
	if len(all) == 0 {
		return
	}
	names, width := make([]string, 0, len(all)), len("NODE")
	for _, n := range all {
		name := p.clean(n.Name)
		if several(all, func(n judge.StorageNode) string { return n.Source }) {
			name = p.clean(n.Source + "/" + n.Name)
		}
		names = append(names, name)
		width = max(width, columns(name))
	}
	width = min(width, p.width-44)
	p.line(p.paint(dim, fmt.Sprintf("%s %-12s %8s %8s", padded("NODE", width), "ROLE", "CPU IDLE", "LOADED")))
	for i, n := range all {
		row := fmt.Sprintf("%s %-12s %8s %8s ", padded(names[i], width), role(n), busy(n.BaselineCPUPermille), busy(n.CPUPermille))
		if n.CPUPermille != nil {
			row += p.paint(cyan, p.bar(float64(*n.CPUPermille)/1000, p.width-columns(row)))
		}
		p.line(row)
	}
	p.line("")
}

// several says that not all have the same.
func several[T any](all []T, of func(T) string) bool {
	for _, v := range all {
		if of(v) != of(all[0]) {
			return true
		}
	}
	return false
}

func role(n judge.StorageNode) string {
	var roles []string
	if n.Owner {
		roles = append(roles, "Owner")
	}
	if n.Entry {
		roles = append(roles, "Entry")
	}
	return strings.Join(roles, ", ")
}

func busy(permille *int32) string {
	if permille == nil {
		return unknown
	}
	return Tenths(*permille) + " %"
}

func lifs(p *page, all []judge.StoragePath) {
	if len(all) == 0 {
		return
	}
	names, name, node := make([]string, 0, len(all)), len("LIF"), len("NODE")
	for _, sp := range all {
		label := p.clean(strings.TrimSpace(sp.Address + " " + sp.LIF))
		names = append(names, label)
		name, node = max(name, columns(label)), max(node, columns(p.clean(sp.Node)))
	}
	node = min(node, (p.width-36)/3)
	name = min(name, p.width-36-node)
	p.line(p.paint(dim, fmt.Sprintf("%s %s %-6s %12s %12s", padded("LIF", name), padded("NODE", node), "DATA", "READ", "WRITTEN")))
	for i, sp := range all {
		where := padded(whereabouts(sp), len("remote"))
		row := fmt.Sprintf("%s %s ", padded(names[i], name), padded(p.clean(sp.Node), node))
		colour := ""
		if sp.Local != nil && !*sp.Local && moved(sp) {
			colour = yellow
		}
		p.line(row + p.paint(colour, where) + fmt.Sprintf(" %12s %12s", amount(sp.ReadBytes), amount(sp.WriteBytes)))
	}
	p.line("")
}

func whereabouts(sp judge.StoragePath) string {
	switch {
	case sp.Local == nil:
		return unknown
	case *sp.Local:
		return "local"
	default:
		return "remote"
	}
}

func moved(sp judge.StoragePath) bool {
	return sp.ReadBytes != nil && *sp.ReadBytes > 0 || sp.WriteBytes != nil && *sp.WriteBytes > 0
}

func amount(bytes *int64) string {
	if bytes == nil {
		return unknown
	}
	return Gibibytes(*bytes)
}

// storageLoad puts the latency of the storage beside that of the client: the
// difference is the way between them, and the client itself.
func storageLoad(p *page, s judge.Summary) {
	var parts []string
	if v := s.Storage.OperationsPerSecond; v != nil {
		parts = append(parts, fmt.Sprintf("%d IOPS", *v))
	}
	if v := s.Storage.BytesPerSecond; v != nil {
		parts = append(parts, Rate(*v)+" MB/s")
	}
	if v := s.Storage.MeanLatencyMicroseconds; v != nil {
		mean := "mean " + Latency(*v)
		if l := s.Total.Latency; l != nil && l.MeanMicroseconds >= *v {
			mean += " of the client's " + Latency(l.MeanMicroseconds)
			parts = append(parts, mean, Latency(l.MeanMicroseconds-*v)+" on the way")
		} else {
			parts = append(parts, mean)
		}
	}
	if len(parts) > 0 {
		p.fact("storage", strings.Join(whole(parts), ", "))
	}
}
