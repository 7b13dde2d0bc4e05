package gen

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
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
			Protocol: v1alpha1.Protocol{
				Version: v1alpha1.NFSv3, Client: v1alpha1.ClientDirectNFS, Security: v1alpha1.SecuritySys,
				MountTimeoutSeconds: 30, UserID: &user, GroupID: &user,
			},
			Workload: v1alpha1.Workload{Raw: &v1alpha1.RawWorkload{
				Pattern: v1alpha1.PatternRead, BlockSize: new(resource.MustParse("1Mi")), FileSize: resource.MustParse("64Mi"),
				Jobs: 2, Depth: 4, Directory: "nfsbench", ForeignFiles: v1alpha1.ForeignFilesRefuse,
			}},
			Clients: 1,
			Run:     v1alpha1.Run{DurationSeconds: 10, WarmupSeconds: &two, BaselineSeconds: &two, CooldownSeconds: &zero, Repetitions: 1},
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

// Claim puts the data on a claim that exists.
func Claim(name string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage = v1alpha1.Storage{Claim: &v1alpha1.ClaimStorage{Name: name, NonNFS: v1alpha1.NonNFSRefuse}}
	}
}

// Kernel lets the operating system's client carry the load. Of several servers
// of an export it keeps the first.
func Kernel(b *v1alpha1.NFSBenchmark) {
	b.Spec.Protocol.Client = v1alpha1.ClientKernel
	if e := b.Spec.Storage.Export; e != nil {
		e.Servers = e.Servers[:1]
	}
}

// Version sets the version of NFS.
func Version(v v1alpha1.NFSVersion) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.Version = v }
}

// Paths chooses paths explicitly, each as local and server address.
func Paths(pairs ...[2]string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		p := &v1alpha1.Paths{Select: v1alpha1.PathsExplicit}
		for _, pair := range pairs {
			p.Explicit = append(p.Explicit, v1alpha1.Path{Local: pair[0], Path: pair[1]})
		}
		b.Spec.Protocol.Paths = p
	}
}

// Link declares the link of each path.
func Link(bitsPerSecond string, mtu int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Protocol.Link = &v1alpha1.Link{BitsPerSecond: resource.MustParse(bitsPerSecond), MTU: mtu}
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
		b.Spec.Expect = &v1alpha1.Expect{MinMegabytesPerSecond: &megabytesPerSecond}
	}
}

// Repetitions sets how often the run repeats itself.
func Repetitions(n int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.Repetitions = n }
}
