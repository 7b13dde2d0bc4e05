package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestDatabaseSaysWhatIsWrongWithItsFlags(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		args []string
		want string
	}{
		"no run dir":        {nil, "--run-dir is required"},
		"redo alone":        {[]string{"--run-dir", dir, "--redo", "/redo"}, "--redo and --redo-export belong together"},
		"redo nowhere":      {[]string{"--run-dir", dir, "--redo-export", "/redo"}, "--redo and --redo-export belong together"},
		"redo of no data":   {[]string{"--run-dir", dir, "--redo", "/redo", "--redo-export", "/redo"}, "and with --export"},
		"no data":           {[]string{"--run-dir", dir, "--data", ""}, "--data is empty"},
		"no time":           {[]string{"--run-dir", dir, "--startup-timeout", "0s"}, "--startup-timeout"},
		"start command":     {[]string{"--run-dir", dir, "--start-command", "/start.sh"}, "--start-command is \"/start.sh\"; write a JSON array"},
		"empty command":     {[]string{"--run-dir", dir, "--health-command", "[]"}, "--health-command names no program"},
		"nameless command":  {[]string{"--run-dir", dir, "--health-command", `[""]`}, "--health-command names no program"},
		"not only of words": {[]string{"--run-dir", dir, "--health-command", `[1]`}, "--health-command is"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var errOut strings.Builder
			code := run(append([]string{"database"}, tc.args...), strings.NewReader(""), &strings.Builder{}, &errOut)
			if code != cli.ExitBadInput || !strings.Contains(errOut.String(), tc.want) {
				t.Errorf("code %d, %q; want %q", code, errOut.String(), tc.want)
			}
		})
	}
}

// TestDatabaseEndsWithItsSentence: the end of the log is what Kubernetes keeps
// of a container that has failed.
func TestDatabaseEndsWithItsSentence(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ORACLE_HOME", filepath.Join(dir, "home"))
	var out, errOut strings.Builder
	code := run([]string{"database", "--run-dir", dir, "--data", dir, "--direct-nfs=true", "--sid", "FREE"}, strings.NewReader(""), &out, &errOut)
	lines := strings.Split(strings.TrimSpace(errOut.String()), "\n")
	last := lines[len(lines)-1]
	if code != cli.ExitFailed || !strings.HasPrefix(last, "nfsbench: "+runfile.FailureDirectNFSMissing+": ") || !strings.Contains(last, "libnfsodm") {
		t.Errorf("code %d, last line %q", code, last)
	}
	state, err := os.ReadFile(filepath.Join(dir, runfile.DatabaseFile))
	if err != nil || !strings.Contains(string(state), `"sid":"FREE"`) || !strings.Contains(string(state), `"state":"Failed"`) {
		t.Errorf("state %s, %v", state, err)
	}
}

// TestTheStartupProbeOfADatabaseIsAnExitCode, with no other flag than the run directory.
func TestTheStartupProbeOfADatabaseIsAnExitCode(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct {
		state, want string
		code        int
	}{
		{"", runfile.DatabaseFile, cli.ExitFailed},
		{`{"state":"Starting"}`, "the database is Starting", cli.ExitFailed},
		{`{"state":"Ready"}`, "", cli.ExitOK},
	} {
		if step.state != "" {
			if err := os.WriteFile(filepath.Join(dir, runfile.DatabaseFile), []byte(step.state), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var errOut strings.Builder
		code := run([]string{"database", "--check", "--run-dir", dir}, strings.NewReader(""), &strings.Builder{}, &errOut)
		if code != step.code || !strings.Contains(errOut.String(), step.want) {
			t.Errorf("%s: code %d, %q", step.state, code, errOut.String())
		}
	}
}

func TestCommandsKeepTheirWords(t *testing.T) {
	got, err := commandFlag("--start-command", `["/bin/sh","-c","exec \"$0\" now"]`)
	if diff := cmp.Diff([]string{"/bin/sh", "-c", `exec "$0" now`}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTheSecretsOfAnImageAreKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(file, []byte("of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := databaseSecrets([]string{"ORACLE_PWD=one", "ORACLE_PASSWORD=two", "APP_USER_PASSWORD=three=3", "ORACLE_PASSWORD_FILE=" + file, "APP_USER_PASSWORD_FILE=/none", "PATH=/bin"})
	for _, want := range []string{"one", "two", "three=3", "of-a-file"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %v", want, got)
		}
	}
	if slices.Contains(got, "/bin") {
		t.Errorf("secrets %v", got)
	}
}

// TestAnExaminationWritesItsAnswers: the plugin reads them from the status of the pod.
func TestAnExaminationWritesItsAnswers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ORACLE_HOME", filepath.Join(dir, "home"))
	file, data := filepath.Join(dir, "answers"), t.TempDir()
	for args, want := range map[string]string{
		"--direct-nfs=true --data ":        "libnfsodm",
		"--connect 127.0.0.1:1/ORCL":       "127.0.0.1:1",
		"--data " + data + " --min-free 1": "none that were not created",
	} {
		var out, errOut strings.Builder
		code := run(append([]string{"database", "--run-dir", dir, "--examine", file}, strings.Split(args, " ")...), strings.NewReader(""), &out, &errOut)
		raw, err := os.ReadFile(file)
		if code != cli.ExitOK || err != nil {
			t.Fatalf("code %d, %v, %s", code, err, errOut.String())
		}
		checks, err := runfile.ReadChecks(string(raw))
		if err != nil || !slices.ContainsFunc(checks, func(c runfile.Check) bool { return strings.Contains(c.Message, want) }) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %+v\n%s", args, err, checks, out.String())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, runfile.DatabaseFile)); err == nil {
		t.Error("an examination has the state of a database")
	}
}
