package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/cli"
)

func TestExitCodes(t *testing.T) {
	cases := map[string]struct {
		args    []string
		reason  string
		code    int
		outHas  string
		errText string // whole stderr up to the first newline
	}{
		"no arguments": {
			reason: "a bare command shows what there is",
			code:   cli.ExitOK, outHas: "Available Commands:",
		},
		"version": {
			args: []string{"--version"}, reason: "scripts ask for the version",
			code: cli.ExitOK, outHas: "nfsbench ",
		},
		"unknown flag": {
			args: []string{"--nope"}, reason: "cobra's own errors are bad input",
			code: cli.ExitBadInput, errText: "nfsbench: unknown flag: --nope",
		},
		"unknown command": {
			args: []string{"oranfstb"}, reason: "a typo is answered with the nearest command",
			code: cli.ExitBadInput, errText: `nfsbench: there is no command "oranfstb"; did you mean "oranfstab"?`,
		},
		"unknown subcommand": {
			args: []string{"oranfstab", "zzz"}, reason: "a group does not swallow a typo",
			code: cli.ExitBadInput, errText: `nfsbench: there is no command "zzz"; 'nfsbench oranfstab --help' lists the commands`,
		},
		"bad log level": {
			args: []string{"oranfstab", "--log-level=loud"}, reason: "the flags of the root are checked for every command",
			code: cli.ExitBadInput, errText: `nfsbench: --log-level is "loud"; use debug, info, warn or error`,
		},
		"bad log format": {
			args: []string{"oranfstab", "--log-format=xml"}, reason: "the flags of the root are checked for every command",
			code: cli.ExitBadInput, errText: `nfsbench: --log-format is "xml"; use text or json`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := run(tc.args, strings.NewReader(""), &out, &errOut); code != tc.code {
				t.Errorf("%s: exit code %d, want %d", tc.reason, code, tc.code)
			}
			if !strings.Contains(out.String(), tc.outHas) {
				t.Errorf("%s: stdout lacks %q:\n%s", tc.reason, tc.outHas, out.String())
			}
			if first, _, _ := strings.Cut(errOut.String(), "\n"); first != tc.errText {
				t.Errorf("%s: stderr starts with %q, want %q", tc.reason, first, tc.errText)
			}
		})
	}
}

func TestLoggerObeysLevelAndFormat(t *testing.T) {
	var buf bytes.Buffer
	log, err := newLogger(&buf, "WARN", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("Not this")
	log.Warn("This", slog.Int("n", 1))
	if got := buf.String(); strings.Contains(got, "Not this") || !strings.Contains(got, `"msg":"This","n":1`) {
		t.Errorf("logged %q", got)
	}
}
