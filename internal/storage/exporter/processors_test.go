package exporter

import (
	"strings"
	"testing"
)

// A processor that waits for a disk could do something else: it is idle.
func TestAProcessorThatWaitsForADiskIsNotBusy(t *testing.T) {
	r, err := decode([]byte(`# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000
node_cpu_seconds_total{cpu="0",mode="iowait"} 200
node_cpu_seconds_total{cpu="0",mode="system"} 30
node_cpu_seconds_total{cpu="1",mode="user"} 4
`))
	if err != nil {
		t.Fatal(err)
	}
	if r.busy == nil || *r.busy != 34e6 || r.cores == nil || *r.cores != 2 {
		t.Errorf("busy for %v us, %v cores; want 34 s of 2", r.busy, r.cores)
	}
}

func TestAPageOfSeveralServersIsRefused(t *testing.T) {
	for _, page := range []string{
		"node_boot_time_seconds{instance=\"a\"} 1e9\nnode_boot_time_seconds{instance=\"b\"} 1.5e9\n",
		"node_nfsd_requests_total{proto=\"3\",method=\"Read\",instance=\"a\",job=\"x\"} 5\n" +
			"node_nfsd_requests_total{method=\"Read\",proto=\"3\",instance=\"b\",job=\"x\"} 7\n",
		"nfs_requests_total{operation=\"read\"} 5\nnfs_requests_total{operation=\"read\"} 7\n",
	} {
		page += "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 4\n"
		if r, err := decode([]byte(page)); err == nil || !strings.Contains(err.Error(), "several servers") {
			t.Errorf("%+v, %v of\n%s", r, err, page)
		}
	}
}
