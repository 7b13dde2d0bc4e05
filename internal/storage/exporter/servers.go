package exporter

import (
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// kernelServer reads what node_exporter reports about the kernel's NFS server.
func kernelServer(all families) storage.Counters {
	const requests = "node_nfsd_requests_total"
	everything := func(*dto.Metric) bool { return true }
	method := func(names ...string) func(*dto.Metric) bool {
		return func(m *dto.Metric) bool { return slices.Contains(names, label(m, "method")) }
	}
	other := func(m *dto.Metric) bool {
		// Operations that only carry file handles come with each of NFSv4's others.
		return !slices.Contains([]string{"Read", "Write", "PutFH", "GetFH", "SaveFH", "RestoreFH"}, label(m, "method"))
	}
	c := storage.Counters{
		ReadOps: all.total(requests, method("Read")), WriteOps: all.total(requests,
			method("Write")), OtherOps: all.total(requests, other),
		ReadBytes:    all.total("node_nfsd_disk_bytes_read_total", everything),
		WrittenBytes: all.total("node_nfsd_disk_bytes_written_total", everything),
	}
	if v4 := all.total(requests, func(m *dto.Metric) bool { return label(m, "proto") == "4" }); v4 != nil && *v4 > 0 &&
		miscountsWrites(all) {
		c.WriteOps, c.OtherOps = nil, nil
	}
	return c
}

// miscountsWrites reports whether this node_exporter takes another operation of NFSv4 for
// WRITE: those before 1.7 read column 36 of proc4ops, SETCLIENTID_CONFIRM, instead of 38
// (prometheus/procfs, pull request 543). One that does not say its version may be older.
func miscountsWrites(all families) bool {
	for _, m := range all["node_exporter_build_info"].GetMetric() {
		major, rest, _ := strings.Cut(label(m, "version"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		x, errX := strconv.Atoi(major)
		y, errY := strconv.Atoi(minor)
		return errX != nil || errY != nil || x < 1 || x == 1 && y < 7
	}
	return true
}

// ganesha reads what NFS-Ganesha reports about itself. It leaves out operations that never came,
// so what is missing in a family that is there is zero. Which of sent and received holds the
// bytes of a READ differs by version; the other one is zero then.
func ganesha(all families) storage.Counters {
	of := func(wanted string) func(*dto.Metric) bool {
		return func(m *dto.Metric) bool { return operation(label(m, "operation")) == wanted }
	}
	other := func(m *dto.Metric) bool {
		o := operation(label(m, "operation"))
		return !slices.Contains([]string{
			"read", "write", "putfh", "getfh", "savefh", "restorefh", "putrootfh",
			"sequence",
		}, o)
	}
	bytes := func(wanted string) *uint64 {
		sent, received := all.total("nfs_bytes_sent_total", of(wanted)), all.total("nfs_bytes_received_total", of(wanted))
		if sent == nil || received == nil {
			return nil
		}
		return new(max(*sent, *received))
	}
	const requests = "nfs_requests_total"
	return storage.Counters{
		ReadOps: all.total(requests, of("read")), WriteOps: all.total(requests,
			of("write")), OtherOps: all.total(requests, other),
		ReadBytes: bytes("read"), WrittenBytes: bytes("write"),
	}
}
