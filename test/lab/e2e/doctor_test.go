package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// The Secret and the password of a database that the doctor finds in order: Oracle's images take
// fewer characters than the stand-in.
const doctorSecret, doctorPassword = "doctor-password", "Doctor_Pa55word"

// TestOracleDoctorStartsNothing examines a benchmark as it is and one with several faults. The
// doctor tells all faults at once, starts no database, writes nothing and leaves nothing.
func TestOracleDoctorStartsNothing(t *testing.T) {
	w := newOracleWorld(t, 1)
	plugin := buildPlugin(t)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: doctorSecret, Labels: map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed}},
		StringData: map[string]string{"password": doctorPassword},
	}
	if err := w.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}

	t.Run("all is in order", func(t *testing.T) {
		volume := w.boundVolume(t, "healthy")
		b := w.database("healthy", "healthy", w.over(w.lifs[0]), func(b *v1alpha1.NFSBenchmark) {
			b.Spec.Database.Container.PasswordSecretRef.Name = doctorSecret
		})
		out, code := w.doctor(t, plugin, b)
		if code != 0 || strings.Contains(out, "FAIL") {
			t.Errorf("exit code %d", code)
		}
		mustHaveLines(t, out, "OK    benchmark ", "OK    policy ", "OK    secret ", "OK    storage .*"+w.lifs[0], "OK    memory and CPU ",
			"OK    size ", "OK    namespace ", "OK    images .*"+standinImage, "OK    Direct NFS .*rws", "OK    start command .*runOracle.sh",
			"OK    health script ", "OK    volume .*54321 writes", "OK    files ", "OK    server .*"+w.lifs[0]+" admits", "(OK|WARN)  *open files ")
		if left := files(t, volume); len(left) > 0 {
			t.Errorf("the doctor left %v on the volume", left)
		}
	})

	t.Run("several faults", func(t *testing.T) {
		const payroll = "payroll.dbf"
		volume := w.boundVolume(t, "faulty")
		if err := os.WriteFile(filepath.Join(volume, payroll), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chown(volume, 0, 0), os.Chmod(volume, 0o755)); err != nil { //nolint:gosec // others may read it, and not write
			t.Fatal(err)
		}
		b := w.database("faulty", "faulty", w.over(w.unreachable), func(b *v1alpha1.NFSBenchmark) {
			c := b.Spec.Database.Container
			c.PasswordSecretRef.Name, c.SetPermissions, c.Command = "absent", bench.Disabled, []string{"/none"}
		})
		out, code := w.doctor(t, plugin, b)
		if code != 1 {
			t.Errorf("exit code %d", code)
		}
		mustHaveLines(t, out, `FAIL  secret .*"absent"`, "FAIL  start command .*/none", "FAIL  volume .*user 54321 cannot write",
			"FAIL  files .*"+payroll, "WARN  server .*"+w.unreachable, ".*4 of [0-9]+ checks failed")
		if left := files(t, volume); len(left) != 1 {
			t.Errorf("on the volume are now %v", left)
		}
	})
}

// buildPlugin makes kubectl-nfsbench of this source.
func buildPlugin(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kubectl-nfsbench")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../..", "-o", program, "./cmd/kubectl-nfsbench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// boundVolume is a volume whose claim is bound, and its folder on this machine.
func (w *oracleWorld) boundVolume(t *testing.T, name string) (folder string) {
	t.Helper()
	w.volume(t, name, w.lifs[0])
	claim := &corev1.PersistentVolumeClaim{}
	poll(t, func() (bool, string) {
		err := w.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, claim)
		return err == nil && claim.Status.Phase == corev1.ClaimBound, "claim " + name + " is " + string(claim.Status.Phase)
	})
	return filepath.Join(w.folder, w.ns+"-"+name)
}

// doctor examines a benchmark that does not exist, and demands that nothing of the examination
// stays and that no password is in its output.
func (w *oracleWorld) doctor(t *testing.T, plugin string, b *v1alpha1.NFSBenchmark) (out string, code int) {
	t.Helper()
	text, err := yaml.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), plugin, "doctor", "-f", file, "--operator-namespace", systemNamespace)
	raw, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	out = string(raw)
	t.Logf("\n%s", out)
	if strings.Contains(out, doctorPassword) {
		t.Error("the password is in the output")
	}
	poll(t, func() (bool, string) {
		left, err := w.leftovers(t.Context(), w.ns, nil)
		return err == nil && len(left) == 0, "left: " + strings.Join(left, ", ")
	})
	return out, cmd.ProcessState.ExitCode()
}

// mustHaveLines demands a line for each regular expression, from its beginning.
func mustHaveLines(t *testing.T, out string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !regexp.MustCompile("(?m)^" + line).MatchString(out) {
			t.Errorf("no line %q", line)
		}
	}
}
