package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/html"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// newReportCommand judges result files again and shows them. A result carries
// its plan, so nothing else is needed, whenever it was made.
func newReportCommand(a *app) *cobra.Command {
	var output, format string
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Show a result file: numbers, verdict and findings",
		Long: `Judges a result and shows it on one page: on the terminal, or as one HTML file
that needs no network and no script. Several files are the clients of one run. The
record of a suite's run is shown too. A file may be gzip-compressed; - is standard
input.

The results of a run in a cluster are in the ConfigMap that status.resultRef of
the NFSBenchmark names, one key for each client:

  kubectl get configmap nfsb-demo-result -o jsonpath='{.binaryData.client-0\.result\.json\.gz}' \
    | base64 -d | nfsbench report -`,
		Example: `  nfsbench report result.json.gz
  nfsbench report client-0.json.gz client-1.json.gz -o report.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := destinationOf(output, format)
			if err != nil {
				return badInput(err)
			}
			in, err := readRecorded(cmd.InOrStdin(), args)
			if err != nil {
				return badInput(err)
			}
			return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return a.show(w, in, to.format) })
		},
	}
	addDestination(cmd, &output, &format)
	return cmd
}

func addDestination(cmd *cobra.Command, output, format *string) {
	cmd.Flags().StringVarP(output, "output", "o", "-", "file to write, by its ending .html, .txt or .json; - is standard output; text, json and html are formats for it")
	cmd.Flags().StringVar(format, "format", "", "text, json or html, whatever the file is called")
}

// The formats of what is shown.
const (
	formatText = "text"
	formatJSON = "json"
	formatHTML = "html"
)

// destination is where a report goes, and as what.
type destination struct {
	file   string // empty: standard output
	format string
}

func destinationOf(output, format string) (destination, error) {
	d := destination{format: formatText}
	ends := map[string]string{".html": formatHTML, ".htm": formatHTML, ".txt": formatText, ".json": formatJSON}
	switch end := ends[strings.ToLower(filepath.Ext(output))]; {
	case output == formatText || output == formatJSON || output == formatHTML:
		d.format = output
	case output != "-" && output != "":
		d.file = output
		if end == "" && format == "" {
			return d, fmt.Errorf("--output is %q; end the name with .html, .txt or .json, or say --format", output)
		}
		d.format = end
	}
	switch format {
	case "":
	case formatText, formatJSON, formatHTML:
		d.format = format
	default:
		return d, fmt.Errorf("--format is %q; choose text, json or html", format)
	}
	return d, nil
}

// write makes the whole file or none.
func (d destination) write(stdout io.Writer, do func(io.Writer) error) error {
	if d.file == "" {
		return do(stdout)
	}
	f, err := os.CreateTemp(filepath.Dir(d.file), "."+filepath.Base(d.file)+"-*")
	if err != nil {
		return badInput(fmt.Errorf("--output %s: %w", d.file, err))
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has its name by then
	const readable = 0o644
	if err := errors.Join(do(f), f.Chmod(readable), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", d.file, err)
	}
	if err := os.Rename(f.Name(), d.file); err != nil {
		return fmt.Errorf("write %s: %w", d.file, err)
	}
	return nil
}

// show writes a judged result, or the table of a suite's run.
func (a *app) show(w io.Writer, in recorded, format string) error {
	if in.run != nil {
		return a.showRun(w, *in.run, compare.Run(*in.run), nil, format)
	}
	j := judge.Judge(in.result)
	switch format {
	case formatHTML:
		return html.Benchmark(w, in.result, j, a.pageOptions())
	case formatJSON:
		return writeJSON(w, j)
	default:
		return report.Text(w, in.result, j, terminalOptions(w))
	}
}

func (a *app) showRun(w io.Writer, run runfile.SuiteRun, t compare.Table, g *compare.Regression, format string) error {
	switch format {
	case formatHTML:
		return html.Suite(w, run, t, g, a.pageOptions())
	case formatJSON:
		return writeJSON(w, t)
	default:
		return report.CompareText(w, t, terminalOptions(w))
	}
}

func (a *app) pageOptions() html.Options {
	return html.Options{Generated: a.now(), Version: versionText()}
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// terminalOptions says what the reader's terminal can do. What is not a
// terminal gets neither colours nor an odd width, so that files stay the same.
func terminalOptions(w io.Writer) report.Options {
	o := report.Options{ASCII: !utf8Locale()}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) { //nolint:gosec // a descriptor fits an int
		return o
	}
	_, noColor := os.LookupEnv("NO_COLOR")
	o.Color = !noColor
	if width, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // a descriptor fits an int
		o.Width = width
	}
	return o
}

func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			return strings.Contains(strings.ToUpper(strings.ReplaceAll(v, "-", "")), "UTF8")
		}
	}
	return false
}
