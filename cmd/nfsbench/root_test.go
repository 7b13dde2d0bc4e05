package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
			code:   exitOK, outHas: "Available Commands:",
		},
		"version": {
			args: []string{"--version"}, reason: "scripts ask for the version",
			code: exitOK, outHas: "nfsbench ",
		},
		"unknown flag": {
			args: []string{"--nope"}, reason: "cobra's own errors are bad input",
			code: exitBadInput, errText: "nfsbench: unknown flag: --nope",
		},
		"unknown command": {
			args: []string{"oranfstb"}, reason: "a typo is answered with the nearest command",
			code: exitBadInput, errText: `nfsbench: there is no command "oranfstb"; did you mean "oranfstab"?`,
		},
		"unknown subcommand": {
			args: []string{"oranfstab", "zzz"}, reason: "a group does not swallow a typo",
			code: exitBadInput, errText: `nfsbench: there is no command "zzz"; 'nfsbench oranfstab --help' lists the commands`,
		},
		"bad log level": {
			args: []string{"oranfstab", "--log-level=loud"}, reason: "the flags of the root are checked for every command",
			code: exitBadInput, errText: `nfsbench: --log-level is "loud"; use debug, info, warn or error`,
		},
		"bad log format": {
			args: []string{"oranfstab", "--log-format=xml"}, reason: "the flags of the root are checked for every command",
			code: exitBadInput, errText: `nfsbench: --log-format is "xml"; use text or json`,
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

func TestErrorsOfARunEndWith1UnlessTheyAreBadInput(t *testing.T) {
	cases := map[string]struct {
		err  error
		want int
	}{
		"success":   {err: nil, want: exitOK},
		"failure":   {err: errors.New("server is gone"), want: exitFailed},
		"bad input": {err: badInput(errors.New("no such file")), want: exitBadInput},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(&cobra.Command{Use: "y", RunE: func(*cobra.Command, []string) error { return tc.err }})
			markRunErrors(root)
			root.SetArgs([]string{"y"})
			if got := exitCode(root.ExecuteContext(t.Context())); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
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
