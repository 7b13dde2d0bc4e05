package exporter

import "testing"

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
	if r.cpuSeconds == nil || *r.cpuSeconds != 34 || r.cores == nil || *r.cores != 2 {
		t.Errorf("busy for %v s, %v cores; want 34 s of 2", r.cpuSeconds, r.cores)
	}
}
