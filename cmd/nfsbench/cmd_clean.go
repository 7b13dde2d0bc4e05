package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// newCleanCommand returns the clean command, which removes the files that runs of a plan left on the storage.
func newCleanCommand(a *app) *cobra.Command {
	var planFile string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "clean --plan FILE",
		Short: "Remove the files that runs of a plan left on the storage",
		Long: `Remove the files of nfsbench from the directory that the plan names,
those of all clients, and the directory when nothing else is in it.

A directory without the marker that a run puts there is left alone, and so are
files in it that a run does not make. Nothing to remove is a success.`,
		Example: "  nfsbench clean --plan plan.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if planFile == "" {
				return cli.BadInputf("--plan is missing; give the plan file whose files to remove")
			}
			plan, err := readPlan(planFile)
			if err != nil {
				return cli.BadInput(err)
			}
			if timeout <= 0 {
				return cli.BadInputf("--timeout is %v; use more than 0s", timeout)
			}
			return cleanStorage(cmd.Context(), a, plan, timeout, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&planFile, "plan", "", "plan file of the runs")
	cmd.Flags().DurationVar(&timeout, "timeout", 45*time.Second, "longest time to try")
	return cmd
}

// cleanStorage works in a goroutine of its own: a system call on a dead mount cannot be interrupted, but the timeout
// must hold.
func cleanStorage(ctx context.Context, a *app, plan runfile.Plan, timeout time.Duration, out io.Writer) error {
	late := fmt.Errorf("not done within %v; look whether the storage answers, and try again", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	type answer struct {
		cleaned fileset.Cleaned
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		t, err := loadgen.OpenTarget(ctx, plan.Engine, a.now, a.log)
		if err != nil {
			done <- answer{err: err}
			return
		}
		cleaned, err := fileset.Clean(ctx, t, plan.Files().Directory)
		_ = t.Close()
		done <- answer{cleaned, err}
	}()
	select {
	case got := <-done:
		_, err := io.WriteString(out, cleanedText(plan.Files().Directory, got.cleaned))
		if got.err != nil {
			return fmt.Errorf("clean: %w", got.err)
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("clean: %w", context.Cause(ctx))
	}
}

// cleanedText lists in one or two lines what was removed and what was left.
func cleanedText(dir string, c fileset.Cleaned) string {
	var b strings.Builder
	if len(c.Removed) > 0 {
		fmt.Fprintf(&b, "removed %s of directory %q: %s\n", human.Count(len(c.Removed), "file"), dir,
			strings.Join(c.Removed, ", "))
	} else {
		fmt.Fprintf(&b, "no files of nfsbench in directory %q\n", dir)
	}
	switch {
	case c.DirectoryGone && len(c.Removed) > 0:
		fmt.Fprintf(&b, "removed the directory\n")
	case len(c.Left) > 0:
		fmt.Fprintf(&b, "left %s that a run did not make\n", human.Count(len(c.Left), "file"))
	}
	return b.String()
}
