package exporter

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzDecodeMetrics reads hostile bytes as a page of metrics: what is none is refused for
// good, and the rest is plausible.
func FuzzDecodeMetrics(f *testing.F) {
	f.Add([]byte("# TYPE node_cpu_seconds_total counter\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1.5\nnode_boot_time_seconds 1.79e+09\n"))
	f.Add([]byte("node_nfsd_requests_total{method=\"Read\",proto=\"3\"} 1\nnode_nfsd_disk_bytes_read_total NaN\n"))
	f.Add([]byte("# TYPE nfs_requests_total counter\nnfs_requests_total{operation=\"read\"} 1e300\nnfs_bytes_sent_total -1\n"))
	f.Add([]byte("# TYPE nfs_requests_total histogram\nnfs_requests_total_bucket{le=\"1\"} 1\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		memory.Bound(t, 512*len(body), func() {
			r, err := decode(body)
			if err != nil {
				if !storage.IsPermanent(err) {
					t.Fatalf("asked again after %v", err)
				}
				return
			}
			if r.cores != nil && *r.cores < 1 || r.busy != nil && *r.busy < 0 || r.busy != nil && r.cores == nil || r.boot < 0 {
				t.Fatalf("reading %+v", r)
			}
			sum([]reading{r, r})
		})
	})
}
