package exporter

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// maxCores is above the cores of any server.
const maxCores = 1 << 16

// reading holds the metrics of one server.
type reading struct {
	busy     *int64 // microseconds
	cores    *int32
	boot     float64 // Unix seconds; 0 = unknown
	counters counters
}

// counters holds the counters that are summed over the servers; nil = unknown.
type counters struct{ readOps, writeOps, otherOps, readBytes, writeBytes *int64 }

type families map[string]*dto.MetricFamily

// decode parses a page of metrics. A page without any known metric is a permanent error, because it comes
// from another kind of server.
func decode(body []byte) (reading, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return reading{}, storage.Permanent(fmt.Errorf("the answer is no page of metrics in Prometheus' text format (a " +
			"metric in it cannot be read)"))
	}
	all := families(parsed)
	if all.ofSeveral() {
		return reading{}, storage.Permanent(errors.New("the page has counters of several servers, as that of a federation " +
			"has: name the exporter of each server itself"))
	}
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
	case r.busy == nil:
		return reading{}, storage.Permanent(errors.New("there are metrics, but neither node_cpu_seconds_total or " +
			"node_nfsd_requests_total " +
			"of node_exporter nor nfs_requests_total of NFS-Ganesha (which needs Enable_Dynamic_Metrics)"))
	}
	return r, nil
}

// ofSeveral reports whether two metrics differ only in the labels instance and job: their sum would add up
// two servers, and only the last of two boot times would count.
func (f families) ofSeveral() bool {
	for _, name := range []string{
		"node_boot_time_seconds", "node_cpu_seconds_total", "node_nfsd_requests_total", "node_nfsd_disk_bytes_read_total",
		"node_nfsd_disk_bytes_written_total", "nfs_requests_total", "nfs_bytes_sent_total", "nfs_bytes_received_total",
	} {
		seen := map[string]bool{}
		for _, m := range f[name].GetMetric() {
			var own []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "instance" && l.GetName() != "job" {
					own = append(own, l.GetName()+"="+l.GetValue())
				}
			}
			slices.Sort(own)
			key := strings.Join(own, "\x00")
			if seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// processors sums the busy time: all modes except idle and iowait. Time that a hypervisor gave to other
// guests was not available, and counts as busy.
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
	r.busy, r.cores = storage.Count(busy*1e6), new(int32(len(cores)))
}

// servesNothing reports whether node_exporter ran its collector nfsd. It holds for a page without counters of
// an NFS server.
func servesNothing(all families) bool {
	return slices.ContainsFunc(all["node_scrape_collector_success"].GetMetric(),
		func(m *dto.Metric) bool { return label(m, "collector") == "nfsd" })
}

func zero() counters {
	return counters{new(int64(0)), new(int64(0)), new(int64(0)), new(int64(0)), new(int64(0))}
}

// total sums the wanted metrics of a family; nil = there is no such family.
func (f families) total(name string, wanted func(*dto.Metric) bool) *int64 {
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
	return storage.Count(sum)
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

// sum adds up the counters of all servers. A counter that one server lacks is nil.
func sum(readings []reading) counters {
	t := zero()
	for _, r := range readings {
		c := r.counters
		t = counters{
			add(t.readOps, c.readOps), add(t.writeOps, c.writeOps), add(t.otherOps, c.otherOps),
			add(t.readBytes, c.readBytes), add(t.writeBytes, c.writeBytes),
		}
	}
	return t
}

func add(a, b *int64) *int64 {
	if a == nil || b == nil || *a > math.MaxInt64-*b {
		return nil
	}
	return new(*a + *b)
}

// operation returns the name of an NFS operation without the prefixes of builds: READ, NFS3_READ and OP_READ
// are all read.
func operation(name string) string {
	name = strings.ToLower(name)
	for _, prefix := range []string{"nfs3_", "nfsproc3_", "nfs4_", "nfs_", "op_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// kernelServer reads the metrics of the kernel's NFS server.
func kernelServer(all families) counters {
	const requests = "node_nfsd_requests_total"
	everything := func(*dto.Metric) bool { return true }
	method := func(name string) func(*dto.Metric) bool {
		return func(m *dto.Metric) bool { return label(m, "method") == name }
	}
	other := func(m *dto.Metric) bool {
		// In NFSv4 every other operation comes with operations that only carry file handles.
		return !slices.Contains([]string{"Read", "Write", "PutFH", "GetFH", "SaveFH", "RestoreFH"}, label(m, "method"))
	}
	// node_exporter reports all operations, also those with a count of zero: a missing one was lost on the way.
	of := func(name string) *int64 {
		if !slices.ContainsFunc(all[requests].GetMetric(), method(name)) {
			return nil
		}
		return all.total(requests, method(name))
	}
	c := counters{
		readOps:    of("Read"),
		writeOps:   of("Write"),
		otherOps:   all.total(requests, other),
		readBytes:  all.total("node_nfsd_disk_bytes_read_total", everything),
		writeBytes: all.total("node_nfsd_disk_bytes_written_total", everything),
	}
	if wraps(all) {
		c.readBytes, c.writeBytes = nil, nil
	}
	if v4 := all.total(requests, func(m *dto.Metric) bool { return label(m, "proto") == "4" }); v4 != nil && *v4 > 0 &&
		miscountsWrites(all) {
		c.writeOps, c.otherOps = nil, nil
	}
	return c
}

// wraps reports whether the counters of bytes may have 32 bits, as in kernels before 5.12. A counter above 32
// bits proves that they have more; a kernel of unknown release may be older.
func wraps(all families) bool {
	for _, name := range []string{"node_nfsd_disk_bytes_read_total", "node_nfsd_disk_bytes_written_total"} {
		for _, m := range all[name].GetMetric() {
			if value(m) > math.MaxUint32 {
				return false
			}
		}
	}
	for _, m := range all["node_uname_info"].GetMetric() {
		return isBefore(label(m, "release"), 5, 12)
	}
	return true
}

// isBefore reports whether a version is older than major.minor, or cannot be parsed.
func isBefore(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rest)
	}
	x, errX := strconv.Atoi(first)
	y, errY := strconv.Atoi(rest[:digits])
	return errX != nil || errY != nil || x < major || x == major && y < minor
}

// miscountsWrites reports whether this node_exporter counts another operation of NFSv4 as WRITE: versions
// before 1.7 read column 36 of proc4ops, SETCLIENTID_CONFIRM, instead of 38 (prometheus/procfs, pull request
// 543). An exporter of unknown version may be older.
func miscountsWrites(all families) bool {
	for _, m := range all["node_exporter_build_info"].GetMetric() {
		return isBefore(label(m, "version"), 1, 7)
	}
	return true
}

// ganesha reads the metrics of NFS-Ganesha, which omits operations with a count of zero: an operation that is
// missing in a present family is zero. Depending on the version, either sent or received holds the bytes of a
// READ; the other one is zero.
func ganesha(all families) counters {
	of := func(wanted string) func(*dto.Metric) bool {
		return func(m *dto.Metric) bool { return operation(label(m, "operation")) == wanted }
	}
	other := func(m *dto.Metric) bool {
		named := []string{"read", "write", "putfh", "getfh", "savefh", "restorefh", "putrootfh", "sequence"}
		return !slices.Contains(named, operation(label(m, "operation")))
	}
	data := func(wanted string) *int64 {
		sent, received := all.total("nfs_bytes_sent_total", of(wanted)), all.total("nfs_bytes_received_total", of(wanted))
		if sent == nil || received == nil {
			return nil
		}
		return new(max(*sent, *received))
	}
	const requests = "nfs_requests_total"
	return counters{
		readOps: all.total(requests, of("read")), writeOps: all.total(requests, of("write")),
		otherOps:  all.total(requests, other),
		readBytes: data("read"), writeBytes: data("write"),
	}
}
