package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/report"
)

// The formats of reports and comparisons.
const (
	FormatText = "text"
	FormatJSON = "json"
	FormatHTML = "html"
)

// Destination is where a report or comparison goes, and in which format, as --output says.
type Destination struct {
	Format string // after Parse
	File   string // after Parse; empty is standard output
	output string
}

// Register adds the flag.
func (d *Destination) Register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&d.output, "output", "o", "-",
		"file that ends in .html, .txt or .json; - is standard output; text, json and html are formats for it")
}

// Parse reads the flag.
func (d *Destination) Parse() error {
	d.Format, d.File = FormatText, ""
	formats := []string{FormatText, FormatJSON, FormatHTML}
	endings := map[string]string{
		".html": FormatHTML, ".htm": FormatHTML, ".txt": FormatText, ".json": FormatJSON,
	}
	switch ending := endings[strings.ToLower(filepath.Ext(d.output))]; {
	case slices.Contains(formats, d.output):
		d.Format = d.output
	case d.output == "-" || d.output == "":
	case ending == "":
		return BadInputf("--output is %q; use text, json or html, or a file that ends in .html, .txt or .json", d.output)
	default:
		d.File, d.Format = d.output, ending
	}
	return nil
}

// Write makes the whole file or none, so that an error leaves no half of a file and
// keeps the one of before.
func (d *Destination) Write(cmd *cobra.Command, fill func(io.Writer) error) error {
	if d.File == "" {
		return fill(cmd.OutOrStdout())
	}
	f, err := os.CreateTemp(filepath.Dir(d.File), "."+filepath.Base(d.File)+"-*")
	if err != nil {
		return BadInputf("--output %s: %w", d.File, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // the file has its final name by then
	var w io.Writer = f
	if d.Format == FormatText { // which somebody shows on a terminal
		w = screen{f}
	}
	const readable = 0o644
	if err := errors.Join(fill(w), f.Chmod(readable), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", d.File, err)
	}
	if err := os.Rename(f.Name(), d.File); err != nil {
		return fmt.Errorf("write %s: %w", d.File, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Wrote %s.\n", d.File)
	return nil
}

// WriteJSON writes a value for people and programs to read.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// TerminalWidth returns the columns of the terminal that w is; 0 if it is none, or one
// that cannot move its cursor.
func TerminalWidth(w io.Writer) int {
	f, ok := below(w).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" { //nolint:gosec // a descriptor fits an int
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd())) //nolint:gosec // a descriptor fits an int
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// Bar draws how far something is, in one line that stays where it is.
type Bar struct {
	w     io.Writer
	width int // of the terminal
	drawn bool
}

// NewBar draws on w, which is a terminal or shown on one.
func NewBar(w io.Writer) *Bar { return &Bar{w: below(w), width: cmp.Or(TerminalWidth(w), 80)} }

// Show draws the bar and the words after it in place of those before.
func (v *Bar) Show(percent int32, words string) {
	const full = 16
	done := strings.Repeat("=", int(min(max(percent, 0), 100))*full/100)
	if done != "" && len(done) < full {
		done = done[1:] + ">"
	}
	up := ""
	if v.drawn {
		up = "\x1b[1A"
	}
	v.drawn = true
	words = strings.Map(human.Printable, words)
	line := Clip(fmt.Sprintf("[%-*s] %3d%%  %s", full, done, percent, words), v.width-1)
	_, _ = io.WriteString(v.w, up+"\r\x1b[2K"+line+"\n") // progress that cannot be shown ends nothing
}

// Clip bounds s to so many columns.
func Clip(s string, columns int) string {
	if utf8.RuneCountInString(s) <= columns || columns < 2 {
		return s
	}
	return string([]rune(s)[:columns-1]) + "…"
}

// WriteTable writes a comparison as text.
func WriteTable(w io.Writer, t compare.Table) error {
	return report.CompareText(below(w), t, textOptions(w))
}

// textOptions says what the reader's terminal can do. What is no terminal gets neither
// colours nor an odd width, so that files stay the same.
func textOptions(w io.Writer) report.Options {
	locales := []string{"LC_ALL", "LC_CTYPE", "LANG"}
	locale := ""
	if i := slices.IndexFunc(locales, func(n string) bool { return os.Getenv(n) != "" }); i >= 0 {
		locale = os.Getenv(locales[i])
	}
	utf8 := strings.Contains(strings.ToUpper(strings.ReplaceAll(locale, "-", "")), "UTF8")
	width := TerminalWidth(w)
	return report.Options{ASCII: !utf8, Width: width, Color: width > 0 && os.Getenv("NO_COLOR") == ""}
}

// ReadInput reads a file, or in for the name "-", up to limit bytes; what it should be
// is for the message about a larger one. It gives up when the context ends. The
// goroutine then stays in its Read: nothing ends the Read of a terminal, and the process
// is about to exit.
func ReadInput(ctx context.Context, in io.Reader, name, what string, limit int64) ([]byte, error) {
	shown := DisplayName(name)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, limit+1))
		done <- result{data, err}
	}()
	var got result
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
	}
	switch {
	case got.err != nil:
		return nil, fmt.Errorf("read %s: %w", shown, got.err)
	case int64(len(got.data)) > limit:
		return nil, fmt.Errorf("%s is larger than %d MiB, so it is no %s; name another file", shown, limit>>20, what)
	}
	return got.data, nil
}

// DisplayName is how messages call an input.
func DisplayName(name string) string {
	if name == "-" {
		return "<stdin>"
	}
	return name
}
