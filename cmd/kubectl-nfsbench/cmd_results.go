package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
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
)

const (
	formatCSV   = "csv"
	formatJSONL = "jsonl"
	// resultsPage is how many benchmarks are read, and so held in memory, at a time.
	resultsPage = 100
)

// resultRow is one finished benchmark. The names of its members are the columns; what is not
// known is empty in CSV and absent in JSON.
type resultRow struct {
	Namespace                      string   `json:"namespace"`
	Name                           string   `json:"name"`
	Suite                          string   `json:"suite,omitempty"`
	SuiteRun                       string   `json:"suiteRun,omitempty"`
	Cell                           string   `json:"cell,omitempty"`
	Repetition                     string   `json:"repetition,omitempty"`
	StartTime                      string   `json:"startTime,omitempty"` // RFC 3339, UTC
	CompletionTime                 string   `json:"completionTime,omitempty"`
	Phase                          string   `json:"phase"`
	Verdict                        string   `json:"verdict,omitempty"`
	Validity                       string   `json:"validity,omitempty"`
	Workload                       string   `json:"workload,omitempty"`
	Protocol                       string   `json:"protocol,omitempty"`
	ThroughputBytesPerSecond       *int64   `json:"throughputBytesPerSecond,omitempty"`
	IOPS                           *int64   `json:"iops,omitempty"`
	MeanLatencyMicroseconds        *int64   `json:"meanLatencyMicroseconds,omitempty"`
	P50LatencyMicroseconds         *int64   `json:"p50LatencyMicroseconds,omitempty"`
	P95LatencyMicroseconds         *int64   `json:"p95LatencyMicroseconds,omitempty"`
	P99LatencyMicroseconds         *int64   `json:"p99LatencyMicroseconds,omitempty"`
	MaxLatencyMicroseconds         *int64   `json:"maxLatencyMicroseconds,omitempty"`
	StorageMeanLatencyMicroseconds *int64   `json:"storageMeanLatencyMicroseconds,omitempty"`
	WirePercent                    *int32   `json:"wirePercent,omitempty"`
	ClientCPUPermille              *int32   `json:"clientCPUPermille,omitempty"`
	Findings                       []string `json:"findings,omitempty"` // codes; in CSV with blanks between them
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
func (c *cluster) writeResults(ctx context.Context, put func(*resultRow) error, options []client.ListOption) error {
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
			if err := put(new(rowOf(b))); err != nil {
				return err
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}

func rowOf(b *v1alpha1.NFSBenchmark) resultRow {
	s := ptr.Deref(b.Status.Summary, v1alpha1.Summary{})
	row := resultRow{
		Namespace: b.Namespace, Name: b.Name,
		Suite: b.Labels[v1alpha1.LabelSuite], SuiteRun: b.Labels[v1alpha1.LabelSuiteRun],
		Cell: b.Labels[v1alpha1.LabelCell], Repetition: b.Labels[v1alpha1.LabelRepetition],
		StartTime: stamp(b.Status.StartTime), CompletionTime: stamp(b.Status.CompletionTime),
		Phase: string(b.Status.Phase), Verdict: string(b.Status.Verdict), Validity: string(b.Status.Validity),
		Workload: s.Workload, Protocol: s.Protocol,
		ThroughputBytesPerSecond: s.ThroughputBytesPerSecond, IOPS: s.IOPS,
		MeanLatencyMicroseconds: s.MeanLatencyMicroseconds, P50LatencyMicroseconds: s.P50LatencyMicroseconds,
		P95LatencyMicroseconds: s.P95LatencyMicroseconds, P99LatencyMicroseconds: s.P99LatencyMicroseconds,
		MaxLatencyMicroseconds: s.MaxLatencyMicroseconds, StorageMeanLatencyMicroseconds: s.StorageMeanLatencyMicroseconds,
		WirePercent: s.WirePercent, ClientCPUPermille: s.ClientCPUPermille,
	}
	for _, f := range b.Status.Findings {
		row.Findings = append(row.Findings, f.Code)
	}
	return row
}

func stamp(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func jsonLines(w io.Writer) func(*resultRow) error {
	return func(row *resultRow) error {
		if row == nil {
			return nil
		}
		return json.NewEncoder(w).Encode(row)
	}
}

// columns are the names of the members of a row, as in JSON.
func columns() []string {
	t := reflect.TypeFor[resultRow]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

func csvLines(w io.Writer) func(*resultRow) error {
	out := csv.NewWriter(w)
	return func(row *resultRow) error {
		if row == nil {
			return out.WriteAll([][]string{columns()})
		}
		v := reflect.ValueOf(row).Elem()
		cells := make([]string, v.NumField())
		for i := range cells {
			switch f := v.Field(i); f.Kind() { //nolint:exhaustive // a row has no others
			case reflect.String:
				cells[i] = noFormula(f.String())
			case reflect.Slice:
				cells[i] = noFormula(strings.Join(row.Findings, " "))
			case reflect.Pointer:
				if !f.IsNil() {
					cells[i] = fmt.Sprint(f.Elem().Interface())
				}
			}
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
