package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/ports"
)

// TestACheckSaysWhetherALoadCouldRun, and leaves what it found.
func TestACheckSaysWhetherALoadCouldRun(t *testing.T) {
	t.Parallel()
	server, dir := serveLoopback(t)
	foreign := filepath.Join(dir, "theirs")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "precious"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	nobody := fmt.Sprintf("127.0.0.1:%d", ports.Reserve(t).Port())
	for name, tc := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"ready": {append(smallLoad(), server...), cli.ExitOK, []string{
			"OK    route           127.0.0.1: from 127.0.0.1 on interface lo", "OK    port            127.0.0.2",
			"OK    export          127.0.0.1:/export with NFSv3", "OK    path            127.0.0.2: a large call came through",
			`OK    write           a file in directory "nfsbench" was written, read and removed; the files of the load take 4 MiB`,
		}},
		"another MTU": {append(smallLoad(), append(server, "--link", "10G:9000")...), cli.ExitOK, []string{
			"WARN  route           127.0.0.1: from 127.0.0.1 on interface lo", "and protocol.link.mtu is 9000 (1500 if it is not given)",
		}},
		"no such export": {append(smallLoad(), server[0], server[1], "--export", "/exprt"), cli.ExitFailed, []string{
			`FAIL  export`, `did you mean "/export"?`, "1 of 5 checks failed",
		}},
		"nobody answers": {append(smallLoad(), "--server", nobody, "--export", "/export"), cli.ExitFailed, []string{
			"FAIL  port            127.0.0.1: no connection to TCP port", "1 of 1 checks failed",
		}},
		"no such name": {append(smallLoad(), "--server", "nas.invalid", "--export", "/export"), cli.ExitFailed, []string{
			"FAIL  name            nas.invalid is not known here", "1 of 1 checks failed",
		}},
		"files of others": {append(smallLoad(), append(server, "--dir", "theirs")...), cli.ExitFailed, []string{
			"FAIL  write", `directory "theirs" has files that nfsbench did not make (1: precious)`,
		}},
		"a mounted directory": {append(smallLoad(), "--mount", t.TempDir(), "--allow-non-nfs"), cli.ExitOK, []string{"OK    write"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut := runLoad(t, tc.code, append([]string{"load", "--check"}, tc.args...)...)
			for _, says := range tc.says {
				if !strings.Contains(out+errOut, says) {
					t.Errorf("no %q in\n%s%s", says, out, errOut)
				}
			}
		})
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "theirs" {
		t.Errorf("left: %v, %v", left, err)
	}
	answers := filepath.Join(t.TempDir(), "answers")
	runLoad(t, cli.ExitOK, append([]string{"load", "--check", "--answers", answers, "--server", nobody, "--export", "/export"}, smallLoad()...)...)
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	if checks, err := runfile.ReadChecks(string(text)); err != nil || checks[0].Result != runfile.CheckFail {
		t.Errorf("answers %s: %+v, %v", text, checks, err)
	}
}
