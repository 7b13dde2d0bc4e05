package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// maxOranfstabBytes is far above any real file; it keeps a mistyped name, such
// as that of a data file, from filling the memory.
const maxOranfstabBytes = 1 << 20

// newOranfstabCommand groups what can be done with an oranfstab file.
func newOranfstabCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "oranfstab",
		Short: "Checks and writes oranfstab, the file that configures Oracle Direct NFS",
		Long: `Checks and writes oranfstab, the file that configures Oracle Direct NFS.

Oracle reads $ORACLE_HOME/dbs/oranfstab, else /etc/oranfstab, and does not say
what is wrong with it: it hangs at startup, or uses the kernel NFS client.`,
		Args: cobra.ArbitraryArgs,
		RunE: requireSubcommand,
	}
	cmd.AddCommand(newOranfstabLintCommand(a), newOranfstabRenderCommand(a), newOranfstabFmtCommand(a))
	return cmd
}

func newOranfstabFmtCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "fmt FILE",
		Short: "Prints an oranfstab in its canonical form",
		Long: `Prints an oranfstab in its canonical form: lower case keys in the order that is
known to work, one blank between words, no comments. FILE may be - for standard
input. A file with errors is refused; "nfsbench oranfstab lint" explains them.`,
		Example: "  nfsbench oranfstab fmt /etc/oranfstab > oranfstab.new",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d files are named; give one FILE, or - for standard input", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := readOranfstab(cmd.Context(), cmd.InOrStdin(), args[0])
			if err != nil {
				return badInput(err)
			}
			file, err := oranfstab.Parse(src)
			if err != nil {
				return badInput(fmt.Errorf("read %s: %w; 'nfsbench oranfstab lint' explains it", displayName(args[0]), err))
			}
			text, err := oranfstab.Render(file)
			if err != nil {
				return err
			}
			if hasComments(string(src)) {
				a.log.Warn("Comments are not kept", "file", displayName(args[0]))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
}

func hasComments(src string) bool {
	for line := range strings.Lines(src) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			return true
		}
	}
	return false
}

// displayName is how messages call an input.
func displayName(name string) string {
	if name == "-" {
		return "<stdin>"
	}
	return name
}

// readOranfstab reads a file, or in for the name "-".
func readOranfstab(ctx context.Context, in io.Reader, name string) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	src, err := readAll(ctx, io.LimitReader(in, maxOranfstabBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", displayName(name), err)
	}
	if len(src) > maxOranfstabBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB, so it is no oranfstab; name another file", displayName(name))
	}
	return src, nil
}

// readAll gives up when the context ends. The goroutine then stays in its Read:
// nothing ends the Read of a terminal, and the process is about to exit.
func readAll(ctx context.Context, in io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(in)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
