package doc

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/report/chart"
)

//go:embed page.tmpl
var layout string

//go:embed style.css
var style string

// WideFigure and narrowFigure are the widths of each figure. The page shows the one that fits.
const (
	WideFigure   = 860
	narrowFigure = 350
)

// Origin holds the version of the program that writes a page, and the time.
type Origin struct {
	Generated string // empty leaves it out
	Version   string // of the program
}

// HTML writes a document as one page that loads nothing and has no script. It
// returns the first error of w.
func HTML(w io.Writer, d Document, o Origin) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"wide":   func(f *Figure) template.HTML { return f.svg("-w", WideFigure) },
		"narrow": func(f *Figure) template.HTML { return f.svg("-n", narrowFigure) },
		"shown":  func(t *Table) *Table { return t.of(HTMLOnly) },
	}).Parse(layout)
	if err != nil {
		return fmt.Errorf("read the layout of the page: %w", err)
	}
	d.Title = cmp.Or(d.Title, "unnamed")
	facts, _ := Block{Facts: d.Facts}.of(HTMLOnly)
	d.Facts = facts.Facts
	all := d.Sections
	d.Sections = nil
	for _, s := range all {
		blocks := s.Blocks
		s.Blocks = nil
		for _, b := range blocks {
			if b, ok := b.of(HTMLOnly); ok {
				s.Blocks = append(s.Blocks, b)
			}
		}
		if len(s.Blocks) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	page := struct {
		Document
		Origin
		Style template.CSS
	}{d, o, template.CSS(style)} //nolint:gosec // our own file
	var text bytes.Buffer
	err = t.Execute(&text, page)
	if err == nil {
		_, err = w.Write(bytes.Map(human.Printable, text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// svg draws a figure. Package chart escapes its texts.
func (f *Figure) svg(suffix string, width int) template.HTML {
	frame := chart.Frame{ID: f.ID + suffix, Title: f.Title, Description: f.Description, Width: float64(width)}
	return template.HTML(f.Draw(frame)) //nolint:gosec // chart escapes every text that it writes
}
