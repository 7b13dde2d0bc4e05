package main

import (
	"fmt"
	"io"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// writeBenchmark writes the outcome of a benchmark from its status.
func writeBenchmark(w io.Writer, b *v1alpha1.NFSBenchmark) {
	st := b.Status
	fmt.Fprintf(w, "%s  %s", b.Name, st.Phase)
	if st.Verdict != "" {
		fmt.Fprintf(w, "  verdict %s", st.Verdict)
	}
	if st.Validity != "" {
		fmt.Fprintf(w, "  numbers %s", st.Validity)
	}
	fmt.Fprintln(w)
	if s := st.Summary; s != nil {
		writeNumbers(w, s)
	} else if st.Message != "" {
		fmt.Fprintln(w, st.Message)
	}
	writeFindings(w, st.Findings)
	if st.ResultRef != nil {
		fmt.Fprintf(w, "'kubectl nfsbench report %s' shows all of it.\n", b.Name)
	}
}

func writeNumbers(w io.Writer, s *v1alpha1.Summary) {
	if s.Workload != "" || s.Protocol != "" {
		fmt.Fprintf(w, "%s, %s\n", s.Workload, s.Protocol)
	}
	var line []string
	add := func(format string, v *int64) {
		if v != nil {
			line = append(line, fmt.Sprintf(format, *v))
		}
	}
	if v := s.ThroughputBytesPerSecond; v != nil {
		line = append(line, fmt.Sprintf("%.1f MB/s", float64(*v)/1e6))
	}
	add("%d IOPS", s.IOPS)
	if s.MeanLatency != "" {
		line = append(line, "mean "+s.MeanLatency)
	}
	if s.P99Latency != "" {
		line = append(line, "p99 "+s.P99Latency)
	}
	if s.WirePercent != nil {
		line = append(line, fmt.Sprintf("%d %% of the wire", *s.WirePercent))
	}
	for i, part := range line {
		if i > 0 {
			fmt.Fprint(w, "  ")
		}
		fmt.Fprint(w, part)
	}
	if len(line) > 0 {
		fmt.Fprintln(w)
	}
}

// writeFindings leaves out those that only inform.
func writeFindings(w io.Writer, findings []v1alpha1.Finding) {
	for _, f := range findings {
		if f.Severity != v1alpha1.SeverityInfo {
			fmt.Fprintf(w, "%s %s: %s\n", f.Severity, f.Code, f.Message)
		}
	}
}

// writeSuite writes the outcome of a suite's newest run, without its table.
func writeSuite(w io.Writer, s *v1alpha1.NFSBenchmarkSuite) {
	st := s.Status
	fmt.Fprintf(w, "suite/%s  %s", s.Name, st.Phase)
	if st.Verdict != "" {
		fmt.Fprintf(w, "  verdict %s", st.Verdict)
	}
	fmt.Fprintln(w)
	if r := st.Run; r != nil {
		fmt.Fprintf(w, "run %s: %d succeeded, %d failed, %d retried\n", r.Name, r.Succeeded, r.Failed, r.Retried)
		for _, f := range r.Failures {
			fmt.Fprintf(w, "failed %s (%s): %s %s\n", f.Benchmark, f.Cell, f.Reason, f.Message)
		}
	}
	if st.Message != "" {
		fmt.Fprintln(w, st.Message)
	}
	writeFindings(w, st.Findings)
}
