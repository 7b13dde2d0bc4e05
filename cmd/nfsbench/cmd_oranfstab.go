package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
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
func newOranfstabCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "oranfstab",
		Short: "Check and write oranfstab, the file that configures Oracle Direct NFS",
		Long: `Check and write oranfstab, the file that configures Oracle Direct NFS.

Oracle reads $ORACLE_HOME/dbs/oranfstab, else /etc/oranfstab, and does not say
what is wrong with it: it hangs at startup, or uses the kernel NFS client.`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.RequireSubcommand,
	}
	cmd.AddCommand(newOranfstabLintCommand(), newOranfstabRenderCommand(a), newOranfstabFmtCommand(a))
	return cmd
}

func newOranfstabFmtCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "fmt FILE",
		Short: "Print an oranfstab in its canonical form",
		Long: `Print an oranfstab in its canonical form: lower case keys in the order that is
known to work, one blank between words, no comments. FILE may be - for standard
input. A file with errors is refused; "nfsbench oranfstab lint" explains them.`,
		Example: "  nfsbench oranfstab fmt /etc/oranfstab > oranfstab.new",
		Args:    oneFile("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := cli.ReadInput(cmd.Context(), cmd.InOrStdin(), args[0], "oranfstab", maxOranfstabBytes)
			if err != nil {
				return cli.BadInput(err)
			}
			file, err := oranfstab.Parse(src)
			if err != nil {
				return cli.BadInputf("read %s: %w; 'nfsbench oranfstab lint' explains it", cli.DisplayName(args[0]), err)
			}
			text, err := oranfstab.Render(file)
			if err != nil {
				return err
			}
			if regexp.MustCompile(`(?m)^\s*#`).Match(src) {
				a.log.Warn("Comments are not kept", "file", cli.DisplayName(args[0]))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
}

// renderFlags describe one server block.
type renderFlags struct {
	server                         oranfstab.Server
	paths, locals, exports, mounts []string
	timeoutSeconds                 int32
}

func newOranfstabRenderCommand(a *app) *cobra.Command {
	var flags renderFlags
	cmd := &cobra.Command{
		Use:   "render --server NAME --path ADDRESS --export PATH --mount PATH",
		Short: "Print an oranfstab for one server",
		Long: `Print an oranfstab for one server. Values that would make another file than the
flags say are refused; what is allowed but doubtful is logged as a warning.

The first --local belongs to the first --path, and so on; give none, or as many
as there are paths. The same holds for --export and --mount.`,
		Example: `  nfsbench oranfstab render --server nas1 --path 10.0.1.100 \
    --export /vol/oradata --mount /u02/oradata

  nfsbench oranfstab render --server nas1 --nfs-version nfsv3 \
    --local 10.0.1.10 --path 10.0.1.100 \
    --local 10.0.2.10 --path 10.0.2.100 \
    --export /vol/oradata --mount /u02/oradata \
    --export /vol/redo --mount /u03/redo > oranfstab`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := flags.build(cmd.Flags().Changed("mnt-timeout"))
			if err != nil {
				return cli.BadInput(err)
			}
			text, err := oranfstab.Render(oranfstab.File{Servers: []oranfstab.Server{server}})
			if err != nil {
				return cli.BadInput(err)
			}
			for _, p := range oranfstab.Lint([]byte(text)) {
				a.log.Warn("Doubtful line", "line", p.Line, "code", p.Code, "message", p.Message, "oracle", p.Effect)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	flags.register(cmd)
	return cmd
}

func (r *renderFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	// Arrays, not slices: pflag reads slices as CSV and drops what follows a line
	// break, so that Render would not see what it has to refuse.
	f.StringVar(&r.server.Name, "server", "", "label of the server; its full host name with Kerberos")
	f.StringArrayVar(&r.paths, "path", nil, "address of the server, up to 4 times")
	f.StringArrayVar(&r.locals, "local", nil, "address of this host for the path of the same rank")
	f.StringArrayVar(&r.exports, "export", nil, "exported directory, repeatable")
	f.StringArrayVar(&r.mounts, "mount", nil, "where the export of the same rank is mounted")
	f.BoolVar(&r.server.DontRoute, "dontroute", false, "do not let the operating system route")
	f.StringVar((*string)(&r.server.Version), "nfs-version", "",
		"nfsv3, nfsv4, nfsv4.1 or pnfs (Oracle's default is nfsv3)")
	f.StringVar((*string)(&r.server.SecurityDefault), "security-default", "",
		"sys, krb5, krb5i or krb5p (Oracle's default is sys)")
	f.Int32Var(&r.timeoutSeconds, "mnt-timeout", oranfstab.DefaultMountTimeoutSeconds,
		"seconds to wait for a mount; written only if set")
	f.StringVar(&r.server.Management, "management", "", "address for SNMP, if it is not that of the server")
	f.StringVar(&r.server.Community, "community", "", "SNMP community (Oracle's default is public)")
}

// build pairs the lists. What the values may be is Render's business.
func (r *renderFlags) build(timeoutSet bool) (oranfstab.Server, error) {
	s := r.server
	switch {
	case s.Name == "":
		return s, errors.New("--server is missing; give the server a label")
	case len(r.paths) == 0:
		return s, errors.New("--path is missing; give an address of the server")
	case len(r.exports) == 0:
		return s, errors.New("--export is missing; give the exported directory")
	}
	s.Version = oranfstab.Version(strings.ToLower(string(s.Version)))
	s.SecurityDefault = oranfstab.Security(strings.ToLower(string(s.SecurityDefault)))
	if timeoutSet {
		s.MountTimeoutSeconds = &r.timeoutSeconds
	}
	if n := len(r.locals); n != 0 && n != len(r.paths) {
		return s, fmt.Errorf("--local is given %s and --path %s; give a local for each path, or none", count(n, "time"),
			count(len(r.paths), "time"))
	}
	for i, p := range r.paths {
		pair := oranfstab.PathPair{Path: p}
		if len(r.locals) > 0 {
			pair.Local = r.locals[i]
		}
		s.Paths = append(s.Paths, pair)
	}
	if len(r.exports) != len(r.mounts) {
		return s, fmt.Errorf("--export is given %s and --mount %s; give a mount for each export",
			count(len(r.exports), "time"), count(len(r.mounts), "time"))
	}
	for i, e := range r.exports {
		s.Exports = append(s.Exports, oranfstab.Export{Path: e, Mount: r.mounts[i]})
	}
	return s, nil
}

// oneFile takes one argument, which the usage calls so.
func oneFile(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%d files are named; give one %s, or - for standard input", len(args), name)
		}
		return nil
	}
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
