// Package gen builds benchmarks and results for tests: a good one, changed by
// modifiers that say what matters to the test.
package gen

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Mod changes a benchmark.
type Mod func(*v1alpha1.NFSBenchmark)

// Benchmark is a short Direct NFS read of two paths of an export, with the
// defaults that the API server would fill in, changed by mods in their order.
func Benchmark(name string, mods ...Mod) *v1alpha1.NFSBenchmark {
	user, zero, two := int64(54321), int32(0), int32(2)
	b := &v1alpha1.NFSBenchmark{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NFSBenchmark"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench"},
		Spec: v1alpha1.NFSBenchmarkSpec{
			Storage: v1alpha1.Storage{Export: &v1alpha1.ExportStorage{Servers: []string{"10.0.1.61", "10.0.2.61"}, Path: "/vol/oradata"}},
			Protocol: bench.Protocol{
				Version: bench.NFSv3, Client: bench.ClientDirectNFS, Security: bench.SecuritySys,
				MountTimeoutSeconds: 30, UserID: &user, GroupID: &user,
			},
			Workload: bench.Workload{Raw: &bench.RawWorkload{
				Pattern: bench.PatternRead, BlockSize: new(resource.MustParse("1Mi")), FileSize: resource.MustParse("64Mi"),
				Jobs: 2, Depth: 4, Directory: "nfsbench", ForeignFiles: bench.ForeignFilesRefuse,
			}},
			Clients: 1,
			Run:     bench.Run{DurationSeconds: 10, WarmupSeconds: &two, BaselineSeconds: &two, CooldownSeconds: &zero, Repetitions: 1},
			Cleanup: v1alpha1.Cleanup{OnSuccess: v1alpha1.CleanupDelete, OnFailure: v1alpha1.CleanupDelete},
		},
	}
	for _, m := range mods {
		m(b)
	}
	return b
}

// In sets the namespace.
func In(namespace string) Mod { return func(b *v1alpha1.NFSBenchmark) { b.Namespace = namespace } }

// UID sets the identity, which the API server gives otherwise.
func UID(uid string) Mod { return func(b *v1alpha1.NFSBenchmark) { b.UID = types.UID(uid) } }

// Export puts the data on an export of these servers.
func Export(path string, servers ...string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Export: &v1alpha1.ExportStorage{Servers: servers, Path: path}}
	}
}

// Embedded puts the data on an embedded server.
func Embedded(size string, paths int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Embedded: &v1alpha1.EmbeddedStorage{Size: resource.MustParse(size), Paths: paths}}
	}
}

// RedoPath puts the redo logs of a database on another export.
func RedoPath(path string) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Storage.Export.RedoPath = path }
}

// Claim puts the data on a claim that exists.
func Claim(name string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Claim: &v1alpha1.ClaimStorage{Name: name, NonNFS: v1alpha1.NonNFSRefuse}}
	}
}

// Kernel lets the operating system's client carry the load. Of several servers
// of an export it keeps the first.
func Kernel(b *v1alpha1.NFSBenchmark) {
	b.Spec.Protocol.Client = bench.ClientKernel
	if e := b.Spec.Storage.Export; e != nil {
		e.Servers = e.Servers[:1]
	}
}

// Version sets the version of NFS.
func Version(v bench.NFSVersion) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Version = v }
}

// Paths chooses paths explicitly, each as local and server address.
func Paths(pairs ...[2]string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		p := &bench.Paths{Select: bench.PathsExplicit}
		for _, pair := range pairs {
			p.Explicit = append(p.Explicit, bench.Path{Local: pair[0], Path: pair[1]})
		}
		b.Spec.Protocol.Paths = p
	}
}

// Link declares the link of each path.
func Link(bitsPerSecond string, mtu int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Protocol.Link = &bench.Link{BitsPerSecond: resource.MustParse(bitsPerSecond), MTU: mtu}
	}
}

// Clients sets the number of load pods.
func Clients(n int32) Mod { return func(b *v1alpha1.NFSBenchmark) { b.Spec.Clients = n } }

// Suspended holds the run back.
func Suspended(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true }

// Cleanup sets what becomes of the children after success and failure.
func Cleanup(onSuccess, onFailure v1alpha1.CleanupPolicy) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Cleanup = v1alpha1.Cleanup{OnSuccess: onSuccess, OnFailure: onFailure}
	}
}

// TTL keeps the children for so many seconds after the end.
func TTL(seconds int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.TTLSecondsAfterFinished = &seconds }
}

// Expect asks for a throughput of 10^6 bytes per second.
func Expect(megabytesPerSecond int64) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Expect = &bench.Expect{MinMegabytesPerSecond: &megabytesPerSecond}
	}
}

// Repetitions sets how often the run repeats itself.
func Repetitions(n int32) Mod { return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.Repetitions = n } }

// ONTAP lets the array be asked, with the credentials in a Secret.
func ONTAP(managementLIF, svm, secret string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Array = &v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{
			ManagementLIF: managementLIF, SVM: svm, CredentialsSecretRef: v1alpha1.SecretReference{Name: secret},
			TLS: v1alpha1.TLSTrust{Verification: bench.Enabled},
		}}
	}
}

// Exporter reads the counters of a Linux server, which needs no credentials.
func Exporter(name, url string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Array = &v1alpha1.ArrayAccess{Exporter: &v1alpha1.ExporterAccess{Nodes: []v1alpha1.ExporterNode{{Name: name, URL: url}}}}
	}
}

// Select chooses the paths by where they end on the array.
func Select(s bench.PathSelection) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Paths = &bench.Paths{Select: s} }
}

// Survey is what an array of two nodes, a and b, reports about itself: the volume of
// the export is on node a, and each node has a LIF in a subnet of its own.
func Survey(export, lifA, lifB string) runfile.Survey {
	yes := new(true)
	return runfile.Survey{
		Version: runfile.SurveyVersion, Source: "ontap", Array: "ONTAP 9.14.1, cluster c1, SVM svm1",
		Time:    time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Clients: []string{"10.244.0.5", "192.168.0.7"},
		Nodes:   []runfile.SurveyNode{{Name: "a", Up: yes}, {Name: "b", Up: yes}},
		LIFs: []runfile.LIF{
			{Name: "lif_a", Address: lifA, Prefix: 24, Node: "a", HomeNode: "a", AtHome: yes, Up: yes},
			{Name: "lif_b", Address: lifB, Prefix: 24, Node: "b", HomeNode: "b", AtHome: yes, Up: yes},
		},
		Volume: &runfile.SurveyVolume{
			Name: "oradata", UUID: "c5a6", Export: export, Style: "flexvol", State: "online", Aggregate: "aggr_a", Node: "a",
			SizeBytes: new(int64(1 << 40)), AvailableBytes: new(int64(1 << 39)), ExportPolicy: "default",
		},
		NFS: &runfile.NFSService{Enabled: yes, V3: yes, V40: yes, V41: yes, PNFS: new(false), TransferSizeBytes: new(int64(1 << 20))},
		Rules: []runfile.ExportRule{{
			Index: 1, Clients: []string{"0.0.0.0/0"}, Protocols: []string{"any"}, ReadOnly: []string{"any"}, ReadWrite: []string{"any"}, SuperUser: []string{"any"},
		}},
	}
}

// Calibrate asks for the figures of CALIBRATE_IO, after so many warm-up runs.
func Calibrate(warmups int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload = bench.Workload{Calibrate: &bench.CalibrateWorkload{
			PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: &warmups, NativeFiles: nativeFiles(),
		}}
	}
}

// SLOB loads schemas of the SLOB model, with so many users at once, one step
// after the other.
func SLOB(access bench.SLOBAccess, users ...int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload = bench.Workload{SLOB: &bench.SLOBWorkload{
			Access: access, Users: users, Schemas: 1, ThreadsPerSchema: 1, Scale: resource.MustParse("80Mi"), ScanTableSize: resource.MustParse("1Gi"),
			WorkUnit: 64, RedoStress: bench.SLOBRedoLite, ReadAhead: 4, LoadParallelDegree: 2, Tablespace: "NFSBENCH",
			ObfuscateColumns: bench.Enabled, AWR: bench.Disabled, NativeFiles: nativeFiles(),
		}}
	}
}

func nativeFiles() bench.NativeFiles {
	return bench.NativeFiles{Count: 4, Size: resource.MustParse("64Mi"), Directory: "nfsbench", ForeignFiles: bench.ForeignFilesRefuse}
}

// Oracle runs the load in a database of its own, with the password in Secret
// oracle.
func Oracle(b *v1alpha1.NFSBenchmark) {
	b.Spec.Database = &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{
		Image: "registry.example/oracle:19.3.0.0", Edition: v1alpha1.EditionEnterprise,
		PasswordSecretRef: v1alpha1.SecretKeyReference{Name: "oracle", Key: "password"},
		SetPermissions:    bench.Enabled, RestartBeforeRun: bench.Enabled,
		StartupTimeoutSeconds: 2700, ShutdownTimeoutSeconds: 120,
	}}
}

// OracleMod changes the container of a database.
func OracleMod(change func(*v1alpha1.DatabaseContainer)) Mod {
	return func(b *v1alpha1.NFSBenchmark) { change(b.Spec.Database.Container) }
}

// Container runs the load in a database of its own, whose image is of this
// edition.
func Container(image string, edition v1alpha1.DatabaseEdition, mods ...func(*v1alpha1.DatabaseContainer)) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		Oracle(b)
		c := b.Spec.Database.Container
		c.Image, c.Edition = image, edition
		for _, m := range mods {
			m(c)
		}
	}
}

// External runs the load in a database that exists, with the credentials in Secret
// oracle, and with a service for each of its instances.
func External(connect string, services ...string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		var each []v1alpha1.ConnectString
		for _, s := range services {
			each = append(each, v1alpha1.ConnectString(s))
		}
		b.Spec.Database = &v1alpha1.Database{External: &v1alpha1.DatabaseExternal{
			ConnectString: v1alpha1.ConnectString(connect), CredentialsSecretRef: v1alpha1.SecretReference{Name: "oracle"}, Image: "registry.example/instantclient:23",
			Services: each,
		}}
	}
}

// MountedAt says where the host of an external database mounts the export.
func MountedAt(path string) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Database.External.MountPath = path }
}

// NoOranfstab leaves Oracle's Direct NFS with the mount.
func NoOranfstab(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Oranfstab = bench.Disabled }

// HostNetwork puts the load pods into the network of their node.
func HostNetwork(b *v1alpha1.NFSBenchmark) {
	b.Spec.Pods = &v1alpha1.Pods{HostNetwork: bench.Enabled}
}

// Schemas spreads the users of a SLOB load over so many.
func Schemas(n int32) Mod { return func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.SLOB.Schemas = n } }

// Kit runs the user's own SLOB kit, of a claim if one is named.
func Kit(claim, directory string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.SLOB.Kit = &bench.SLOBKit{ClaimName: claim, Directory: directory}
	}
}

// TridentBackend puts the data on a volume of a backend that the operator makes
// in Trident's namespace.
func TridentBackend(name string, pools ...string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{
			BackendName: name, Size: resource.MustParse("10Gi"), StoragePools: pools,
		}}
	}
}

// StorageClass puts the data on a volume of any class that exists.
func StorageClass(class string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{StorageClass: &v1alpha1.StorageClassStorage{
			Name: class, Size: resource.MustParse("10Gi"),
		}}
	}
}

// TridentClass puts the data on a volume of a class of Trident's that exists.
func TridentClass(class string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Trident: &v1alpha1.TridentStorage{
			Size: resource.MustParse("10Gi"), StorageClassName: class,
		}}
	}
}

// Leftovers says what becomes of a volume that does not go.
func Leftovers(p v1alpha1.LeftoversPolicy) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Cleanup.Leftovers = p }
}

// SuiteMod changes a suite.
type SuiteMod func(*v1alpha1.NFSBenchmarkSuite)

// Suite compares two depths of what Benchmark makes, four times each, with the defaults
// that the API server would fill in, changed by mods in their order.
func Suite(name string, mods ...SuiteMod) *v1alpha1.NFSBenchmarkSuite {
	two, one := int32(2), int32(1)
	s := &v1alpha1.NFSBenchmarkSuite{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NFSBenchmarkSuite"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench"},
		Spec: v1alpha1.NFSBenchmarkSuiteSpec{
			Template: v1alpha1.BenchmarkTemplate{Spec: Benchmark("template").Spec},
			Axes: []v1alpha1.Axis{{Name: "depth", Values: []v1alpha1.AxisValue{
				{Name: "low", Patch: raw(`{"workload":{"raw":{"depth":1}}}`)},
				{Name: "high", Patch: raw(`{"workload":{"raw":{"depth":8}}}`)},
			}}},
			Repetitions: 4, Order: v1alpha1.OrderInterleaved, Blocks: v1alpha1.BlocksABBA, Retries: &one,
			Compare: &v1alpha1.Compare{
				Significance: v1alpha1.Significance{
					Metrics: []bench.Metric{bench.MetricThroughput}, Alpha: "0.05", MinimumEffectPercent: &two, Correction: v1alpha1.CorrectionHolm,
				},
				Baseline: map[string]v1alpha1.ShortName{"depth": "low"}, ImpactOf: v1alpha1.DenominatorBaseline,
			},
		},
	}
	for _, m := range mods {
		m(s)
	}
	return s
}

func raw(patch string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(patch)} }

// Scheduled gives a suite a schedule, and keeps so many runs.
func Scheduled(cron string, historyLimit int32) SuiteMod {
	return func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Spec.Schedule = &v1alpha1.Schedule{Cron: cron, TimeZone: "Etc/UTC", ConcurrencyPolicy: "Forbid", HistoryLimit: historyLimit}
	}
}

// AnyExport is a policy under which the nodes mount every export and every embedded server.
func AnyExport(context.Context) (policy.Policy, error) {
	p := policy.Default()
	p.Exports = []policy.Export{{Server: "*", Path: "/", Namespaces: []string{"*"}}}
	p.Embedded.NodeMounts = []string{"*"}
	return p, nil
}
