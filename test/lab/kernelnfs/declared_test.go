package kernelnfs

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	planner "github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// declared are protocols as users declare them. The operator's own plan is run
// on a mount with the operator's own options.
func declared() map[string]declaration {
	return map[string]declaration{
		"declared-v3":       {version: bench.NFSv3, nconnect: 2, transfer: "128Ki", options: []string{"vers=3", "nolock"}, size: 128 << 10, verified: true},
		"declared-v3-ipv6":  {server: "::1", version: bench.NFSv3, nconnect: 2, transfer: "128Ki", options: []string{"vers=3", "nolock", "addr=::1"}, size: 128 << 10, verified: true},
		"declared-v41-ipv6": {server: "::1", version: bench.NFSv41, nconnect: 2, transfer: "128Ki", options: []string{"vers=4.1", "addr=::1"}, size: 128 << 10, verified: true},
		"declared-v41":      {version: bench.NFSv41, nconnect: 2, transfer: "128Ki", options: []string{"vers=4.1"}, size: 128 << 10, verified: true},
		"declared-pnfs":     {version: bench.PNFS, nconnect: 1, transfer: "128Ki", options: []string{"vers=4.1"}, size: 128 << 10, says: "used no layout", code: judge.ProtocolMismatch},
		"declared-capped":   {version: bench.NFSv41, nconnect: 1, transfer: "1Mi", options: []string{"vers=4.1"}, size: 64 << 10, verified: true, code: judge.TransferSizeReduced},
	}
}

type declaration struct {
	server   string // empty: 127.0.0.1
	version  bench.NFSVersion
	nconnect int32
	transfer string
	options  []string   // what the kernel reports about the mount, beside those of all
	size     int64      // of a READ, after the server had its say
	verified bool       // the protocol
	says     string     // the judge of the protocol
	code     judge.Code // of a finding; empty: neither of these two
}

// writeDeclared writes the plans, and beside each the source and the options for mount.nfs.
func writeDeclared(t *testing.T, dir string) {
	t.Helper()
	for name, d := range declared() {
		size, zero := resource.MustParse(d.transfer), int32(0)
		server := cmp.Or(d.server, "127.0.0.1")
		b := gen.Benchmark(name, gen.Export("/export/data", server), gen.Kernel, gen.Version(d.version), func(b *v1alpha1.NFSBenchmark) {
			b.Spec.Protocol.NConnect, b.Spec.Protocol.TransferSize = &d.nconnect, &size
			w := b.Spec.Workload.Raw
			w.Pattern, w.Jobs, w.Depth, w.Directory = bench.PatternRandomRead, jobs, depth, name
			w.BlockSize, w.FileSize = &size, resource.MustParse("16Mi")
			b.Spec.Run = bench.Run{DurationSeconds: 3, BaselineSeconds: &zero, WarmupSeconds: &zero, CooldownSeconds: &zero, Repetitions: 1}
		})
		p, err := planner.Build(b, planner.Target{Export: "/export/data", Paths: []bench.ResolvedPath{{Path: server}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.Collect.IntervalMilliseconds = 500 // the window is short
		writePlan(t, dir, p)
		for kind, text := range map[string]string{
			"source": runfile.MountSource(server, "/export/data"), "options": strings.Join(p.Engine.MountOptions, ","),
		} {
			if err := os.WriteFile(filepath.Join(dir, name+"."+kind), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkDeclared looks at what became of a declared protocol.
func checkDeclared(t *testing.T, g guest, name string, d declaration) {
	t.Helper()
	s := g.succeeded(t, name)
	r := g.result(t, s.name)
	m := checkLoad(t, r).Mount
	if m == nil {
		t.Fatal("the loader saw no mount")
	}
	proto := "proto=tcp"
	if d.server != "" {
		proto = "proto=tcp6"
	}
	if want := runfile.MountSource(cmp.Or(d.server, "127.0.0.1"), "/export/data"); m.Source != want {
		t.Errorf("the source of the mount is %q, want %q", m.Source, want)
	}
	for _, want := range append(d.options, "hard", proto, "timeo=600", "sec=sys") {
		if !slices.Contains(m.Options, want) {
			t.Errorf("the kernel mounted with %v, without %s", m.Options, want)
		}
	}
	if m.ReadSizeBytes != d.size || m.WriteSizeBytes != d.size {
		t.Errorf("a READ moves %d bytes and a WRITE %d, want %d", m.ReadSizeBytes, m.WriteSizeBytes, d.size)
	}
	windows := r.Clients[0].Observed.Windows
	if c := windows[len(windows)-1].Mount; c == nil || len(c.Transports) != int(d.nconnect) {
		t.Errorf("the kernel counted %+v, want %d connections", c, d.nconnect)
	}
	var j judge.Judgement
	if err := json.Unmarshal(g.report(t, name), &j); err != nil {
		t.Fatal(err)
	}
	t.Log(j.Protocol.Message)
	if v := j.Protocol.Verified; quiet(r, j) && d.verified && (v == nil || !*v) || j.Protocol.Mismatch == d.verified || !strings.Contains(j.Protocol.Message, d.says) {
		t.Errorf("protocol: %+v", j.Protocol)
	}
	for _, code := range []judge.Code{judge.ProtocolMismatch, judge.TransferSizeReduced} {
		if has := slices.ContainsFunc(j.Findings, func(f bench.Finding) bool { return f.Code == code }); has != (code == d.code) {
			t.Errorf("finding %s: %v; all: %+v", code, has, j.Findings)
		}
	}
}
