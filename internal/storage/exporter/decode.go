package exporter

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// maxCores is beyond every server.
const maxCores = 1 << 16

// reading is what one server said.
type reading struct {
	cpuSeconds *float64
	cores      *int32
	boot       float64 // Unix seconds; 0 = not told
	counters   storage.Counters
}

type families map[string]*dto.MetricFamily

// decode reads a page of metrics. One without any that we know is refused for good: another
// server is there.
func decode(body []byte) (reading, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return reading{}, storage.Permanent(fmt.Errorf("the answer is no page of metrics in Prometheus' text format (a " +
			"metric in it cannot be read)"))
	}
	all := families(parsed)
	var r reading
	r.processors(all)
	for _, m := range all["node_boot_time_seconds"].GetMetric() {
		if v := value(m); v > 0 && v < math.MaxUint32 {
			r.boot = v
		}
	}
	switch {
	case all["node_nfsd_requests_total"] != nil:
		r.counters = kernelServer(all)
	case all["nfs_requests_total"] != nil || all["nfs_bytes_sent_total"] != nil:
		r.counters = ganesha(all)
	case servesNothing(all):
		r.counters = zero()
	case r.cpuSeconds == nil:
		return reading{}, storage.Permanent(errors.New("there are metrics, but neither node_cpu_seconds_total or " +
			"node_nfsd_requests_total " +
			"of node_exporter nor nfs_requests_total of NFS-Ganesha (which needs Enable_Dynamic_Metrics)"))
	}
	return r, nil
}

// processors sums the busy time: all but idle and waiting for I/O, as everywhere here. Time
// that a hypervisor gave to others was not to be had, and counts as busy.
func (r *reading) processors(all families) {
	cores := map[string]bool{}
	busy := 0.0
	for _, m := range all["node_cpu_seconds_total"].GetMetric() {
		v := value(m)
		if math.IsNaN(v) || v < 0 {
			return
		}
		cores[label(m, "cpu")] = true
		if mode := label(m, "mode"); mode != "idle" && mode != "iowait" {
			busy += v
		}
	}
	if len(cores) == 0 || len(cores) > maxCores || math.IsInf(busy, 0) {
		return
	}
	r.cpuSeconds, r.cores = &busy, new(int32(len(cores)))
}

// servesNothing reports whether node_exporter looked for the kernel's NFS server in vain.
func servesNothing(all families) bool {
	return slices.ContainsFunc(all["node_scrape_collector_success"].GetMetric(),
		func(m *dto.Metric) bool { return label(m, "collector") == "nfsd" })
}

func zero() storage.Counters {
	return storage.Counters{
		ReadOps: new(uint64(0)), WriteOps: new(uint64(0)), OtherOps: new(uint64(0)),
		ReadBytes: new(uint64(0)), WrittenBytes: new(uint64(0)),
	}
}

// total sums the metrics of a family that are wanted; nil = there is no such family.
func (f families) total(name string, wanted func(*dto.Metric) bool) *uint64 {
	family := f[name]
	if family == nil {
		return nil
	}
	sum := 0.0
	for _, m := range family.GetMetric() {
		if wanted(m) {
			sum += value(m)
		}
	}
	if !(sum >= 0 && sum < math.MaxInt64) {
		return nil
	}
	return new(uint64(sum))
}

func value(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	case m.GetUntyped() != nil:
		return m.GetUntyped().GetValue()
	}
	return math.NaN()
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// sum adds up what all servers counted; what one of them does not know is nil.
func sum(readings []reading) storage.Counters {
	total := zero()
	total.ReadMicroseconds, total.WriteMicroseconds = nil, nil
	for _, r := range readings {
		c := r.counters
		total.ReadOps, total.WriteOps, total.OtherOps = add(total.ReadOps, c.ReadOps), add(total.WriteOps,
			c.WriteOps), add(total.OtherOps, c.OtherOps)
		total.ReadBytes, total.WrittenBytes = add(total.ReadBytes, c.ReadBytes), add(total.WrittenBytes, c.WrittenBytes)
	}
	return total
}

func add(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// operation is the name of an NFS operation without what builds put before it: READ,
// NFS3_READ and OP_READ are all read.
func operation(name string) string {
	name = strings.ToLower(name)
	for _, prefix := range []string{"nfs3_", "nfsproc3_", "nfs4_", "nfs_", "op_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}
