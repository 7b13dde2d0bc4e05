package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// progressView shows how far a run has come.
type progressView interface {
	show(e runfile.Event)
	close()
}

// newProgress makes the view that --progress asks for.
func newProgress(w io.Writer, mode string) (progressView, error) {
	switch mode {
	case "auto":
		if cli.TerminalWidth(w) > 0 {
			return newBarView(w), nil
		}
		return &jsonView{w: w}, nil
	case "bar":
		return newBarView(w), nil
	case "json":
		return &jsonView{w: w}, nil
	case "none":
		return noView{}, nil
	default:
		return nil, fmt.Errorf("--progress is %q; use auto, bar, json or none", mode)
	}
}

type noView struct{}

func (noView) show(runfile.Event) {}
func (noView) close()             {}

// jsonView writes one line for each event. Progress that cannot be written is
// no reason to end a measurement.
type jsonView struct{ w io.Writer }

func (v *jsonView) show(e runfile.Event) {
	if line, err := json.Marshal(e); err == nil {
		_, _ = v.w.Write(append(line, '\n'))
	}
}

func (*jsonView) close() {}

// barView draws a bar.
type barView struct{ bar *progressbar.ProgressBar }

func newBarView(w io.Writer) *barView {
	return &barView{progressbar.NewOptions(100,
		progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(24), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}),
	)}
}

func (v *barView) show(e runfile.Event) {
	v.bar.Describe(barText(e))
	_ = v.bar.Set(int(e.Percent))
}

func (v *barView) close() { _ = v.bar.Finish() }

// barText is what stands before the bar: the span, how fast it is, and when all
// will be done.
func barText(e runfile.Event) string {
	text := e.Span
	if e.Repetition > 0 {
		text += fmt.Sprintf(" %d", e.Repetition)
	}
	if e.BytesPerSecond > 0 {
		text += fmt.Sprintf("  %.1f MB/s", float64(e.BytesPerSecond)/1e6)
	}
	if e.OpsPerSecond > 0 {
		text += fmt.Sprintf("  %d IOPS", e.OpsPerSecond)
	}
	if e.ETASeconds != nil && *e.ETASeconds > 0 {
		text += "  " + (time.Duration(*e.ETASeconds) * time.Second).String() + " left"
	}
	return fmt.Sprintf("%-44s", text)
}
