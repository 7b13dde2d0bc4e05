package argolint

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// envCLI names the argo command line of the version that clusters run.
const envCLI = "NFSBENCH_ARGO_CLI"

func TestArgoAcceptsWhatIsCompiled(t *testing.T) {
	cli := os.Getenv(envCLI)
	if cli == "" {
		t.Skipf("%s is not set: build the argo command line with hack/argo/build.sh argo, and name it there", envCLI)
	}
	files, err := filepath.Glob("../../../internal/workflow/testdata/*.workflow.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d compiled suites: %v", len(files), err)
	}
	for _, f := range files {
		out, err := lint(t, cli, f)
		if err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(f), err, out)
		}
	}
}

// TestArgoRefusesWhatIsNoWorkflow shows that the other test asks somebody.
func TestArgoRefusesWhatIsNoWorkflow(t *testing.T) {
	cli := os.Getenv(envCLI)
	if cli == "" {
		t.Skipf("%s is not set: build the argo command line with hack/argo/build.sh argo, and name it there", envCLI)
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	text := "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: x}\nspec: {entrypoint: main, templates: [{name: main, steps: [[{name: a, template: nowhere}]]}]}\n"
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := lint(t, cli, bad); err == nil {
		t.Errorf("a step of a template that is not there was taken:\n%s", out)
	}
}

func lint(t *testing.T, cli, file string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cli, "lint", "--offline", "--no-color", "--kinds=workflows,cronworkflows", file) //nolint:gosec // whoever runs the test names it
	out, err := cmd.CombinedOutput()
	return string(out), err
}
