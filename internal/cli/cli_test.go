package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestErrorsOfARunEndWith1UnlessTheyAreBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		err  error
		want int
		says string
	}{
		"success":   {nil, nil, ExitOK, ""},
		"failure":   {nil, errors.New("server is gone"), ExitFailed, "nfsbench: server is gone\n"},
		"bad input": {nil, BadInput(errors.New("no such file")), ExitBadInput, "nfsbench: no such file\n"},
		"verdict":   {nil, Coded(ExitVerdict, errors.New("missed")), ExitVerdict, "nfsbench: missed\n"},
		"left":      {nil, Coded(ExitLeft, errors.New("left")), ExitLeft, ""},
		"flag": {
			[]string{"--nope"},
			nil, ExitBadInput,
			"nfsbench: unknown flag: --nope\nRun 'x y --help' to see what it takes.\n",
		},
		"flag with a wrong letter": {
			[]string{"--patern", "Read"},
			nil, ExitBadInput,
			"nfsbench: unknown flag: --patern; did you mean --pattern?\nRun 'x y --help' to see what it takes.\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := &cobra.Command{Use: "x"}
			y := &cobra.Command{Use: "y", RunE: func(*cobra.Command, []string) error { return tc.err }}
			y.Flags().String("pattern", "", "")
			root.AddCommand(y)
			var errOut bytes.Buffer
			args := append([]string{"y"}, tc.args...)
			code := Execute(t.Context(), root, nil, args, strings.NewReader(""), io.Discard, &errOut)
			if code != tc.want || errOut.String() != tc.says {
				t.Errorf("exit code %d and %q, want %d and %q", code, errOut.String(), tc.want, tc.says)
			}
		})
	}
}

func TestFlagsOfCompareWinOverTheSuite(t *testing.T) {
	t.Parallel()
	declared := &runfile.SuiteSignificance{Metrics: []string{"IOPS"}, Alpha: 0.01, MinimumEffect: 0.1, Correction: "None"}
	for name, tc := range map[string]struct {
		args []string
		want runfile.SuiteSignificance
	}{
		"nothing is given": {nil, *declared},
		"everything is given": {
			[]string{"--alpha=0.2", "--minimum-effect=3", "--correction=holm", "--metric=clientcpu"},
			runfile.SuiteSignificance{Metrics: []string{"ClientCPU"}, Alpha: 0.2, MinimumEffect: 0.03, Correction: "Holm"},
		},
	} {
		var c Compare
		cmd := &cobra.Command{}
		c.Register(cmd)
		if err := errors.Join(cmd.ParseFlags(tc.args), c.Parse()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, c.over(declared)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestABarStaysWhereItIs(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	v := NewBar(&b)
	v.Show(25, "Run\u202ening")
	v.Show(100, "Succeeded")
	want := "\r\x1b[2K[===>            ]  25%  Run?ning\n" + "\x1b[1A\r\x1b[2K[================] 100%  Succeeded\n"
	if got := b.String(); got != want {
		t.Errorf("drew %q\nwant %q", got, want)
	}
	b.Reset()
	NewBar(&b).Show(0, strings.Repeat("n", 90))
	got := strings.Trim(strings.TrimPrefix(b.String(), "\r\x1b[2K"), "\n")
	if n := len([]rune(got)); n != 79 || !strings.HasPrefix(got, "["+strings.Repeat(" ", 16)+"]   0%") {
		t.Errorf("a line of %d columns wraps and the bar moves: %q", n, got)
	}
}
