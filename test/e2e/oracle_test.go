package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// databasePatience is how long a run with a database may take on a busy machine.
const databasePatience = 4 * time.Minute

// TestOracleOverDirectNFS goes through the loads with the stand-in for Oracle and
// its own NFS client, over four paths and over one.
func TestOracleOverDirectNFS(t *testing.T) {
	w := newOracleWorld(t, "oradnfs", "10.221")
	w.volume(t, "wide", w.LIFs[0])

	ramp := w.ran(t, w.database("ramp", "wide", w.over(w.LIFs...), slob(func(s *v1alpha1.SLOBWorkload) { s.Users = []int32{1, 4} })))
	proven(t, ramp, w.LIFs...)
	if len(ramp.Status.Steps) != 2 || ramp.Status.Steps[0].Users != 1 || ramp.Status.Steps[1].Users != 4 {
		t.Errorf("steps %+v; want one user, then four", ramp.Status.Steps)
	}
	if ramp.Status.Database.ProvisioningSeconds == nil {
		t.Error("how long the database took to be made is not told")
	}
	s := ramp.Status.Summary
	if s.MeanLatencyMicroseconds == nil || *s.MeanLatencyMicroseconds <= 0 || s.P99LatencyMicroseconds == nil {
		t.Errorf("latency of db file sequential read: %+v", s)
	}

	calibrated := w.ran(t, w.database("calibrate", "wide", w.over(w.LIFs...), calibrates))
	proven(t, calibrated, w.LIFs...)
	told := calibrated.Status.Database.Calibrations
	if len(told) != 2 || !told[0].Warmup || told[1].Warmup || *told[1].MaxIOPS <= 0 || *told[1].MaxMegabytesPerSecond <= 0 {
		t.Errorf("calibrations %+v; want a warm-up and one that counts", told)
	}
	if got := calibrated.Status.Summary.IOPS; got == nil || *got != *told[1].MaxIOPS {
		t.Errorf("the summary says %v IOPS, the calibration %d", got, *told[1].MaxIOPS)
	}
	for _, code := range []judge.Code{judge.CalibrationOnly, judge.LatencyResolution} {
		if finding(calibrated, string(code)) == nil {
			t.Errorf("no finding %s: %+v", code, calibrated.Status.Findings)
		}
	}
	if f := calibrated.Status.Database.Files; len(f) == 0 || f[0].SmallReadNanoseconds == nil || f[0].AccessMethod != "DNFS_LIB" {
		t.Errorf("V$IOSTAT_FILE: %+v", f)
	}

	scanned := w.ran(t, w.database("scan", "wide", w.over(w.LIFs[1]), slob(scans)))
	proven(t, scanned, w.LIFs[1])
	if f := finding(scanned, string(judge.BufferedScan)); f != nil {
		t.Errorf("the scan did not go past the buffer cache: %s", f.Message)
	}
}

// TestOracleOverTheKernel is the same with Direct NFS switched off.
func TestOracleOverTheKernel(t *testing.T) {
	w := newOracleWorld(t, "oraknfs", "10.222")
	w.volume(t, "plain", w.LIFs[0])
	off := func(b *v1alpha1.NFSBenchmark) { gen.Kernel(b); b.Spec.Storage.Claim.NonNFS = v1alpha1.NonNFSMeasure }
	for name, load := range map[string]gen.Mod{"reads": slob(func(*v1alpha1.SLOBWorkload) {}), "scans": slob(scans)} {
		b := w.ran(t, w.database(name, "plain", off, load))
		if len(b.Status.Database.Servers) != 0 || b.Status.Database.DirectNFSLibrary != "" {
			t.Errorf("Direct NFS is off, and Oracle says %+v", b.Status.Database)
		}
		for _, f := range b.Status.Database.Files {
			if f.AccessMethod != "OS_LIB" {
				t.Errorf("file %d is reached by %s", f.Number, f.AccessMethod)
			}
		}
		if finding(b, string(judge.NotNFS)) == nil {
			t.Errorf("this kernel has no NFS, which nothing says: %+v", b.Status.Findings)
		}
	}
	w.volume(t, "gvenzl", w.LIFs[1])
	b := w.ran(t, w.database("gvenzl", "gvenzl", off, func(b *v1alpha1.NFSBenchmark) {
		c := b.Spec.Database.Container
		c.Image, c.Distribution = standinGvenzlImage, "" // the name of the image tells
	}))
	if b.Status.Database.Banner == "" {
		t.Error("what the database is, is not told")
	}
}

// TestOracleThatIsNotAsDeclared: what a DBA would look for in the alert log and
// in views is in the status.
func TestOracleThatIsNotAsDeclared(t *testing.T) {
	w := newOracleWorld(t, "orafail", "10.223")
	cases := map[string]struct {
		lif     int
		mods    []gen.Mod
		reason  string // of a run that ends; or
		finding judge.Code
		words   []string
	}{
		"Direct NFS falls back silently": {0, []gen.Mod{withFaults(map[string]string{"STANDIN_FALLBACK": "true"})}, "", judge.DNFSNotActive, []string{"OS_LIB"}},
		"the oranfstab names a LIF that is not there": {
			1, []gen.Mod{w.over(w.Unreachable), mountTimeout(10)}, "", judge.DNFSNotActive, []string{"OS_LIB"},
		},
		"the database never gets ready": {
			2,
			[]gen.Mod{withFaults(map[string]string{"STANDIN_NEVER_READY": "true"}), startsWithin(30)},
			runfile.FailureDatabaseNotReady, "",
			[]string{"startupTimeoutSeconds"},
		},
		"oradism is not setuid": {
			3, []gen.Mod{func(b *v1alpha1.NFSBenchmark) {
				c := b.Spec.Database.Container
				c.Image, c.Distribution = standinGvenzlImage, v1alpha1.DistributionGvenzl
			}}, runfile.FailureDirectNFSMissing, "", []string{"gvenzl"},
		},
	}
	for what, tc := range cases {
		name := strings.ToLower(strings.ReplaceAll(what, " ", "-"))
		name = strings.Trim(name[:min(len(name), 30)], "-")
		w.volume(t, name, w.LIFs[tc.lif])
		mods := append([]gen.Mod{w.over(w.LIFs[tc.lif])}, tc.mods...)
		b := w.create(t, w.database(name, name, mods...))
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			done := w.finished(t, b, databasePatience)
			if tc.reason != "" {
				wantFailure(t, done, tc.reason, tc.words...)
				notReady(t, done, tc.reason)
				return
			}
			if done.Status.Phase != v1alpha1.PhaseSucceeded || done.Status.Validity != v1alpha1.ValidityInvalid {
				t.Errorf("%s, validity %q", state(done), done.Status.Validity)
			}
			f := finding(done, string(tc.finding))
			if f == nil {
				t.Fatalf("no finding %s: %+v", tc.finding, done.Status.Findings)
			}
			mustSay(t, f.Message, tc.words...)
		})
	}
}

// TestOracleWhoseVolumeIsFull needs a disk that can be filled.
func TestOracleWhoseVolumeIsFull(t *testing.T) {
	w := newOracleWorld(t, "orafull", "10.224", "--data", smallDisk(t))
	w.volume(t, "full", w.LIFs[0])
	b := w.create(t, w.database("full", "full", w.over(w.LIFs[0]), slob(func(s *v1alpha1.SLOBWorkload) { s.Scale = resource.MustParse("256Mi") })))
	wantFailure(t, w.finished(t, b, databasePatience), runfile.FailureNoSpace, "space")
}

// TestOracleWhosePasswordIsAnother finds a database that an earlier run made.
func TestOracleWhosePasswordIsAnother(t *testing.T) {
	w := newOracleWorld(t, "orapwd", "10.225")
	w.volume(t, "kept", w.LIFs[0])
	w.ran(t, w.database("first", "kept", w.over(w.LIFs[0])))
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: databaseSecret}}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	s.StringData = map[string]string{"password": "second-Pa55word"}
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b := w.create(t, w.database("second", "kept", w.over(w.LIFs[0])))
	failed := w.finished(t, b, databasePatience)
	wantFailure(t, failed, runfile.FailurePassword, "ORA-01017", "Secret", "keeps its first password")
	notReady(t, failed, runfile.FailurePassword)
	w.secretsStay(t.Context(), t, w.ns, "first-Pa55word", "second-Pa55word")
}

// ran makes a benchmark with a database and returns it when it has succeeded and
// said that a stand-in took part.
func (w *oracleWorld) ran(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	done := w.finished(t, w.create(t, b), databasePatience)
	if done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Fatalf("%s", state(done))
	}
	if c := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionDatabaseReady); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("DatabaseReady is %+v", c)
	}
	if done.Status.Summary.Engine != "Oracle" || done.Status.Database == nil {
		t.Fatalf("engine %q, database %+v", done.Status.Summary.Engine, done.Status.Database)
	}
	if finding(done, string(judge.SimulatedDatabase)) == nil {
		t.Errorf("nothing says that this is a stand-in: %+v", done.Status.Findings)
	}
	if result := w.results(t, done); len(result) != 1 || !result[0].Simulated {
		t.Errorf("the result does not say that it is simulated")
	}
	return done
}

// proven demands that Oracle's own views show the declared paths carrying the load.
func proven(t *testing.T, b *v1alpha1.NFSBenchmark, lifs ...string) {
	t.Helper()
	witnessed(t, b)
	var seen []string
	for _, c := range b.Status.Database.Channels {
		if c.Sends != nil && *c.Sends > 0 {
			seen = append(seen, c.Path)
		}
	}
	slices.Sort(seen)
	want := slices.Sorted(slices.Values(lifs))
	if !slices.Equal(slices.Compact(seen), want) {
		t.Errorf("V$DNFS_CHANNELS shows %v, declared are %v", seen, want)
	}
	if s := b.Status.Database.Servers; len(s) == 0 || s[0].Server != b.Name || s[0].Version != "NFSv3.0" {
		t.Errorf("V$DNFS_SERVERS: %+v; want the label %q of the oranfstab", s, b.Name)
	}
}

// witnessed demands that the declared protocol was seen to carry the load. A
// database checks its blocks itself.
func witnessed(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProtocolVerified)
	if c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("ProtocolVerified is %+v", c)
		return
	}
	t.Logf("%s: %s; %s", b.Name, b.Status.Message, c.Message)
}

// notReady demands that the condition of the database says the same.
func notReady(t *testing.T, b *v1alpha1.NFSBenchmark, reason string) {
	t.Helper()
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionDatabaseReady)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason {
		t.Errorf("DatabaseReady is %+v; want False, %s", c, reason)
	}
}

func calibrates(b *v1alpha1.NFSBenchmark) {
	b.Spec.Workload = v1alpha1.Workload{Calibrate: &v1alpha1.CalibrateWorkload{}}
	withFaults(map[string]string{"STANDIN_CALIBRATE_SECONDS": "4"})(b)
}

func startsWithin(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Database.Container.StartupTimeoutSeconds = seconds }
}
