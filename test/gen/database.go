package gen

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Calibrate asks for the figures of CALIBRATE_IO, after so many warm-up runs.
func Calibrate(warmups int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload = v1alpha1.Workload{Calibrate: &v1alpha1.CalibrateWorkload{
			PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: &warmups, NativeFiles: nativeFiles(),
		}}
	}
}

// SLOB loads schemas of the SLOB model, with so many users at once, one step
// after the other.
func SLOB(access v1alpha1.SLOBAccess, users ...int32) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload = v1alpha1.Workload{SLOB: &v1alpha1.SLOBWorkload{
			Access: access, Users: users, Schemas: 1, ThreadsPerSchema: 1, Scale: resource.MustParse("80Mi"), ScanTableSize: resource.MustParse("1Gi"),
			WorkUnit: 64, RedoStress: v1alpha1.SLOBRedoLite, ReadAhead: 4, LoadParallelDegree: 2, Tablespace: "NFSBENCH",
			ObfuscateColumns: v1alpha1.Enabled, AWR: v1alpha1.Disabled, NativeFiles: nativeFiles(),
		}}
	}
}

func nativeFiles() v1alpha1.NativeFiles {
	return v1alpha1.NativeFiles{Count: 4, Size: resource.MustParse("64Mi"), Directory: "nfsbench", ForeignFiles: v1alpha1.ForeignFilesRefuse}
}

// Oracle runs the load in a database of its own, with the password in Secret
// oracle.
func Oracle(b *v1alpha1.NFSBenchmark) {
	b.Spec.Database = &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{
		Image: "registry.example/oracle:19.3.0.0", Edition: v1alpha1.EditionEnterprise,
		PasswordSecretRef: v1alpha1.SecretKeyReference{Name: "oracle", Key: "password"},
		SetPermissions:    v1alpha1.Enabled, RestartBeforeRun: v1alpha1.Enabled,
		StartupTimeoutSeconds: 2700, ShutdownTimeoutSeconds: 120,
	}}
}

// OracleMod changes the container of a database.
func OracleMod(change func(*v1alpha1.DatabaseContainer)) Mod {
	return func(b *v1alpha1.NFSBenchmark) { change(b.Spec.Database.Container) }
}

// ExternalOracle runs the load in a database that exists, with the credentials
// in Secret oracle.
func ExternalOracle(connect string) Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Database = &v1alpha1.Database{External: &v1alpha1.DatabaseExternal{
			ConnectString: connect, CredentialsSecretRef: v1alpha1.SecretReference{Name: "oracle"}, Image: "registry.example/instantclient:23",
		}}
	}
}
