package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/snippet"
)

// TestTheCommandsOfTheTutorialsWork runs the shell blocks of each tutorial, one after the other, in
// a namespace of its own. Blocks that need what a test has not are marked with the reason.
func TestTheCommandsOfTheTutorialsWork(t *testing.T) {
	c := newCluster(t)
	t.Parallel()
	all, err := snippet.Read("docs/tutorials")
	if err != nil {
		t.Fatal(err)
	}
	ns := c.namespace(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "kubeconfig")
	raw, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(script string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = filepath.Join("..", "..", "..")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "PATH="+filepath.Dir(os.Getenv("KUBECTL"))+":"+os.Getenv("PATH"))
		return cmd.CombinedOutput()
	}
	if out, err := run("kubectl config set-context --current --namespace " + ns); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ran := 0
	for _, s := range all {
		if s.NotRun != "" {
			t.Logf("%s is not run: %s", s.Where, s.NotRun)
			continue
		}
		began := time.Now()
		out, err := run(s.Text)
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", s.Where, err, s.Text, out)
		}
		t.Logf("%s took %v:\n%s", s.Where, time.Since(began).Round(time.Second), strings.TrimSpace(string(out)))
		ran++
	}
	if ran < 2 {
		t.Errorf("%d blocks ran", ran)
	}
}
