package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// TestOracleCalibratesAndKeepsItsFirstPassword calibrates, and then finds the database
// that it made, which has another password than the Secret now.
// TestGateOracleOverFourPaths has a load on a database.
func TestOracleCalibratesAndKeepsItsFirstPassword(t *testing.T) {
	w := newOracleWorld(t, 2)
	w.volume(t, "kept", w.lifs[0])
	calibrated := w.ran(t, w.database("calibrate", "kept", w.over(w.lifs...), calibrates))
	proven(t, calibrated, w.lifs...)
	_, j := judged(t, calibrated)
	found := j.Calibrations
	if len(found) != 2 || !found[0].Warmup || found[1].Warmup || *found[1].MaxIOPS <= 0 || *found[1].MaxMegabytesPerSecond <= 0 {
		t.Fatalf("calibrations %+v; want a warm-up and one that counts", found)
	}
	if got := calibrated.Status.Summary.IOPS; got == nil || *got != *found[1].MaxIOPS {
		t.Errorf("the summary says %v IOPS, the calibration %d", got, *found[1].MaxIOPS)
	}
	if finding(calibrated, judge.CalibrationOnly) == nil {
		t.Errorf("no finding %s: %+v", judge.CalibrationOnly, calibrated.Status.Findings)
	}
	if f := j.Database.Files; len(f) == 0 || f[0].SmallReadNanoseconds == nil || f[0].AccessMethod != "DNFS_LIB" {
		t.Errorf("V$IOSTAT_FILE: %+v", f)
	}

	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: databaseSecret}}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	s.StringData = map[string]string{"password": "second-Pa55word"}
	if err := w.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	failed := w.finished(t, w.create(t, w.database("second", "kept", w.over(w.lifs[0]))))
	wantFailure(t, failed, runfile.FailurePassword, "ORA-01017", "Secret", "keeps its first password")
	notReady(t, failed, runfile.FailurePassword)
	w.secretsStay(t.Context(), t, w.ns, "first-Pa55word", "second-Pa55word")
}

// TestOracleOverTheKernel switches Direct NFS off.
func TestOracleOverTheKernel(t *testing.T) {
	w := newOracleWorld(t, 1)
	w.volume(t, "kernel", w.lifs[0])
	b := w.ran(t, w.database("kernel", "kernel", gen.Kernel))
	res, j := judged(t, b)
	o := res.Clients[0].Load.Oracle
	if len(j.Database.Servers) != 0 || o.Library != nil && o.Library.AlertLine != "" {
		t.Errorf("Direct NFS is off, and Oracle says %+v, %+v", j.Database, o.Library)
	}
	for _, f := range j.Database.Files {
		if f.AccessMethod != "OS_LIB" {
			t.Errorf("file %d is reached by %s", f.Number, f.AccessMethod)
		}
	}
	if finding(b, judge.NotNFS) == nil {
		t.Errorf("this kernel has no NFS, which nothing says: %+v", b.Status.Findings)
	}
	if o.Banner == "" {
		t.Error("the result does not say what the database is")
	}
}

// TestOracleThatIsNotAsDeclared: what a DBA would look for in the alert log and
// in views is in the status.
func TestOracleThatIsNotAsDeclared(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name    string
		mod     gen.Mod
		reason  string // of a run that ends; or
		finding judge.Code
		words   []string
	}{
		"Direct NFS falls back silently": {
			name: "falls-back", mod: withFaults(map[string]string{"STANDIN_FALLBACK": "true"}),
			finding: judge.DNFSNotActive, words: []string{"OS_LIB"},
		},
		"the database never gets ready": {
			name: "never-ready", mod: func(b *v1alpha1.NFSBenchmark) {
				withFaults(map[string]string{"STANDIN_NEVER_READY": "true"})(b)
				b.Spec.Database.Container.StartupTimeoutSeconds = 30
			},
			reason: runfile.FailureDatabaseNotReady, words: []string{"startupTimeoutSeconds"},
		},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			w := newOracleWorld(t, 1)
			w.volume(t, tc.name, w.lifs[0])
			done := w.finished(t, w.create(t, w.database(tc.name, tc.name, w.over(w.lifs[0]), tc.mod)))
			if tc.reason != "" {
				wantFailure(t, done, tc.reason, tc.words...)
				notReady(t, done, tc.reason)
				return
			}
			if done.Status.Phase != v1alpha1.PhaseSucceeded || done.Status.Validity != bench.ValidityInvalid {
				t.Errorf("%s, validity %q", state(done), done.Status.Validity)
			}
			f := finding(done, tc.finding)
			if f == nil {
				t.Fatalf("no finding %s: %+v", tc.finding, done.Status.Findings)
			}
			mustSay(t, f.Message, tc.words...)
		})
	}
}

// TestOracleWhoseVolumeIsFull has an array of its own, on a disk that can be filled.
func TestOracleWhoseVolumeIsFull(t *testing.T) {
	c := needOracle(t)
	full := ganesha.Start(t, "orafull", []string{"10.224.1.0/24"}, "--rate", "100mbit", "--data", smallDisk(t))
	w := c.oracleWorld(t, array{lifs: full.LIFs, export: full.Export, folder: full.Data})
	w.volume(t, "full", w.lifs[0])
	b := w.create(t, w.database("full", "full", w.over(w.lifs[0]), slob(func(s *bench.SLOBWorkload) { s.Scale = resource.MustParse("256Mi") })))
	wantFailure(t, w.finished(t, b), runfile.FailureNoSpace, "space")
}

// ran makes a benchmark with a database and returns it when it has succeeded and
// said that a stand-in took part.
func (w *oracleWorld) ran(t *testing.T, b *v1alpha1.NFSBenchmark) *v1alpha1.NFSBenchmark {
	t.Helper()
	done := w.finished(t, w.create(t, b))
	if done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Fatalf("%s", state(done))
	}
	if c := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionDatabaseReady); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("DatabaseReady is %+v", c)
	}
	if _, j := judged(t, done); j.Engine != measure.EngineOracle || j.Database == nil {
		t.Fatalf("engine %q, database %+v", j.Engine, j.Database)
	}
	if finding(done, judge.SimulatedDatabase) == nil {
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
	verifiedByAll(t, b)
	_, j := judged(t, b)
	var seen []string
	for _, c := range j.Database.Channels {
		if c.Sends > 0 {
			seen = append(seen, c.Path)
		}
	}
	slices.Sort(seen)
	want := slices.Sorted(slices.Values(lifs))
	if !slices.Equal(slices.Compact(seen), want) {
		t.Errorf("V$DNFS_CHANNELS shows %v, declared are %v", seen, want)
	}
	if s := j.Database.Servers; len(s) == 0 || s[0].Server != b.Name || s[0].Version != "NFSv3.0" {
		t.Errorf("V$DNFS_SERVERS: %+v; want the label %q of the oranfstab", s, b.Name)
	}
}

// verifiedByAll demands that the declared protocol was seen to carry the load. A
// database checks its blocks itself.
func verifiedByAll(t *testing.T, b *v1alpha1.NFSBenchmark) {
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
	b.Spec.Workload = bench.Workload{Calibrate: &bench.CalibrateWorkload{}}
	withFaults(map[string]string{"STANDIN_CALIBRATE_SECONDS": "4"})(b)
}

// TestOracleImageIsReportedAsItRuns is `make test-oracle-pod` with the stand-in. This kernel has no NFS, so
// that all three benchmarks share a volume.
func TestOracleImageIsReportedAsItRuns(t *testing.T) {
	w := newOracleWorld(t, 1)
	w.volume(t, "image", w.lifs[0])
	const patch = `{"spec": {"storage": {"embedded": null, "claim": {"name": "image", "nonNFS": "Measure"}},
		"database": {"container": {"environment": {"STANDIN_ANY_MOUNT": "true", "STANDIN_NO_CACHE": "true", "STANDIN_CALIBRATE_SECONDS": "4"},
			"resources": {"requests": {"memory": "256Mi", "cpu": "50m"}}}}}}`
	report := filepath.Join(t.TempDir(), "report.md")
	cmd := exec.CommandContext(t.Context(), "../../../hack/oracle/pod.sh")
	cmd.Env = append(os.Environ(), "IMAGE="+standinImage, "NAMESPACE="+w.ns, "REPORT="+report, "PATCH="+patch, "SCALE=8Mi", "OPERATOR_NAMESPACE="+systemNamespace)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	t.Log(text)
	if n := strings.Count(text, "| phase | Succeeded |"); n != 3 {
		t.Errorf("%d of 3 succeeded", n)
	}
	mustSay(t, text, "the start command names no interpreter", "| restarted | true |", "| datafiles are reached by | DNFS_LIB |",
		"| datafiles are reached by | OS_LIB |", "Direct NFS ODM Library", "| DatabaseReady | True, ", "| image | one of the user |")
	for _, never := range []string{w.lifs[0], w.ns, w.export} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in the report", never)
		}
	}
}
