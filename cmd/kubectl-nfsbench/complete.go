package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completeWithin bounds how long a shell waits for names.
const completeWithin = 3 * time.Second

// completeNames completes up to most arguments with names of this kind.
func completeNames(a *app, kind string, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.complete(cmd.Context(), kind, toComplete), cobra.ShellCompDirectiveNoFileComp
	}
}

// complete lists the names that begin so. A cluster that cannot be asked gives
// none: a shell has no place for errors.
func (a *app) complete(ctx context.Context, kind, prefix string) []string {
	c, err := a.connect(a)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	var names []string
	for _, name := range c.names(ctx, kind) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// completeValues completes a flag with fixed values.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for an unknown flag only
}
