package main

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestTheOranfstabIsPrintedAndNothingElse(t *testing.T) {
	t.Parallel()
	b, m := finished(t, "demo", 1)
	late, mLate := finished(t, "late", 1)
	want := late.Status.Resolved.Oranfstab
	late.Status.Resolved = nil
	kernel := gen.Benchmark("kernel", gen.Kernel)
	external, mounted := gen.Benchmark("external", gen.Calibrate(1), gen.External("db1:1521/ORCL")), gen.Benchmark("mounted", gen.NoOranfstab)
	fresh, failed := gen.Benchmark("fresh"), gen.Benchmark("failed")
	failed.Status.Phase, failed.Status.Message = v1alpha1.PhaseFailed, "no path"
	s := newShell(t, b, m, late, mLate, kernel, external, mounted, fresh, failed, suiteOf("s", nil))
	if o := s.run("oranfstab", "demo").mustEnd(t, cli.ExitOK); strings.TrimSpace(o.out) != strings.TrimSpace(b.Status.Resolved.Oranfstab) || o.err != "" || !strings.Contains(o.out, "path:") {
		t.Errorf("printed %q and %q", o.out, o.err)
	}
	if o := s.run("oranfstab", "late").mustEnd(t, cli.ExitOK); strings.TrimSpace(o.out) != strings.TrimSpace(want) {
		t.Errorf("of the result: %q", o.out)
	}
	s.run("oranfstab", "kernel").mustEnd(t, cli.ExitFailed).mustSay(t, "uses the kernel's mount")
	s.run("oranfstab", "external").mustEnd(t, cli.ExitFailed).mustSay(t, "set database.external.mountPath")
	s.run("oranfstab", "mounted").mustEnd(t, cli.ExitFailed).mustSay(t, "runs without an oranfstab")
	s.run("oranfstab", "fresh").mustEnd(t, cli.ExitFailed).mustSay(t, "no oranfstab yet")
	s.run("oranfstab", "failed").mustEnd(t, cli.ExitFailed).mustSay(t, "before it had an oranfstab: no path")
	s.run("oranfstab", "suite/s").mustEnd(t, cli.ExitBadInput).mustSay(t, "name one of its benchmarks")
}
