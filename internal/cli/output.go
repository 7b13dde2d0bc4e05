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
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The formats of reports and comparisons.
const (
	FormatText = "text"
	FormatJSON = "json"
	FormatHTML = "html"
)

// Destination holds the file and the format that --output selects for a report or comparison.
type Destination struct {
	Format string // after Parse
	File   string // after Parse; empty is standard output
	flag   string
	output string
}

// Register adds the flag.
func (d *Destination) Register(cmd *cobra.Command) {
	d.flag = "output"
	cmd.Flags().StringVarP(&d.output, "output", "o", "-",
		"file that ends in .html, .txt or .json; - is standard output; text, json and html are formats for it")
}

// RegisterAs adds the flag under another name, without a default.
func (d *Destination) RegisterAs(cmd *cobra.Command, flag, help string) {
	d.flag = flag
	cmd.Flags().StringVar(&d.output, flag, "", help)
}

// Given reports whether the flag has a value.
func (d *Destination) Given() bool { return d.output != "" }

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
		return BadInputf("--%s is %q; use text, json or html, or a file that ends in .html, .txt or .json", d.flag, d.output)
	default:
		d.File, d.Format = d.output, ending
		return d.checkFolder()
	}
	return nil
}

// checkFolder makes a file and removes it: a long load must not end with a report that cannot be written.
func (d *Destination) checkFolder() error {
	f, err := d.create()
	if err != nil {
		return BadInput(err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (d *Destination) create() (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(d.File), "."+filepath.Base(d.File)+"-*")
	if why := (*os.PathError)(nil); errors.As(err, &why) {
		err = why.Err // without the name of the temporary file
	}
	if err != nil {
		return nil, fmt.Errorf("--%s %s: no file can be made in that folder: %w", d.flag, d.File, err)
	}
	return f, nil
}

// Write replaces the file only after fill has succeeded, so that an error leaves no partial file and keeps the old one.
func (d *Destination) Write(cmd *cobra.Command, fill func(io.Writer) error) error {
	if d.File == "" {
		return fill(cmd.OutOrStdout())
	}
	f, err := d.create()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // has no effect after the rename
	var w io.Writer = f
	if d.Format == FormatText { // users show it on a terminal
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

// TerminalWidth returns the columns of the terminal w; 0 if w is no terminal, or cannot move its cursor.
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

// Bar draws progress in one line that it overwrites.
type Bar struct {
	w     io.Writer
	width int // of the terminal
	drawn bool
}

// NewBar returns a bar that draws on w, which is a terminal or shown on one.
func NewBar(w io.Writer) *Bar { return &Bar{w: below(w), width: cmp.Or(TerminalWidth(w), 80)} }

// Show replaces the line by the bar and the words after it.
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
	_, _ = io.WriteString(v.w, up+"\r\x1b[2K"+line+"\n") // ignore write errors of progress
}

// Clip shortens s to this number of columns.
func Clip(s string, columns int) string {
	if utf8.RuneCountInString(s) <= columns || columns < 2 {
		return s
	}
	return string([]rune(s)[:columns-1]) + "…"
}

// WriteCheck writes one answer on one line. Parts of it come from servers and images.
func WriteCheck(w io.Writer, c runfile.Check) {
	fmt.Fprintf(w, "%-4s  %-14s  %s\n", c.Result, OneLine(c.Check), OneLine(c.Message))
}

// OneLine makes one line of a text.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// FailedChecks returns the error of failed checks, before somebody runs what; nil if none has failed.
func FailedChecks(all []runfile.Check, what string) error {
	failed := 0
	for _, c := range all {
		if c.Result == runfile.CheckFail {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d checks failed: correct them before you run this %s", failed, len(all), what)
}

// WriteTable writes a comparison as text.
func WriteTable(w io.Writer, t compare.Table) error {
	return report.CompareText(below(w), t, textOptions(w))
}

// WriteDocument writes a document as text.
func WriteDocument(w io.Writer, d doc.Document) error { return doc.Text(below(w), d, textOptions(w)) }

// textOptions returns the options that the reader's terminal supports. Without a terminal there are no colours and no
// width, so that files stay the same.
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

// ReadInput reads a file, or in for the name "-". More than limit bytes are an error, whose message says what the
// file should be. ReadInput returns when the context ends. The goroutine then stays in its Read: nothing ends the
// Read of a terminal, and the process is about to exit.
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

// DisplayName returns the name of an input in messages.
func DisplayName(name string) string {
	if name == "-" {
		return "<stdin>"
	}
	return name
}
