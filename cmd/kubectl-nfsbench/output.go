package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/report"
)

// The formats of reports and comparisons.
const (
	formatText = "text"
	formatJSON = "json"
	formatHTML = "html"
)

// destination is where an output goes, and what it is: by -o.
type destination struct {
	format string
	file   string // empty is standard output
}

// parseDestination reads -o: a format, - for text, or a file whose ending is the
// format.
func parseDestination(output string) (destination, error) {
	switch output {
	case "-", "":
		return destination{format: formatText}, nil
	case formatText, formatJSON, formatHTML:
		return destination{format: output}, nil
	}
	switch ending := strings.ToLower(filepath.Ext(output)); ending {
	case ".html", ".htm":
		return destination{formatHTML, output}, nil
	case ".txt":
		return destination{formatText, output}, nil
	case ".json":
		return destination{formatJSON, output}, nil
	default:
		return destination{}, badInput(fmt.Errorf("--output is %q; use text, json, html, or a file that ends in .html, .txt or .json", output))
	}
}

// write makes the whole output before anything is written, so that an error
// leaves no half of a file, and none of before is lost.
func (d destination) write(cmd *cobra.Command, fill func(io.Writer) error) error {
	if d.file == "" {
		return fill(cmd.OutOrStdout())
	}
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	if b.Len() == 0 {
		return errors.New("there is nothing to write")
	}
	if err := os.WriteFile(d.file, b.Bytes(), 0o644); err != nil { //nolint:gosec // a report is for others to read
		return badInput(err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Wrote %s (%d KiB).\n", d.file, (b.Len()+1023)/1024)
	return nil
}

// textOptions says what the reader's terminal can do. What is no terminal gets
// neither colours nor an odd width, so that files stay the same.
func textOptions(w io.Writer) report.Options {
	o := report.Options{ASCII: !isUTF8()}
	if width := terminalWidth(w); width > 0 {
		_, noColor := os.LookupEnv("NO_COLOR")
		o.Width, o.Color = width, !noColor
	}
	return o
}

func isUTF8() bool {
	names := []string{"LC_ALL", "LC_CTYPE", "LANG"}
	i := slices.IndexFunc(names, func(n string) bool { return os.Getenv(n) != "" })
	return i >= 0 && strings.Contains(strings.ToUpper(strings.ReplaceAll(os.Getenv(names[i]), "-", "")), "UTF8")
}
