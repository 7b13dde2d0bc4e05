package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// newReportCommand judges result files again and shows them. A result carries
// its plan, so nothing else is needed, whenever it was made.
func newReportCommand(*app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Show a result file: numbers, verdict and findings",
		Long: `Judges a result and shows it on one page. Several files are the clients of
one run. A file may be gzip-compressed; - is standard input.

The results of a run in a cluster are in the ConfigMap that status.resultRef of
the NFSBenchmark names, one key for each client:

  kubectl get configmap nfsb-demo-result -o jsonpath='{.binaryData.client-0\.result\.json\.gz}' \
    | base64 -d | nfsbench report -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := readResults(cmd.InOrStdin(), args)
			if err != nil {
				return badInput(err)
			}
			return showResult(cmd.OutOrStdout(), res, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, or json for the judgement as data")
	return cmd
}

func readResults(stdin io.Reader, names []string) (runfile.Result, error) {
	var parts []runfile.Result
	for _, name := range names {
		res, err := readResult(stdin, name)
		if err != nil {
			return runfile.Result{}, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, res)
	}
	return runfile.Join(parts...)
}

func readResult(stdin io.Reader, name string) (runfile.Result, error) {
	if name == "-" {
		return runfile.ReadResult(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return runfile.Result{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written to it
	return runfile.ReadResult(f)
}

func showResult(w io.Writer, res runfile.Result, output string) error {
	j := judge.Judge(res)
	switch output {
	case "text":
		return report.Text(w, res, j, terminalOptions(w))
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(j)
	default:
		return badInput(fmt.Errorf("--output is %q; choose text or json", output))
	}
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
