package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTheProgramsRunAsAnyUser runs tests of what the pods of native benchmarks run as a user
// that OpenShift assigns: unknown to the system, in the group root, without a home directory,
// in a working directory that it may not write to.
func TestTheProgramsRunAsAnyUser(t *testing.T) {
	const uid = 1000680000
	if os.Getuid() != 0 {
		t.Skip("only root becomes another user")
	}
	scratch := t.TempDir()
	for _, folder := range []string{filepath.Dir(scratch), scratch} { // like an emptyDir
		if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // for every user, that is the point
			t.Fatal(err)
		}
	}
	binary := copyOfThisProgram(t, scratch)
	for _, name := range []string{
		"TestLoadMeasuresOverEveryPathAndLeavesNothing",
		"TestLoadFromAPlanTellsTheRunDirectoryAndCleanRemovesTheFiles",
		"TestServeSaysHowToUseItAndEndsWithItsContext",
		"TestCollectPublishesAndEndsWhenAsked",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run", "^"+name+"$")
			cmd.Dir, cmd.Env = "/", []string{"TMPDIR=" + scratch}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: 0}}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// copyOfThisProgram is where every user can start it.
func copyOfThisProgram(t *testing.T, folder string) string {
	t.Helper()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, "nfsbench.test")
	if err := os.WriteFile(to, program, 0o755); err != nil { //nolint:gosec // for every user
		t.Fatal(err)
	}
	return to
}
