package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// WriteReport writes a result, which it judges again, or the record of a suite's run. The table g compares that run
// with the accepted run; nil if there is none.
func (d *Destination) WriteReport(cmd *cobra.Command, in Recorded, g *compare.Table, page report.PageOptions) error {
	return d.Write(cmd, func(w io.Writer) error {
		if in.Run != nil {
			return d.run(w, *in.Run, g, page)
		}
		j := judge.Judge(in.Result)
		switch d.Format {
		case FormatHTML:
			return report.BenchmarkPage(w, j, page)
		case FormatJSON:
			return WriteJSON(w, j)
		default:
			return report.Text(below(w), j, textOptions(w))
		}
	})
}

func (d *Destination) run(w io.Writer, run runfile.SuiteRun, g *compare.Table, page report.PageOptions) error {
	t := compare.Run(compare.Request{Run: &run})
	switch d.Format {
	case FormatHTML:
		return report.SuitePage(w, run, t, g, page)
	case FormatJSON:
		return WriteJSON(w, t)
	}
	fmt.Fprintf(w, "suite/%s  run %s  %s  %d cells, %d of %d benchmarks\n", run.Suite, run.Run,
		cmp.Or(run.Phase, "under way"), len(run.Cells), len(run.Results), len(run.Cells)*int(run.Settings.Repetitions))
	if run.Message != "" {
		fmt.Fprintln(w, run.Message)
	}
	if g != nil {
		fmt.Fprintf(w, "against the accepted run %s: %s\n", g.Baseline, g.Message)
	}
	return WriteTable(w, t)
}
