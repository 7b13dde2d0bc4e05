package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// maxOranfstabBytes is far above any real file; it keeps a mistyped name, such
// as that of a data file, from filling the memory.
const maxOranfstabBytes = 1 << 20

// newOranfstabCommand groups what can be done with an oranfstab file.
func newOranfstabCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "oranfstab",
		Short: "Check oranfstab, the file that configures Oracle Direct NFS",
		Long: `Check oranfstab, the file that configures Oracle Direct NFS.

Oracle reads $ORACLE_HOME/dbs/oranfstab, else /etc/oranfstab, and does not say
what is wrong with it: it hangs at startup, or uses the kernel NFS client.`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.RequireSubcommand,
	}
	cmd.AddCommand(newOranfstabLintCommand())
	return cmd
}

// lintReport is the JSON output of the lint command.
type lintReport struct {
	Files []lintedFile `json:"files"`
}

type lintedFile struct {
	File     string              `json:"file"`
	Errors   int                 `json:"errors"`
	Warnings int                 `json:"warnings"`
	Problems []oranfstab.Problem `json:"problems"`

	lines []string
}

func newOranfstabLintCommand() *cobra.Command {
	var output string
	var strict bool
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find mistakes in oranfstab files, and say what Oracle does with them",
		Long: `Find mistakes in oranfstab files. For each it prints the place, what to write
instead, and what Oracle does with the mistake, as far as that is documented.
FILE may be - for standard input.

Exit codes: 0 no errors, 1 errors, or with --strict warnings, 2 a file cannot be
read.`,
		Example: `  nfsbench oranfstab lint /etc/oranfstab
  nfsbench oranfstab lint --strict --output json oranfstab.*
  kubectl get configmap db -o jsonpath='{.data.oranfstab}' | nfsbench oranfstab lint -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no file is named; give a FILE, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return cli.BadInputf("--output is %q; use text or json", output)
			}
			report, err := lintFiles(cmd.Context(), cmd.InOrStdin(), args)
			if err != nil {
				return cli.BadInput(err)
			}
			if err := report.write(cmd.OutOrStdout(), output); err != nil {
				return err
			}
			return report.verdict(strict)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&strict, "strict", false, "let warnings fail too")
	return cmd
}

// lintFiles reads all files before any result is printed, so that exit code 2
// means that nothing was done.
func lintFiles(ctx context.Context, in io.Reader, names []string) (lintReport, error) {
	var report lintReport
	for _, name := range names {
		src, err := cli.ReadInput(ctx, in, name, "oranfstab", maxOranfstabBytes)
		if err != nil {
			return lintReport{}, err
		}
		f := lintedFile{
			File:     cli.DisplayName(name),
			Problems: append([]oranfstab.Problem{}, oranfstab.Lint(src)...), // [] in JSON, not null
			lines:    strings.Split(strings.TrimPrefix(string(src), "\ufeff"), "\n"),
		}
		for _, p := range f.Problems {
			if p.Severity == oranfstab.Error {
				f.Errors++
			}
		}
		f.Warnings = len(f.Problems) - f.Errors
		report.Files = append(report.Files, f)
	}
	return report, nil
}

func (r lintReport) write(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	var b strings.Builder
	for _, f := range r.Files {
		for _, p := range f.Problems {
			source, marks := underline(f.lines[p.Line-1], p.Column, p.Length)
			fmt.Fprintf(&b, "%s:%s [%s]\n    %s\n    %s\n    Oracle: %s\n", f.File, p, p.Code, source, marks, p.Effect)
		}
		if len(f.Problems) == 0 {
			fmt.Fprintf(&b, "%s: no problems\n", f.File)
		} else {
			fmt.Fprintf(&b, "%s: %s, %s\n", f.File, count(f.Errors, "error"), count(f.Warnings, "warning"))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shownColumns is how much of a line is worth showing.
const shownColumns = 160

// underline returns the line as it can be shown on a terminal, one column per
// character, and the marks to print below it.
func underline(line string, column, length int) (source, marks string) {
	shown := []rune(strings.TrimSuffix(line, "\r"))
	for i, r := range shown {
		switch {
		case r == '\t':
			shown[i] = ' '
		case !unicode.IsPrint(r):
			shown[i] = '?'
		}
	}
	from := 0
	if column > shownColumns { // what is meant would not be seen
		from = column - shownColumns/2
	}
	from = min(from, len(shown))
	to := min(from+shownColumns, len(shown))
	at := column - 1 - from
	length = max(1, min(length, to-from-at))
	return string(shown[from:to]), strings.Repeat(" ", at) + "^" + strings.Repeat("~", length-1)
}

// verdict is what the command ends with.
func (r lintReport) verdict(strict bool) error {
	errs, warnings := 0, 0
	for _, f := range r.Files {
		errs += f.Errors
		warnings += f.Warnings
	}
	switch {
	case errs > 0:
		return fmt.Errorf("found %s; correct them before Oracle reads the file", count(errs, "error"))
	case strict && warnings > 0:
		return fmt.Errorf("found %s, and --strict is set; correct them or leave --strict out", count(warnings, "warning"))
	default:
		return nil
	}
}
