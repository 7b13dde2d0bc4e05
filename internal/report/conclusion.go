package report

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
)

// paths is the table of the paths with a bar for the share of each.
func paths(p *page, s judge.Summary) {
	if len(s.Paths) == 0 {
		return
	}
	name, state := len("PATH"), len("STATE")
	labels := make([]string, 0, len(s.Paths))
	for _, ps := range s.Paths {
		l := ps.Path
		if ps.Local != "" {
			l = ps.Local + " -> " + ps.Path
		}
		l = p.clean(l)
		labels = append(labels, l)
		name, state = max(name, columns(l)), max(state, columns(ps.State))
	}
	down, away := downColumn(s.Paths)
	name, state = min(name, p.width-46-columns(down)), min(state, len("Missing"))
	p.line("")
	p.line(p.paint(dim, fmt.Sprintf("%s %10s %12s %8s %s %s", padded("PATH", name), "MB/s", "BYTES", "SHARE", down, "STATE")))
	for i, ps := range s.Paths {
		row := fmt.Sprintf("%s %10s %12s %6s %% %s ", padded(labels[i], name), Rate(ps.BytesPerSecond), Gibibytes(ps.Bytes()), Tenths(ps.SharePermille), away[i])
		word := padded(p.clean(ps.State), state)
		colour := green
		switch {
		case ps.State != "Up":
			colour = red
		case ps.DownMilliseconds > 0:
			colour = yellow
		}
		bar := p.bar(float64(ps.SharePermille)/1000, p.width-columns(row)-state-1)
		p.line(row + p.paint(colour, word) + " " + p.paint(cyan, bar))
	}
	p.line("")
}

// downColumn says how long each path was away. It is empty when none was.
func downColumn(all []judge.PathShare) (head string, cells []string) {
	cells = make([]string, len(all))
	for i, p := range all {
		if p.DownMilliseconds > 0 {
			head = fmt.Sprintf("%9s ", "DOWN")
		}
		cells[i] = fmt.Sprintf("%9s ", fmt.Sprintf("%.1f s", float64(p.DownMilliseconds)/1000))
	}
	if head == "" {
		clear(cells)
	}
	return head, cells
}

// conclusion is the verdict and the validity, each with what it means.
func conclusion(p *page, j judge.Judgement) {
	verdicts := map[judge.Verdict]string{judge.Pass: green, judge.Fail: red, judge.Inconclusive: yellow, judge.NotEvaluated: dim}
	validities := map[judge.Validity]string{judge.Valid: green, judge.Suspect: yellow, judge.Invalid: red}
	p.rule()
	p.verdict("verdict", string(j.Verdict), verdicts[j.Verdict], VerdictMeaning(j.Verdict))
	p.verdict("validity", string(j.Validity), validities[j.Validity], ValidityMeaning(j.Validity))
}

func (p *page) verdict(label, word, colour, text string) {
	const wordWidth = 14
	head := p.paint(dim, padded(label, labelWidth)) + p.paint(colour, padded(strings.ToUpper(word), wordWidth))
	for _, l := range wrap(text, p.width-labelWidth-wordWidth) {
		p.line(head + l)
		head = strings.Repeat(" ", labelWidth+wordWidth)
	}
}

func findings(p *page, all []judge.Finding) {
	if len(all) == 0 {
		return
	}
	p.line("")
	colours := map[judge.Severity]string{judge.Error: red, judge.Warning: yellow, judge.Info: cyan}
	for _, f := range all {
		p.line(p.paint(colours[f.Severity], padded(strings.ToUpper(string(f.Severity)), labelWidth)) + p.paint(bold, string(f.Code)))
		p.wrapped(strings.Repeat(" ", labelWidth), f.Message)
	}
}
