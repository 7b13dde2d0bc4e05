package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheArraysLatencyIsThatOfAllItsOperationsOrNotKnown(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		w    runfile.StorageWindow
		want *int64
	}{
		"both":             {runfile.StorageWindow{ReadOps: new(int64(10)), ReadMicroseconds: new(int64(1000)), WriteOps: new(int64(30)), WriteMicroseconds: new(int64(9000))}, new(int64(250))},
		"reads only":       {runfile.StorageWindow{ReadOps: new(int64(10)), ReadMicroseconds: new(int64(1000)), WriteOps: new(int64(0))}, new(int64(100))},
		"too few":          {runfile.StorageWindow{ReadOps: new(int64(9)), ReadMicroseconds: new(int64(900)), WriteOps: new(int64(0))}, nil},
		"writes unknown":   {runfile.StorageWindow{ReadOps: new(int64(10)), ReadMicroseconds: new(int64(1000)), WriteOps: new(int64(5))}, nil},
		"counts unknown":   {runfile.StorageWindow{ReadMicroseconds: new(int64(1000)), WriteOps: new(int64(50)), WriteMicroseconds: new(int64(1))}, nil},
		"below zero":       {runfile.StorageWindow{ReadOps: new(int64(10)), ReadMicroseconds: new(int64(-5)), WriteOps: new(int64(0))}, nil},
		"nothing happened": {runfile.StorageWindow{ReadOps: new(int64(0)), WriteOps: new(int64(0))}, nil},
	}
	for name, tc := range cases {
		tc.w.Seconds = 10
		if diff := cmp.Diff(tc.want, storageLoad(nil, []runfile.StorageWindow{tc.w}).MeanLatencyMicroseconds); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestASourceMeasuresLatencyInItsLayer(t *testing.T) {
	t.Parallel()
	sources := []runfile.Source{
		{Name: "o", Kind: runfile.SourceONTAP},
		{Name: "h", Kind: runfile.SourcePrometheus},
		{Name: "q", Kind: runfile.SourcePrometheus, Queries: map[string]string{"readLatencyMicroseconds": "x"}},
		{Name: "f", Kind: runfile.SourceFlashBlade},
	}
	var got []string
	for _, name := range []string{"o", "h", "q", "f"} {
		got = append(got, latencyLayer(sources, name))
	}
	if diff := cmp.Diff([]string{LayerVolume, LayerVolume, "", LayerProtocol}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheServerOfAMountIsReadFromItsOptionsOrItsSource(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]*runfile.MountFacts{
		"":           nil,
		"10.0.1.61":  {Source: "10.0.1.61:/vol"},
		"10.0.2.61":  {Source: "array:/vol", Options: []string{"rw", "addr=10.0.2.61", "clientaddr=10.0.9.9"}},
		"fd00::1":    {Source: "[fd00::1]:/vol"},
		"array.test": {Source: "array.test:/vol"},
	} {
		if got := mountedAddress(m); got != want {
			t.Errorf("%s of %+v, want %s", got, m, want)
		}
	}
	if got := mountedAddress(&runfile.MountFacts{Source: "/dev/sda"}); got != "" {
		t.Errorf("a disk has the server %s", got)
	}
}
