package plan

import "github.com/nfsbench/nfsbench/api/v1alpha1"

// DatabasePath is where Oracle's images keep their data, and with them where the
// volume of a run with a database is mounted.
const DatabasePath = "/opt/oracle/oradata"

// NeedsVolume says that the kernel mounts the storage into the pods of a run:
// for its own client, and for the container of a database, whose Direct NFS
// wants the kernel's mount beside its own.
//
// A database that exists has its mounts already.
func NeedsVolume(b *v1alpha1.NFSBenchmark) bool {
	if d := b.Spec.Database; d != nil {
		return d.Container != nil
	}
	return b.Spec.Protocol.Client == v1alpha1.ClientKernel
}

// DataDirectory is where the pods of a run see the volume, and what the
// oranfstab names as its mount. Where an existing database has mounted it, no
// declaration says.
func DataDirectory(b *v1alpha1.NFSBenchmark) string {
	if d := b.Spec.Database; d != nil && d.Container != nil {
		return DatabasePath
	}
	return MountPath
}
