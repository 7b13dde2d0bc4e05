package main

import "github.com/spf13/cobra"

// newOranfstabCommand groups what can be done with an oranfstab file.
func newOranfstabCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use:   "oranfstab",
		Short: "Checks and writes oranfstab, the mount table of Oracle Direct NFS",
		Args:  cobra.ArbitraryArgs,
		RunE:  requireSubcommand,
	}
}
