package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/judge"
)

const (
	formatCSV   = "csv"
	formatJSONL = "jsonl"
	// resultsPage is how many benchmarks are read, and so held in memory, at a time.
	resultsPage = 100
)

// resultRow is one finished benchmark by column; what is not known is empty in CSV and absent in JSON.
type resultRow map[string]any

// columns are the names in a row in their order: those that describe a benchmark, the fields of
// status.summary of all metrics with their intervals, and the codes of findings.
func columns() []string {
	names := []string{
		"namespace", "name", "suite", "suiteRun", "cell", "repetition", "startTime", "completionTime", "phase", "verdict",
		"validity", "workload", "protocol",
	}
	for _, m := range judge.Metrics() {
		names = append(names, m.Field)
		if low, high := m.Bounds(); low != "" {
			names = append(names, low, high)
		}
	}
	return append(names, "findings")
}

func newResultsCommand(a *app) *cobra.Command {
	var format, selector string
	var all bool
	cmd := &cobra.Command{
		Use:   "results",
		Short: "List finished benchmarks as CSV or JSON lines, for other programs",
		Long: `Write one line for each finished benchmark, with the numbers of its status: as CSV with
a header, or as one JSON object a line. Numbers have the unit in their name. The list is in the order
of the names.

In CSV, a text that a spreadsheet would take for a formula begins with an apostrophe.`,
		Example: `  kubectl nfsbench results > results.csv
  kubectl nfsbench results --all-namespaces -o jsonl
  kubectl nfsbench results -l nfsbench.io/suite=nightly`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != formatCSV && format != formatJSONL {
				return cli.BadInputf("--output is %q; use %s or %s", format, formatCSV, formatJSONL)
			}
			chosen, err := labels.Parse(selector)
			if err != nil {
				return cli.BadInputf("--selector: %w", err)
			}
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			options := []client.ListOption{client.MatchingLabelsSelector{Selector: chosen}}
			if !all {
				options = append(options, client.InNamespace(c.namespace))
			}
			put := jsonLines(cmd.OutOrStdout())
			if format == formatCSV {
				put = csvLines(cmd.OutOrStdout())
			}
			return c.writeResults(cmd.Context(), put, options)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&format, "output", "o", formatCSV, "csv or jsonl")
	fs.StringVarP(&selector, "selector", "l", "", "labels of the benchmarks, such as nfsbench.io/suite=NAME")
	fs.BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	cli.CompleteValues(cmd, "output", formatCSV, formatJSONL)
	return cmd
}

// writeResults puts the rows of finished benchmarks, page by page. A nil row is the beginning.
func (c *cluster) writeResults(ctx context.Context, put func(resultRow) error, options []client.ListOption) error {
	if err := put(nil); err != nil {
		return err
	}
	list := &v1alpha1.NFSBenchmarkList{}
	for {
		page := append(slices.Clone(options), client.Limit(resultsPage), client.Continue(list.Continue))
		if err := c.List(ctx, list, page...); err != nil {
			return err
		}
		for i := range list.Items {
			b := &list.Items[i]
			if b.Status.CompletionTime == nil {
				continue
			}
			makePrintable(reflect.ValueOf(&b.Status))
			if err := put(rowOf(b)); err != nil {
				return err
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}

func rowOf(b *v1alpha1.NFSBenchmark) resultRow {
	sum := ptr.Deref(b.Status.Summary, v1alpha1.Summary{})
	row := resultRow{
		"namespace": b.Namespace, "name": b.Name, "suite": b.Labels[v1alpha1.LabelSuite],
		"suiteRun": b.Labels[v1alpha1.LabelSuiteRun], "cell": b.Labels[v1alpha1.LabelCell],
		"repetition": b.Labels[v1alpha1.LabelRepetition],
		"startTime":  stamp(b.Status.StartTime), "completionTime": stamp(b.Status.CompletionTime),
		"phase": string(b.Status.Phase), "verdict": string(b.Status.Verdict), "validity": string(b.Status.Validity),
		"workload": sum.Workload, "protocol": sum.Protocol,
	}
	for name, v := range sum.Numbers() {
		row[name] = v
	}
	var codes []string
	for _, f := range b.Status.Findings {
		codes = append(codes, f.Code)
	}
	if codes != nil {
		row["findings"] = codes
	}
	maps.DeleteFunc(row, func(_ string, v any) bool { return v == "" })
	return row
}

func stamp(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func jsonLines(w io.Writer) func(resultRow) error {
	return func(row resultRow) error {
		if row == nil {
			return nil
		}
		return json.NewEncoder(w).Encode(row)
	}
}

func csvLines(w io.Writer) func(resultRow) error {
	out := csv.NewWriter(w)
	return func(row resultRow) error {
		if row == nil {
			return out.WriteAll([][]string{columns()})
		}
		var cells []string
		for _, name := range columns() {
			text := ""
			switch v := row[name].(type) {
			case string:
				text = noFormula(v)
			case []string:
				text = noFormula(strings.Join(v, " "))
			case int64:
				text = fmt.Sprint(v)
			}
			cells = append(cells, text)
		}
		return out.WriteAll([][]string{cells}) // which flushes
	}
}

// noFormula keeps a spreadsheet from executing a text of a stranger.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
