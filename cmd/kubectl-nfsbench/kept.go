package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// showKept says that there are no logs, and shows what is kept of the run: the
// message of the status, which has the last lines of a container that failed, and
// what each client did and met.
func (c *cluster) showKept(cmd *cobra.Command, b *v1alpha1.NFSBenchmark) error {
	w := cmd.OutOrStdout()
	if !b.Status.Phase.IsFinished() {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s has no pods yet; it is %s.\n", b.Name, phaseOf(b))
		writeMessage(w, b)
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "The pods of %s are gone, and their logs with them; this is what status and result have kept. cleanup.onFailure: Retain keeps pods next time.\n", b.Name)
	writeMessage(w, b)
	for _, x := range b.Status.Conditions {
		fmt.Fprintf(w, "%s  %s=%s  %s  %s\n", x.LastTransitionTime.UTC().Format(time.RFC3339), x.Type, x.Status, x.Reason, x.Message)
	}
	if b.Status.ResultRef == nil {
		return nil
	}
	res, err := archive.Result(cmd.Context(), c, b)
	if err != nil {
		return err
	}
	for _, client := range res.Clients {
		writeClient(w, client)
	}
	return nil
}

func writeMessage(w io.Writer, b *v1alpha1.NFSBenchmark) {
	if b.Status.Message != "" {
		fmt.Fprintln(w, b.Status.Message)
	}
}

func writeClient(w io.Writer, c runfile.ClientResult) {
	name := fmt.Sprintf("client-%d", c.Index)
	for _, s := range c.Load.Spans {
		repetition := ""
		if s.Repetition > 0 {
			repetition = fmt.Sprintf(" %d", s.Repetition)
		}
		length := "never ended"
		if !s.End.IsZero() {
			length = s.End.Sub(s.Start).Round(time.Millisecond).String()
		}
		fmt.Fprintf(w, "%s  %s  %s%s  %s\n", s.Start.UTC().Format(time.RFC3339), name, s.Kind, repetition, length)
	}
	if f := c.Load.Failure; f != nil {
		fmt.Fprintf(w, "%s failed with %s: %s\n", name, f.Code, f.Message)
	}
	if c.Observed == nil {
		return
	}
	for _, p := range c.Observed.Problems {
		fmt.Fprintf(w, "%s  %s  %s: %s (%d times)\n", p.Since.UTC().Format(time.RFC3339), name, p.Source, p.Message, p.Count)
	}
}
