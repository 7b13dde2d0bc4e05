package plan_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

const enterprise = "container-registry.oracle.com/database/enterprise:19.3.0.0"

func ee(mods ...func(*v1alpha1.DatabaseContainer)) gen.Mod {
	return gen.Container(enterprise, v1alpha1.EditionEnterprise, mods...)
}

func withMemory(list func(*corev1.ResourceRequirements) *corev1.ResourceList, size string) func(*v1alpha1.DatabaseContainer) {
	return func(c *v1alpha1.DatabaseContainer) {
		if c.Resources == nil {
			c.Resources = &corev1.ResourceRequirements{}
		}
		*list(c.Resources) = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}
	}
}

func hugePages(size string) func(*v1alpha1.DatabaseContainer) {
	return func(c *v1alpha1.DatabaseContainer) { c.Resources.Limits["hugepages-2Mi"] = resource.MustParse(size) }
}

func limits(r *corev1.ResourceRequirements) *corev1.ResourceList   { return &r.Limits }
func requests(r *corev1.ResourceRequirements) *corev1.ResourceList { return &r.Requests }

// always adds what every database of ours gets unless the user says otherwise: no jobs of its own.
func always(parameters map[string]string) map[string]string {
	all := map[string]string{"job_queue_processes": "0"}
	maps.Copy(all, parameters)
	return all
}

func TestAPlanOfADatabaseContainer(t *testing.T) {
	t.Parallel()
	p := build(t, target("10.0.1.61", "10.0.2.61"), gen.Calibrate(1), ee())
	want := &runfile.Database{
		Kind: "Container", AdminConnect: "localhost:1521/ORCLCDB", Connects: []string{"localhost:1521/ORCLPDB1"}, User: "sys", Role: "SYSDBA",
		DirectNFS: true, RestartBeforeRun: true,
		Parameters:    always(map[string]string{"sga_target": "2048M", "pga_aggregate_target": "512M", "cpu_count": "2"}),
		DataDirectory: "/opt/oracle/oradata", StartupTimeoutSeconds: 2700, SID: "ORCLCDB",
	}
	if diff := cmp.Diff(want, p.Database); diff != "" {
		t.Errorf("database (-want +got):\n%s", diff)
	}
	const tab = "server: demo\npath: 10.0.1.61\npath: 10.0.2.61\nnfs_version: nfsv3\nmnt_timeout: 30\nexport: /vol/oradata mount: /opt/oracle/oradata\n"
	if gen.Oranfstab(t, p) != tab || p.Engine.MountPath != "/opt/oracle/oradata" || p.Engine.Server != "demo" || !p.Engine.RequireNFS {
		t.Errorf("engine %+v", p.Engine)
	}
	if got := strings.Join(p.Engine.MountOptions, ","); got != "rw,hard,proto=tcp,timeo=600,nfsvers=3,nolock,rsize=262144,wsize=262144,sec=sys" {
		t.Errorf("mount options %s", got)
	}
	sized := ee(func(c *v1alpha1.DatabaseContainer) {
		redo, undo := resource.MustParse("1Gi"), resource.MustParse("4Gi")
		c.RedoLogSize, c.UndoSize = &redo, &undo
	})
	more := build(t, target("10.0.1.61"), gen.Calibrate(1), sized)
	if d := more.Database; d.RedoLogBytes != 1<<30 || d.UndoBytes != 4<<30 || d.TablespaceBytes != 0 {
		t.Errorf("redo and undo: %+v", d)
	}
	large := build(t, target("10.0.1.61"), gen.Calibrate(1), sized, func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Calibrate.DatabaseSize = new(resource.MustParse("5Gi"))
	})
	if got := large.Schedule.TimeoutSeconds - p.Schedule.TimeoutSeconds; got != int32(13<<30/50_000_000) || large.Database.TablespaceBytes != 5<<30 {
		t.Errorf("the time to write 13 GiB is %d s; %+v", got, large.Database)
	}
	if got, want := more.Schedule.TimeoutSeconds-p.Schedule.TimeoutSeconds, int32(8<<30/50_000_000); got != want {
		t.Errorf("the time to write 8 GiB is %d s, want %d", got, want)
	}
	apart := build(t, target("10.0.1.61"), gen.Calibrate(1), gen.Container("x", v1alpha1.EditionEnterprise), gen.RedoPath("/vol/redo"))
	if d := apart.Database; d.RedoExport != "/vol/redo" || d.RedoDirectory != plan.RedoPath {
		t.Errorf("redo logs of their own: %+v", d)
	}
	if got, want := apart.Schedule.TimeoutSeconds-p.Schedule.TimeoutSeconds, int32(800<<20/50_000_000); got != want {
		t.Errorf("the time to write four redo logs of 200 MiB is %d s, want %d", got, want)
	}
	if c := p.Workload.Calibrate; p.Files().Count != 0 || c.PhysicalDisks != 100 || c.MaxLatencyMilliseconds != 20 || bench.OrZero(c.WarmupRuns) != 1 {
		t.Errorf("calibrate %+v", c)
	}
	// Two calls of 15 min with 2 s of baseline; 2700 to create the database, 900
	// to restart it, 180 to start, 30 to mount.
	if got, want := p.Schedule.TimeoutSeconds, int32(2*902+2700+900+180+30); got != want {
		t.Errorf("times out after %d s, want %d", got, want)
	}
}

func TestTheKernelBelowADatabaseIsAFairBaseline(t *testing.T) {
	t.Parallel()
	small := resource.MustParse("64Ki")
	p := build(t, target("10.0.1.61"), gen.Calibrate(1), ee(), gen.Kernel, func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.TransferSize = &small })
	if p.Database.Parameters["filesystemio_options"] != "SETALL" || p.Database.DirectNFS || len(p.Engine.Channels) > 0 || p.Engine.Server != "" {
		t.Errorf("database %+v, engine %+v", p.Database, p.Engine)
	}
	if got := strings.Join(p.Engine.MountOptions, ","); !strings.Contains(got, "rsize=65536,wsize=65536") {
		t.Errorf("the user's transfer size is lost: %s", got)
	}
	for name := range p.Database.Parameters {
		if strings.Contains(name, "dnfs") || strings.Contains(name, "memory_target") {
			t.Errorf("nobody asked for %s", name)
		}
	}
}

func TestAClaimIsMountedWithItsOwnOptions(t *testing.T) {
	t.Parallel()
	p := build(t, target("10.0.1.61"), gen.Claim("x"), gen.Calibrate(1), ee())
	if len(p.Engine.MountOptions) != 0 || p.Engine.MountPath != plan.DatabasePath {
		t.Errorf("engine %+v", p.Engine)
	}
	measure := func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Claim.NonNFS = v1alpha1.NonNFSMeasure }
	if build(t, target("10.0.1.61"), gen.Claim("x"), gen.Kernel, gen.Calibrate(1), ee(), measure).Engine.RequireNFS {
		t.Error("refuses what was asked for")
	}
}

func TestNamesOfTheInstanceAreThoseOfTheImage(t *testing.T) {
	t.Parallel()
	named := func(sid, pdb string) func(*v1alpha1.DatabaseContainer) {
		return func(c *v1alpha1.DatabaseContainer) { c.SID, c.PDB = sid, pdb }
	}
	cases := map[string]struct {
		mod         gen.Mod
		admin, load string
	}{
		"Enterprise": {ee(), "ORCLCDB", "ORCLPDB1"},
		"Standard":   {gen.Container("mine/oracle:19", v1alpha1.EditionStandard), "ORCLCDB", "ORCLPDB1"},
		"Named":      {ee(named("bench", "pdb_a")), "BENCH", "PDB_A"},
		"Free":       {gen.Container("container-registry.oracle.com/database/free:latest", v1alpha1.EditionFree), "FREE", "FREEPDB1"},
		"FreePDB":    {gen.Container("registry.example/oracle-free:23", v1alpha1.EditionFree, named("", "slob")), "FREE", "SLOB"},
		"Express":    {gen.Container("container-registry.oracle.com/database/express:21.3.0-xe", v1alpha1.EditionExpress), "XE", "XEPDB1"},
	}
	for name, tc := range cases {
		d := build(t, target("10.0.1.61"), gen.Calibrate(1), tc.mod).Database
		if d.SID != tc.admin || d.AdminConnect != "localhost:1521/"+tc.admin || d.Connects[0] != "localhost:1521/"+tc.load {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestMemoryDecidesWhatTheInstanceTakes(t *testing.T) {
	t.Parallel()
	free := func(size string) gen.Mod {
		return gen.Container("database/free", v1alpha1.EditionFree, withMemory(limits, size))
	}
	type params = map[string]v1alpha1.ParameterValue
	set := func(p params) gen.Mod { return ee(func(c *v1alpha1.DatabaseContainer) { c.Parameters = p }) }
	cases := map[string]struct {
		reason string
		mod    gen.Mod
		want   map[string]string
	}{
		"Limit":    {"the limit counts", ee(withMemory(requests, "2Gi"), withMemory(limits, "16Gi")), map[string]string{"sga_target": "8192M", "pga_aggregate_target": "2048M"}},
		"Request":  {"without a limit, what is asked for", ee(withMemory(requests, "8Gi")), map[string]string{"sga_target": "4096M", "pga_aggregate_target": "1024M"}},
		"Free":     {"Oracle Free uses 2 GiB at most", free("16Gi"), map[string]string{"sga_target": "1536M", "pga_aggregate_target": "512M"}},
		"FreeTiny": {"and less in a small container", free("2Gi"), map[string]string{"sga_target": "1024M", "pga_aggregate_target": "256M"}},
		"OwnSGA":   {"the user's SGA stays", set(params{"sga_target": "554M", "db_cache_size": "40M"}), map[string]string{"sga_target": "554M", "db_cache_size": "40M", "pga_aggregate_target": "512M"}},
		"MaxSGA":   {"and is not exceeded", set(params{"sga_max_size": "1G"}), map[string]string{"sga_max_size": "1G", "pga_aggregate_target": "512M"}},
		"PGALimit": {"a limit of the PGA may be below twice a derived target", set(params{"pga_aggregate_limit": "600M"}), map[string]string{"pga_aggregate_limit": "600M", "sga_target": "2048M"}},
		"Jobs":     {"jobs may run on request", set(params{"job_queue_processes": "4", "memory_target": "2G"}), map[string]string{"job_queue_processes": "4", "memory_target": "2G"}},
		"AMM":      {"with AMM the user sizes the memory", set(params{"memory_target": "2G"}), map[string]string{"memory_target": "2G"}},
	}
	for name, tc := range cases {
		tc.want["cpu_count"] = "2"
		if diff := cmp.Diff(always(tc.want), build(t, target("10.0.1.61"), gen.Calibrate(1), tc.mod).Database.Parameters); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
	own := params{"filesystemio_options": "ASYNCH"}
	if got := build(t, target("10.0.1.61"), gen.Calibrate(1), set(own), gen.Kernel).Database.Parameters; got["filesystemio_options"] != "ASYNCH" || !maps.Equal(own, params{"filesystemio_options": "ASYNCH"}) {
		t.Errorf("parameters %v; the spec became %v", got, own)
	}
}

func TestTheCPUsOfAnInstanceAreThoseOfItsContainer(t *testing.T) {
	t.Parallel()
	cpu := func(request, limit string) func(*v1alpha1.DatabaseContainer) {
		return func(c *v1alpha1.DatabaseContainer) {
			c.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
			for list, size := range map[*corev1.ResourceList]string{&c.Resources.Requests: request, &c.Resources.Limits: limit} {
				if size != "" {
					(*list)[corev1.ResourceCPU] = resource.MustParse(size)
				}
			}
		}
	}
	free := func(request, limit string) gen.Mod {
		return gen.Container("database/free", v1alpha1.EditionFree, cpu(request, limit))
	}
	own := func(c *v1alpha1.DatabaseContainer) {
		c.Parameters = map[string]v1alpha1.ParameterValue{"cpu_count": "1"}
	}
	cases := map[string]struct {
		reason string
		mod    gen.Mod
		count  string
		millis int64
	}{
		"nothing":       {"not the CPUs of the node, whatever it has", ee(), "2", 0},
		"limit":         {"a part of a core is one", ee(cpu("1", "3500m")), "4", 3500},
		"request":       {"what is promised, and no limit", ee(cpu("8", "")), "8", 0},
		"a part":        {"Oracle counts whole CPUs", ee(cpu("50m", "")), "1", 0},
		"Free":          {"two cores are the limit of the edition", free("8", "16"), "2", 2000},
		"Free, unknown": {"without a word", free("", ""), "2", 2000},
		"Free, less":    {"a container may have less", free("", "1500m"), "2", 1500},
		"user's":        {"the user's parameter stays", ee(cpu("", "8"), own), "1", 8000},
	}
	for name, tc := range cases {
		d := build(t, target("10.0.1.61"), gen.Calibrate(1), tc.mod).Database
		if d.Parameters["cpu_count"] != tc.count || d.CPUMillis != tc.millis {
			t.Errorf("%s: %s: cpu_count %s, %d thousandths of a core", name, tc.reason, d.Parameters["cpu_count"], d.CPUMillis)
		}
	}
}

// TestHiddenParametersAreForRandomReadsAlone: what a release refuses is then no difference in a run
// that it would not have changed.
func TestHiddenParametersAreForRandomReadsAlone(t *testing.T) {
	t.Parallel()
	random := gen.SLOB(bench.SLOBRandomRead, 1, 16)
	cases := map[string]struct {
		mods []gen.Mod
		want bool
	}{
		"random reads":   {[]gen.Mod{random, ee()}, true},
		"the user's kit": {[]gen.Mod{random, ee(), gen.Kit("slob", "SLOB")}, true},
		"scan":           {[]gen.Mod{gen.SLOB(bench.SLOBFullTableScan, 1, 16), ee()}, false},
		"calibration":    {[]gen.Mod{gen.Calibrate(1), ee()}, false},
	}
	for name, tc := range cases {
		p := build(t, target("10.0.1.61"), tc.mods...).Database.Parameters
		for _, hidden := range []string{"_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count"} {
			if value, is := p[hidden]; is != tc.want || is && value != "0" {
				t.Errorf("%s: %s is %q", name, hidden, value)
			}
		}
	}
}

// TestAnInstanceThatWouldNotStartIsSaid before the image spends half an hour on it.
func TestAnInstanceThatWouldNotStartIsSaid(t *testing.T) {
	t.Parallel()
	type params = map[string]v1alpha1.ParameterValue
	set := func(p params, more ...func(*v1alpha1.DatabaseContainer)) gen.Mod {
		return ee(append(more, func(c *v1alpha1.DatabaseContainer) { c.Parameters = p })...)
	}
	cases := map[string]struct {
		reason string
		mods   []gen.Mod
		says   []string // none = it starts
	}{
		"published": {
			"NFS and dNFS users: a small SGA that is nearly all shared pool",
			[]gen.Mod{set(params{"sga_target": "554M", "sga_max_size": "554M", "shared_pool_size": "450M", "db_cache_size": "40M", "large_pool_size": "50M", "cpu_count": "1"})},
			nil,
		},
		"sample": {"config/samples/nfs-vs-dnfs", []gen.Mod{set(params{"sga_target": "1408M", "shared_pool_size": "1G", "large_pool_size": "64M", "db_cache_size": "128M"})}, nil},
		"SLOB's": {"the parameters of the kit", []gen.Mod{set(params{"db_cache_size": "128M", "shared_pool_size": "1G", "processes": "500"})}, nil},
		"cache": {
			"Oracle would raise it",
			[]gen.Mod{set(params{"db_cache_size": "128M", "cpu_count": "64"})},
			[]string{"db_cache_size is 128M", "4M x cpu_count 64 = 256M", "lower cpu_count to 32"},
		},
		"SGA": {
			"ORA-00821",
			[]gen.Mod{set(params{"sga_target": "256M", "shared_pool_size": "200M", "cpu_count": "16"})},
			[]string{"sga_target is 256M", "ORA-00821", "buffer cache 64M (at least 4M x cpu_count 16) + shared pool 200M", "one granule 4M = 268M"},
		},
		"granules": {
			"of 16M above 1G",
			[]gen.Mod{set(params{"sga_target": "1100M", "shared_pool_size": "1090M"})},
			[]string{"buffer cache 16M", "shared pool 1104M", "one granule 16M = 1136M"},
		},
		"memory": {
			"the container would be killed",
			[]gen.Mod{set(params{"sga_target": "3G", "pga_aggregate_target": "1500M"}, withMemory(limits, "4Gi"))},
			[]string{"SGA 3072M + pga_aggregate_target 1500M = 4572M", "4096M", "resources.limits.memory"},
		},
		"huge pages": {
			"the example of docs/oracle.md: huge pages hold the SGA, and do not count as memory",
			[]gen.Mod{set(params{"sga_target": "8128M", "use_large_pages": "ONLY"}, withMemory(limits, "4Gi"), hugePages("8Gi"))},
			nil,
		},
		"more than huge pages": {
			"the rest of the SGA is in the memory of the container",
			[]gen.Mod{set(params{"sga_target": "10G", "pga_aggregate_target": "2560M"}, withMemory(limits, "4Gi"), hugePages("8Gi"))},
			[]string{"SGA 10240M - huge pages 8192M + pga_aggregate_target 2560M = 4608M", "4096M"},
		},
		"no huge pages": {
			"the instance is told to leave them",
			[]gen.Mod{set(params{"sga_target": "8128M", "use_large_pages": "false"}, withMemory(limits, "4Gi"), hugePages("8Gi"))},
			[]string{"SGA 8128M + pga_aggregate_target 512M = 8640M"},
		},
		"processes": {
			"ORA-00020",
			[]gen.Mod{gen.SLOB(bench.SLOBRandomRead, 1, 128), set(params{"processes": "200"})},
			[]string{"processes is 200, and the load needs 228: 128 sessions", "100 for background processes"},
		},
	}
	for name, tc := range cases {
		_, err := plan.Build(gen.Benchmark("demo", append([]gen.Mod{gen.Calibrate(1)}, tc.mods...)...), target("10.0.1.61"))
		if (err == nil) != (len(tc.says) == 0) {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
			continue
		}
		for _, word := range tc.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q is not in %v", name, word, err)
			}
		}
	}
	few := build(t, target("10.0.1.61"), gen.SLOB(bench.SLOBRandomRead, 1, 16), ee()).Database.Parameters
	many := build(t, target("10.0.1.61"), gen.SLOB(bench.SLOBRandomRead, 1, 512), ee()).Database.Parameters
	if few["processes"] != "" || many["processes"] != "612" {
		t.Errorf("processes of 16 users %q, of 512 users %q", few["processes"], many["processes"])
	}
}

func TestAPlanOfAnExternalDatabase(t *testing.T) {
	t.Parallel()
	rac := gen.External("scan.example:1521/ORCL", "rac1:1521/slob1", "rac2:1521/slob2")
	p := build(t, target("10.0.1.61", "10.0.2.61"), gen.SLOB(bench.SLOBFullTableScan, 8), rac)
	want := &runfile.Database{
		Kind: "External", AdminConnect: "scan.example:1521/ORCL", Connects: []string{"rac1:1521/slob1", "rac2:1521/slob2"}, Role: "SYSDBA", DirectNFS: true,
	}
	if diff := cmp.Diff(want, p.Database); diff != "" {
		t.Errorf("database (-want +got):\n%s", diff)
	}
	e := p.Engine
	if e.MountPath != "" || len(e.MountOptions) != 0 || e.Server != "demo" || !cmp.Equal(e.Channels, runfile.ChannelsTo("10.0.1.61", "10.0.2.61")) {
		t.Errorf("engine %+v", e)
	}
	one := build(t, plan.Target{}, gen.Calibrate(1), gen.External("db1:1521/ORCL"))
	if len(one.Engine.Channels) > 0 || !cmp.Equal(one.Database.Connects, []string{"db1:1521/ORCL"}) {
		t.Errorf("without an address: %+v, %+v", one.Engine, one.Database)
	}
	if k := build(t, target("10.0.1.61"), gen.Calibrate(1), gen.Kernel, gen.External("db1:1521/ORCL")); k.Engine.MountPath != "" || k.Database.DirectNFS {
		t.Errorf("with the kernel: %+v, %+v", k.Engine, k.Database)
	}
	if gen.Oranfstab(t, p) != "" {
		t.Error("an oranfstab without the mount of the database's host would be ignored there")
	}
	p = build(t, target("10.0.1.61"), gen.SLOB(bench.SLOBRandomRead, 8), rac, gen.MountedAt("/u02/oradata"), func(b *v1alpha1.NFSBenchmark) {
		x := b.Spec.Database.External
		x.Role, x.TablespaceDirectory, x.LoadingWithRedo = v1alpha1.RoleNone, "/u02/oradata/bench", v1alpha1.LoadingWithRedoAllow
		b.Spec.Workload.SLOB.WorkLoop = 500
	})
	if d := p.Database; d.Role != "" || d.DataDirectory != "/u02/oradata" || d.TablespaceDirectory != "/u02/oradata/bench" || !d.AllowRedo || p.Workload.SLOB.WorkLoop != 500 {
		t.Errorf("database %+v", d)
	}
	if got := gen.Oranfstab(t, p); !strings.Contains(got, "\nexport: /vol/oradata mount: /u02/oradata\n") || p.Engine.MountPath != "" {
		t.Errorf("the oranfstab for the database's host: %q", got)
	}
	// What exists is not ours to judge by what servers are known to do.
	build(t, target("10.0.1.61", "10.0.2.61"), gen.Calibrate(1), gen.Version(bench.NFSv41), gen.External("db1:1521/ORCL"))
}

func TestDirectNFSWithoutAnOranfstabHasTheMountAlone(t *testing.T) {
	t.Parallel()
	p := build(t, target("10.0.1.61"), gen.Calibrate(1), ee(), gen.NoOranfstab)
	if e := p.Engine; e.Client != "DirectNFS" || len(e.Channels) > 0 || e.Server != "" || e.MountPath != "/opt/oracle/oradata" || !p.Database.DirectNFS || gen.Oranfstab(t, p) != "" {
		t.Errorf("%+v", e)
	}
}

func TestTheOranfstabOfEachVersion(t *testing.T) {
	t.Parallel()
	kerberos := func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Security = "krb5p" }
	full := target("10.0.1.61")
	full.Addresses = []string{"nas1.example.com", "10.0.1.61"}
	cases := map[string]struct {
		to   plan.Target
		mods []gen.Mod
		want string
	}{
		"V40":      {target("10.0.1.61"), []gen.Mod{gen.Version(bench.NFSv40)}, "server: demo\npath: 10.0.1.61\nnfs_version: nfsv4\nmnt_timeout: 30\n"},
		"V41":      {target("10.0.1.61"), []gen.Mod{gen.Version(bench.NFSv41)}, "server: demo\npath: 10.0.1.61\nnfs_version: nfsv4.1\nmnt_timeout: 30\n"},
		"PNFS":     {target("10.0.1.61", "10.0.2.61"), []gen.Mod{gen.Version(bench.PNFS)}, "server: demo\npath: 10.0.1.61\npath: 10.0.2.61\nnfs_version: pnfs\nmnt_timeout: 30\n"},
		"Kerberos": {full, []gen.Mod{kerberos}, "server: nas1.example.com\npath: 10.0.1.61\nnfs_version: nfsv3\nsecurity_default: krb5p\nmnt_timeout: 30\n"},
	}
	for name, tc := range cases {
		p := build(t, tc.to, append([]gen.Mod{gen.Calibrate(1), ee()}, tc.mods...)...)
		if want := tc.want + "export: /vol/oradata mount: /opt/oracle/oradata\n"; gen.Oranfstab(t, p) != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, gen.Oranfstab(t, p), want)
		}
		if label, _, _ := strings.Cut(strings.TrimPrefix(tc.want, "server: "), "\n"); p.Engine.Server != label {
			t.Errorf("%s: the plan names server %q", name, p.Engine.Server)
		}
	}
}

func TestADatabaseThatCannotBePlannedIsSaid(t *testing.T) {
	t.Parallel()
	kerberos := func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Security = "krb5" }
	cases := map[string]struct {
		to   plan.Target
		mods []gen.Mod
		says string
	}{
		"TrunkingV41": {target("10.0.1.61", "10.0.2.61"), []gen.Mod{gen.Version(bench.NFSv41)}, "2 paths with NFSv4.1: "},
		"TrunkingV40": {target("10.0.1.61", "10.0.2.61"), []gen.Mod{gen.Version(bench.NFSv40)}, "protocol.paths.explicit"},
		"NoName":      {target("10.0.1.61"), []gen.Mod{kerberos}, "full host name"},
		"NoAddress":   {plan.Target{Export: "/x"}, nil, "paths"},
		"Password":    {target("10.0.1.61"), []gen.Mod{gen.External("scott/tiger@db1:1521/ORCL")}, "into the credentials"},
	}
	for name, tc := range cases {
		_, err := plan.Build(gen.Benchmark("demo", append([]gen.Mod{gen.Calibrate(1), ee()}, tc.mods...)...), tc.to)
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "tiger") {
			t.Errorf("%s: got %v, want it to speak of %q", name, err, tc.says)
		}
	}
}

func TestWhichRunsMountAVolumeAndWhere(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mods  []gen.Mod
		needs bool
		where string
	}{
		"Native":          {nil, false, "/mnt/nfsbench"},
		"NativeKernel":    {[]gen.Mod{gen.Kernel}, true, "/mnt/nfsbench"},
		"Container":       {[]gen.Mod{ee()}, true, "/opt/oracle/oradata"},
		"ContainerKernel": {[]gen.Mod{ee(), gen.Kernel}, true, "/opt/oracle/oradata"},
		"External":        {[]gen.Mod{gen.External("a/b")}, false, "/mnt/nfsbench"},
		"ExternalKernel":  {[]gen.Mod{gen.External("a/b"), gen.Kernel}, false, "/mnt/nfsbench"},
	}
	for name, tc := range cases {
		b := gen.Benchmark("demo", tc.mods...)
		if plan.NeedsVolume(b) != tc.needs || plan.DataDirectory(b) != tc.where {
			t.Errorf("%s: needs a volume: %t, at %s", name, plan.NeedsVolume(b), plan.DataDirectory(b))
		}
	}
}
