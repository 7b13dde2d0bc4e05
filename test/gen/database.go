package gen

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// nativeFiles are those that the API server would fill in.
func nativeFiles() v1alpha1.NativeFiles {
	return v1alpha1.NativeFiles{Count: 4, Size: resource.MustParse("1Gi"), Directory: "nfsbench", ForeignFiles: v1alpha1.ForeignFilesRefuse}
}

// Calibrate replaces the load by a calibration.
func Calibrate(b *v1alpha1.NFSBenchmark) {
	one := int32(1)
	b.Spec.Workload = v1alpha1.Workload{Calibrate: &v1alpha1.CalibrateWorkload{
		PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: &one, NativeFiles: nativeFiles(),
	}}
}

// SLOB replaces the load by one of the SLOB model, with these users.
func SLOB(access v1alpha1.SLOBAccess, users ...int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload = v1alpha1.Workload{SLOB: &v1alpha1.SLOBWorkload{
			Access: access, Users: users, Schemas: 2, ThreadsPerSchema: 1, Scale: resource.MustParse("80Mi"), ScanTableSize: resource.MustParse("1Gi"),
			WorkUnit: 64, RedoStress: v1alpha1.SLOBRedoLite, ReadAhead: 4, LoadParallelDegree: 2, Tablespace: "NFSBENCH",
			ObfuscateColumns: v1alpha1.Enabled, AWR: v1alpha1.Disabled, NativeFiles: nativeFiles(),
		}}
	}
}

// Kit runs the user's own kit, of a claim if one is named.
func Kit(claim, directory string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.SLOB.Kit = &v1alpha1.SLOBKit{ClaimName: claim, Directory: directory}
	}
}

// Container runs the load in a database of its own, whose image is of this
// edition.
func Container(image string, edition v1alpha1.DatabaseEdition, mods ...func(*v1alpha1.DatabaseContainer)) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		c := &v1alpha1.DatabaseContainer{
			Image: image, Edition: edition, PasswordSecretRef: v1alpha1.SecretKeyReference{Name: "oracle", Key: "password"},
			SetPermissions: v1alpha1.Enabled, RestartBeforeRun: v1alpha1.Enabled, StartupTimeoutSeconds: 2700, ShutdownTimeoutSeconds: 120,
		}
		for _, m := range mods {
			m(c)
		}
		b.Spec.Database = &v1alpha1.Database{Container: c}
	}
}

// External runs the load in a database that exists.
func External(connect string, services ...string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Database = &v1alpha1.Database{External: &v1alpha1.DatabaseExternal{
			ConnectString: connect, Services: services, CredentialsSecretRef: v1alpha1.SecretReference{Name: "rac-sys"},
			Image: "ghcr.io/oracle/oraclelinux9-instantclient:23",
		}}
	}
}
