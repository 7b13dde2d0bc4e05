package plan_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func target(addresses ...string) plan.Target {
	paths, err := plan.SelectPaths(v1alpha1.NFSBenchmarkSpec{}, addresses, nil)
	if err != nil {
		panic(err) // without a survey nothing can be wrong
	}
	return plan.Target{Export: "/vol/oradata", Paths: paths}
}

func build(t *testing.T, to plan.Target, mods ...gen.Mod) runfile.Plan {
	t.Helper()
	p, err := plan.Build(gen.Benchmark("demo", append([]gen.Mod{gen.UID("uid-1")}, mods...)...), to)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPlanOfDirectNFS(t *testing.T) {
	p := build(t, target("10.0.1.61", "10.0.2.61"), gen.Link("10G", 9000), gen.Expect(500), gen.Clients(2), gen.Repetitions(3))
	user := uint32(54321)
	want := runfile.Engine{
		Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Security: "sys", Export: "/vol/oradata", Server: "demo",
		Channels:            runfile.ChannelsTo("10.0.1.61", "10.0.2.61"),
		MountTimeoutSeconds: 30, CallTimeoutSeconds: 600, UserID: &user, GroupID: &user, RequireNFS: true,
	}
	if diff := cmp.Diff(want, p.Engine); diff != "" {
		t.Errorf("engine (-want +got):\n%s", diff)
	}
	const tab = "server: demo\npath: 10.0.1.61\npath: 10.0.2.61\nnfs_version: nfsv3\nmnt_timeout: 30\nexport: /vol/oradata mount: /mnt/nfsbench\n"
	if got := gen.Oranfstab(t, p); got != tab {
		t.Errorf("oranfstab:\n%s\nwant:\n%s", got, tab)
	}
	if p.Clients != 2 || p.Link == nil || p.Link.BitsPerSecond.Value() != 10e9 || p.Link.MTU != 9000 {
		t.Errorf("clients %d, link %+v", p.Clients, p.Link)
	}
	if p.Expect == nil || *p.Expect.MinMegabytesPerSecond != 500 {
		t.Errorf("expect %+v", p.Expect)
	}
	// 3 x (2 baseline + 2 warm-up + 10), 256 MiB at 50 MB/s, 10 to read back, 180 to start, 30 to mount, 600 for the last I/Os.
	if got, want := p.Schedule.TimeoutSeconds, int32(42+5+10+180+30+600); got != want {
		t.Errorf("times out after %d s, want %d", got, want)
	}
}

func TestAPlanOfTheKernel(t *testing.T) {
	four, size := int32(4), resource.MustParse("64Ki")
	tune := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Protocol.NConnect, b.Spec.Protocol.TransferSize = &four, &size
	}
	rdma := func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Transport = bench.TransportRDMA }
	for server, want := range map[string]string{
		"fd00::1": "rw,hard,proto=tcp6,timeo=600,nfsvers=3,nolock,sec=sys", "nas1.example": "rw,hard,proto=tcp,timeo=600,nfsvers=3,nolock,sec=sys",
	} {
		if got := strings.Join(build(t, target(server), gen.Kernel).Engine.MountOptions, ","); got != want {
			t.Errorf("%s: mount options %s, want %s", server, got, want)
		}
	}
	if got := build(t, target("fd00::1"), gen.Kernel, rdma).Engine.MountOptions; !slices.Contains(got, "proto=rdma6") {
		t.Errorf("RDMA over IPv6: mount options %s, want proto=rdma6", got)
	}
	cases := map[string]struct {
		mods []gen.Mod
		want string
	}{
		"V3":    {nil, "rw,hard,proto=tcp,timeo=600,nfsvers=3,nolock,sec=sys"},
		"V40":   {[]gen.Mod{gen.Version(bench.NFSv40)}, "rw,hard,proto=tcp,timeo=600,nfsvers=4.0,sec=sys"},
		"V41":   {[]gen.Mod{gen.Version(bench.NFSv41), tune}, "rw,hard,proto=tcp,timeo=600,nfsvers=4.1,rsize=65536,wsize=65536,nconnect=4,sec=sys"},
		"V42":   {[]gen.Mod{gen.Version(bench.NFSv42)}, "rw,hard,proto=tcp,timeo=600,nfsvers=4.2,sec=sys"},
		"RDMA":  {[]gen.Mod{rdma}, "rw,hard,proto=rdma,timeo=600,nfsvers=3,nolock,sec=sys"},
		"PNFS":  {[]gen.Mod{gen.Version(bench.PNFS)}, "rw,hard,proto=tcp,timeo=600,nfsvers=4.1,sec=sys"},
		"Krb5p": {[]gen.Mod{func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Security = "krb5p" }}, "rw,hard,proto=tcp,timeo=600,nfsvers=3,nolock,sec=krb5p"},
	}
	for name, tc := range cases {
		p := build(t, target("10.0.1.61"), append([]gen.Mod{gen.Kernel}, tc.mods...)...)
		if got := strings.Join(p.Engine.MountOptions, ","); got != tc.want {
			t.Errorf("%s: mount options %s, want %s", name, got, tc.want)
		}
		if p.Engine.MountPath != plan.MountPath || len(p.Engine.Channels) > 0 || !p.Engine.RequireNFS {
			t.Errorf("%s: engine %+v", name, p.Engine)
		}
	}
}

func TestAVolumeThatIsNotNFSMayBeMeasuredOnRequest(t *testing.T) {
	measure := func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Claim.NonNFS = v1alpha1.NonNFSMeasure }
	if build(t, plan.Target{}, gen.Claim("x"), gen.Kernel, measure).Engine.RequireNFS {
		t.Error("refuses what was asked for")
	}
	if !build(t, plan.Target{}, gen.Claim("x"), gen.Kernel).Engine.RequireNFS {
		t.Error("measures what was not asked for")
	}
}

func TestAPlanDependsOnNothingElse(t *testing.T) {
	a, b := build(t, target("10.0.1.61")), build(t, target("10.0.1.61"))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two plans of one benchmark differ:\n%s", diff)
	}
	if other := build(t, target("10.0.1.61"), gen.UID("uid-2")); other.Seed == a.Seed {
		t.Error("two benchmarks have the same seed")
	}
	seven := int64(7)
	own := build(t, target("10.0.1.61"), func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.Seed = &seven })
	if own.Seed != 7 {
		t.Errorf("the user's seed became %d", own.Seed)
	}
}

func TestWhatCannotBePlannedIsSaid(t *testing.T) {
	cases := map[string]struct {
		to   plan.Target
		mods []gen.Mod
		says string
	}{
		"NoPath":       {plan.Target{Export: "/x"}, nil, "path"},
		"BrokenExport": {plan.Target{Export: "/x\nserver: evil", Paths: target("10.0.1.61").Paths}, nil, "export"},
		"BrokenPath":   {plan.Target{Export: "/x", Paths: []bench.ResolvedPath{{Path: "10.0.1.61 local: 1.2.3.4"}}}, nil, "path"},
		"FivePaths":    {target("10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.4.1", "10.0.5.1"), nil, "1 to 4"},
		"ShortTimeout": {target("10.0.1.61"), []gen.Mod{func(b *v1alpha1.NFSBenchmark) { ten := int32(10); b.Spec.Run.TimeoutSeconds = &ten }}, "timeoutSeconds"},
	}
	for name, tc := range cases {
		_, err := plan.Build(gen.Benchmark("demo", tc.mods...), tc.to)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want it to speak of %q", name, err, tc.says)
		}
	}
}

func TestHugeFilesDoNotOverflowTheTimeout(t *testing.T) {
	p := build(t, target("10.0.1.61"), gen.Clients(64), func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Raw.FileSize = *resource.NewQuantity(math.MaxInt64-math.MaxInt64%(1<<20), resource.BinarySI)
		b.Spec.Workload.Raw.Jobs = 256
	})
	if p.Schedule.TimeoutSeconds < 86400 {
		t.Errorf("times out after %d s", p.Schedule.TimeoutSeconds)
	}
	if fill := plan.FillTime(p); fill < 24*time.Hour {
		t.Errorf("fills for %s", fill)
	}
}

// TestDataThatTakesMostOfTheTimeIsDescribed, because a user then makes it smaller first.
func TestDataThatTakesMostOfTheTimeIsDescribed(t *testing.T) {
	t.Parallel()
	large := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.FileSize = resource.MustParse("10Ti") }
	limited := func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.TimeoutSeconds = new(int32(600)) }
	copying := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.Pattern = bench.PatternCopy }
	scale := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.SLOB.Scale = resource.MustParse("1Ti") }
	for name, tc := range map[string]struct {
		mods        []gen.Mod
		data, field string
	}{
		"small files":      {nil, "", ""},
		"a limit of time":  {[]gen.Mod{large, limited}, "", ""},
		"files of clients": {[]gen.Mod{large, gen.Clients(2)}, "writing 4 files of 10Ti (40 TiB) takes 244h20m9s on slow storage (50 MB/s)", "workload.raw.fileSize"},
		"files of a copy":  {[]gen.Mod{large, copying}, "writing 4 files of 10Ti (40 TiB) takes 244h20m9s on slow storage (50 MB/s)", "workload.raw.fileSize"},
		"tables": {
			[]gen.Mod{gen.Container("x", v1alpha1.EditionEnterprise), gen.SLOB(bench.SLOBRandomRead), scale},
			"writing 1 table of 1Ti (1 TiB) takes 61h5m2s on slow storage (5 MB/s)", "workload.slob.scale",
		},
	} {
		b := gen.Benchmark("demo", tc.mods...)
		_, data, field := plan.HoldTime(b, build(t, target("a.b"), tc.mods...))
		if data != tc.data || field != tc.field {
			t.Errorf("%s: %q in field %q, want %q in %q", name, data, field, tc.data, tc.field)
		}
	}
}

func TestACopyFillsTwice(t *testing.T) {
	five := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.FileSize = resource.MustParse("5000Mi") }
	copying := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.Raw.Pattern = bench.PatternCopy }
	read, twice := build(t, target("a.b"), five), build(t, target("a.b"), five, copying)
	if d := twice.Schedule.TimeoutSeconds - read.Schedule.TimeoutSeconds; d < 200 || d > 220 {
		t.Errorf("a copy has %d s more than a read, want those of two more files", d)
	}
}

func TestServerKeys(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     []string
		want   []string
	}{
		"Sorted":   {"The order of the spec does not matter", []string{"b", "a"}, []string{"server/a", "server/b"}},
		"Case":     {"Names have no case", []string{"Filer"}, []string{"server/filer"}},
		"Spelling": {"An address has several spellings", []string{"FD00:0::1", "fd00::1"}, []string{"server/fd00::1"}},
	}
	for name, tc := range cases {
		if got := plan.ServerKeys(tc.in); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %s: got %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

func TestSelectPaths(t *testing.T) {
	b := gen.Benchmark("demo", gen.Paths([2]string{"192.168.1.5", "10.0.2.61"}))
	got, err := plan.SelectPaths(b.Spec, []string{"10.0.1.61", "10.0.2.61"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bench.ResolvedPath{{Local: "192.168.1.5", Path: "10.0.2.61"}}, got); diff != "" {
		t.Errorf("explicit paths (-want +got):\n%s", diff)
	}
	b.Spec.Protocol.Paths.Explicit = []bench.Path{{LocalInterface: "net1", Path: "10.0.2.61"}}
	if got, err = plan.SelectPaths(b.Spec, []string{"10.0.1.61", "10.0.2.61"}, nil); err != nil {
		t.Fatal(err)
	}
	want := []bench.ResolvedPath{{LocalInterface: "net1", Path: "10.0.2.61"}}
	if diff := cmp.Diff(want, build(t, plan.Target{Export: "/vol/oradata", Paths: got}).Engine.Channels); diff != "" {
		t.Errorf("a path from an interface (-want +got):\n%s", diff)
	}
	if got, err = plan.SelectPaths(v1alpha1.NFSBenchmarkSpec{}, []string{"b", "a"}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bench.ResolvedPath{{Path: "b"}, {Path: "a"}}, got); diff != "" {
		t.Errorf("all paths, in the order of the spec (-want +got):\n%s", diff)
	}
}

func TestKeepingFiles(t *testing.T) {
	if !build(t, target("a.b"), gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupDelete)).Keep {
		t.Error("the loader removes files that are to be kept")
	}
	if build(t, target("a.b"), gen.Cleanup(v1alpha1.CleanupDelete, v1alpha1.CleanupRetain)).Keep {
		t.Error("the loader keeps files that are to go")
	}
}

func TestTheNativeEngineTrunksWithEveryVersion(t *testing.T) {
	t.Parallel()
	for _, v := range []bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41, bench.PNFS} {
		sessions := func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Sessions = 1 }
		p := build(t, target("10.0.1.61", "10.0.2.61"), gen.Version(v), sessions)
		if p.Engine.NFSVersion != v || len(p.Engine.Channels) != 2 || p.Engine.Sessions != 1 {
			t.Errorf("%s: engine %+v", v, p.Engine)
		}
		text, err := p.Engine.Oranfstab()
		if err != nil {
			t.Fatal(err)
		}
		var back runfile.Engine
		if err := back.UseOranfstab(text); err != nil || back.NFSVersion != v {
			t.Errorf("%s became %s in the oranfstab: %v\n%s", v, back.NFSVersion, err, text)
		}
	}
}
