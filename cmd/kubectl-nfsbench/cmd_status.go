package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

func newStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status NAME|suite/NAME",
		Short: "Show what a benchmark or a suite does, or how it ended, on one page",
		Long: `Show one page: what the run does or how it ended, what it waits for, its
storage, protocol and workload, its numbers, and its findings. It reads the status
only; 'report' reads the whole result.`,
		Example: `  kubectl nfsbench status demo
  kubectl nfsbench status suite/protocols`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(a, anyKind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			f, err := c.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return writeStatus(cmd.OutOrStdout(), f, true)
		},
	}
}

// writeStatus writes the page of a benchmark or a suite. kept says that the object stays, so that people can look at
// it again.
func writeStatus(w io.Writer, f found, kept bool) error {
	if f.suite != nil {
		return cli.WriteDocument(w, suiteStatus(f.suite))
	}
	return cli.WriteDocument(w, benchmarkStatus(f.benchmark, kept))
}

func benchmarkStatus(b *v1alpha1.NFSBenchmark, kept bool) doc.Document {
	st := b.Status
	s := benchmarkSight(b)
	if !s.over && st.Message != "" {
		s.detail = "" // the message, which stands below
	}
	head := []string{b.Name, s.words()}
	if st.Verdict != "" {
		head = append(head, "verdict "+string(st.Verdict))
	}
	if st.Validity != "" {
		head = append(head, "numbers "+string(st.Validity))
	}
	facts := doc.Block{Apart: true}
	add := func(label, text string) {
		if text != "" {
			facts.Facts = append(facts.Facts, doc.Fact{Label: label, Text: text})
		}
	}
	add("Storage", storageWords(b))
	if sum := st.Summary; sum != nil {
		add("Protocol", sum.Protocol)
		add("Workload", sum.Workload)
		add("Capacity", sum.Capacity)
		if st.Phase != v1alpha1.PhaseSucceeded { // otherwise the message has them
			add("Numbers", numberWords(sum))
		}
		add("Latency", latencyWords(sum))
	}
	if q := st.Queue; q != nil {
		add("Queue", strings.TrimSuffix(fmt.Sprintf("%d., behind %s", q.Position, q.Behind), ", behind "))
	}
	add("Time", timeWords(st.StartTime, st.CompletionTime))
	add("Condition", conditionWords(st.Conditions))
	d := doc.Document{Terminal: []doc.Block{{Text: strings.Join(head, "  ")}, {Text: st.Message}, facts}}
	d.Terminal = append(d.Terminal, serious(st.Findings))
	if st.ResultRef != nil && kept {
		d.Terminal = append(d.Terminal, doc.Block{
			Apart: true, Text: fmt.Sprintf("'kubectl nfsbench report %s' shows all of it.", b.Name),
		})
	}
	return d
}

// storageWords describes what is measured, as the spec names it, with what the operator knows of it.
func storageWords(b *v1alpha1.NFSBenchmark) string {
	words := ""
	switch st := b.Spec.Storage; {
	case st.Export != nil:
		words = strings.Join(st.Export.Servers, ", ") + ":" + st.Export.Path
	case st.Claim != nil:
		words = "claim " + st.Claim.Name
	case st.StorageClass != nil:
		words = fmt.Sprintf("%s of class %s", &st.StorageClass.Size, st.StorageClass.Name)
	case st.Trident != nil:
		of := cmp.Or(st.Trident.BackendName, st.Trident.StorageClassName)
		words = fmt.Sprintf("%s of Trident, %s", &st.Trident.Size, of)
	case st.Embedded != nil:
		words = fmt.Sprintf("embedded server with %s", &st.Embedded.Size)
	}
	if rs := b.Status.Resolved; rs != nil {
		for _, p := range rs.Paths {
			words += ", path " + strings.TrimPrefix(cmp.Or(p.Local, p.LocalInterface)+" -> "+p.Path, " -> ")
		}
		if rs.Array != "" {
			words += "; " + rs.Array
		}
	}
	return words
}

func numberWords(s *v1alpha1.Summary) string {
	var words []string
	if v := s.ThroughputBytesPerSecond; v != nil {
		words = append(words, human.Throughput(*v))
	}
	if v := s.IOPS; v != nil {
		words = append(words, fmt.Sprintf("%d IOPS", *v))
	}
	return strings.Join(words, ", ")
}

func latencyWords(s *v1alpha1.Summary) string {
	var words []string
	if s.MeanLatency != "" {
		words = append(words, "mean "+s.MeanLatency)
	}
	if s.P99Latency != "" {
		words = append(words, "p99 "+s.P99Latency)
	}
	return strings.Join(words, ", ")
}

func timeWords(from, to *metav1.Time) string {
	if from == nil {
		return ""
	}
	words := "from " + from.UTC().Format(time.DateTime)
	if to != nil {
		words += " to " + to.UTC().Format(time.DateTime) + " UTC, " + to.Sub(from.Time).Round(time.Second).String()
	} else {
		words += " UTC"
	}
	return words
}

// conditionWords lists the conditions that are not True, which say what is missing.
func conditionWords(all []metav1.Condition) string {
	var words []string
	health := []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling}
	for _, c := range all {
		if c.Status != metav1.ConditionTrue && !slices.Contains(health, c.Type) {
			words = append(words, fmt.Sprintf("%s %s (%s)", c.Type, c.Status, c.Reason))
		}
	}
	return strings.Join(words, ", ")
}

// serious returns the findings above severity Info.
func serious(all []bench.Finding) doc.Block {
	return report.Findings(slices.DeleteFunc(slices.Clone(all), func(f bench.Finding) bool {
		return f.Severity == bench.SeverityInfo
	}))
}

// suiteStatus is the page of a suite's newest run, without its table.
func suiteStatus(s *v1alpha1.NFSBenchmarkSuite) doc.Document {
	st := s.Status
	head := "suite/" + s.Name + "  " + suiteSight(s).words()
	if st.Verdict != "" {
		head += "  verdict " + string(st.Verdict)
	}
	d := doc.Document{Terminal: []doc.Block{{Text: head}, {Text: st.Message}}}
	if r := st.Run; r != nil {
		facts := doc.Block{Apart: true, Facts: []doc.Fact{{Label: "Run", Text: fmt.Sprintf(
			"%s: %d succeeded, %d failed, %d retried", r.Name, r.Succeeded, r.Failed, r.Retried)}}}
		for _, f := range r.Failures {
			facts.Facts = append(facts.Facts, doc.Fact{Label: "Failed", Text: f.Benchmark + ": " + f.Message})
		}
		d.Terminal = append(d.Terminal, facts)
	}
	d.Terminal = append(d.Terminal, serious(st.Findings))
	return d
}
