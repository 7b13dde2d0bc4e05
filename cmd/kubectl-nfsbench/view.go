package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// view shows how far a run is.
type view interface {
	show(s sight)
	close()
}

// newView makes the view that --progress asks for.
func newView(w io.Writer, mode string, now func() time.Time) (view, error) {
	switch mode {
	case "auto":
		if width := terminalWidth(w); width > 0 {
			return &barView{w: w, width: width}, nil
		}
		return &plainView{w: w, now: now}, nil
	case "bar":
		return &barView{w: w, width: max(terminalWidth(w), 80)}, nil
	case "plain":
		return &plainView{w: w, now: now}, nil
	case "none":
		return noView{}, nil
	default:
		return nil, fmt.Errorf("--progress is %q; use auto, bar, plain or none", mode)
	}
}

// terminalWidth returns the columns of the terminal that w is; 0 if it is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" { //nolint:gosec // a descriptor fits an int
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd())) //nolint:gosec // a descriptor fits an int
	if err != nil || width <= 0 {
		width = 80
	}
	return width
}

type noView struct{}

func (noView) show(sight) {}
func (noView) close()     {}

// quiet is how long a plain view is silent while only numbers change.
const quiet = 30 * time.Second

// plainView writes a line for each change of phase, and now and then how far it
// is: for logs.
type plainView struct {
	w     io.Writer
	now   func() time.Time
	state string
	last  time.Time
}

func (v *plainView) show(s sight) {
	state := s.name + s.phase + s.detail
	if s.current != nil {
		state += s.current.name + s.current.phase + s.current.detail
	}
	now := v.now()
	if state == v.state && now.Sub(v.last) < quiet {
		return
	}
	v.state, v.last = state, now
	line := fmt.Sprintf("%s  %s  %3d %%  %s", now.Format(time.TimeOnly), s.name, s.percent, s.words())
	if c := s.current; c != nil {
		line += fmt.Sprintf("  |  %s  %3d %%  %s", c.name, c.percent, c.words())
	}
	fmt.Fprintln(v.w, line)
}

func (*plainView) close() {}

// barView draws a bar, and below that of a suite the one of its benchmark. The
// library draws one bar in one line; here are two, which stay where they are.
type barView struct {
	w     io.Writer
	width int
	lines int // drawn last time
}

const (
	barWidth  = 24
	wordWidth = 30 // of names at most
)

func (v *barView) show(s sight) {
	lines := []string{v.line(s)}
	if s.current != nil {
		lines = append(lines, v.line(*s.current))
	}
	var b strings.Builder
	if v.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.lines)
	}
	for range v.lines - len(lines) {
		lines = append(lines, "") // what stood there is wiped out
	}
	for _, line := range lines {
		b.WriteString("\r\x1b[2K" + line + "\n")
	}
	v.lines = len(lines)
	_, _ = io.WriteString(v.w, b.String()) // progress that cannot be shown ends no watch
}

func (v *barView) close() {}

func (v *barView) line(s sight) string {
	text := fmt.Sprintf("%s %3d%%  %-*s  %s", bar(s.percent), s.percent, min(wordWidth, 8), clip(s.name, wordWidth), s.words())
	return clip(text, v.width-1)
}

// bar is the bar alone, as the library draws it.
func bar(percent int32) string {
	p := progressbar.NewOptions(100,
		progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(barWidth), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionUseANSICodes(false),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}),
	)
	_ = p.RenderBlank()
	_ = p.Set(int(min(max(percent, 0), 100)))
	text := p.String()
	from, to := strings.IndexByte(text, '['), strings.IndexByte(text, ']')
	if from < 0 || to < from {
		return ""
	}
	return text[from : to+1]
}

func clip(s string, columns int) string {
	if utf8.RuneCountInString(s) <= columns || columns < 2 {
		return s
	}
	return string([]rune(s)[:columns-1]) + "…"
}
