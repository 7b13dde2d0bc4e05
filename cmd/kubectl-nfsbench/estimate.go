package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// sayEstimate prints the estimate, if there is one.
func sayEstimate(cmd *cobra.Command, u *unstructured.Unstructured) {
	if words := estimate(u); words != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), words)
	}
}

// estimate says how long a benchmark takes once it has begun; empty if its spec does not say that. u has the defaults
// of the cluster.
func estimate(u *unstructured.Unstructured) string {
	var b v1alpha1.NFSBenchmark
	if u.GetKind() != benchmarkKind || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &b) != nil {
		return ""
	}
	p, err := plan.Build(&b, plan.Anywhere())
	if err != nil {
		return ""
	}
	steps, about := p.ScheduledSteps(), "about"
	if !steps.Exact {
		about = "at most"
	}
	words := fmt.Sprintf("Takes %s %s (%s of %d s each)", about, time.Duration(steps.Seconds)*time.Second,
		human.Count(steps.Count, "window"), p.Schedule.DurationSeconds)
	if fill := plan.FillTime(p); fill > 0 {
		words += fmt.Sprintf(", and up to %s more to write the files on slow storage", fill)
	}
	return words + "."
}
