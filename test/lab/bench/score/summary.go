package score

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/stats"
)

// loads is the end of the title of a row: how many I/Os are outstanding.
var loads = regexp.MustCompile(`, \d+ jobs?, depth \d+$`)

// group is what Summary shows in one line: all rows that differ in their loads only, beside one program.
type group struct {
	title, peer string
	speed, cpu  []Spread // ratios
	missed      int      // requirements
}

// Summary formats a document as tables of one screen. Its capacity rows stay as they are.
func Summary(d Document) string {
	var rows, capacities []Row
	for _, row := range d.Rows {
		if row.Unit == UnitCapacity {
			capacities = append(capacities, row)
		} else {
			rows = append(rows, row)
		}
	}
	var b strings.Builder
	if len(rows) > 0 {
		b.WriteString("| what | beside | loads | speed | from..to | CPU | from..to | missed |\n|---|---|--:|--:|--:|--:|--:|--:|\n")
		for _, g := range grouped(d, rows) {
			line := []string{g.title, g.peer, fmt.Sprint(len(g.speed))}
			line = append(line, over(g.speed, "%.3f")...)
			line = append(line, over(g.cpu, "%.2f")...)
			b.WriteString("| " + strings.Join(append(line, fmt.Sprint(g.missed)), " | ") + " |\n")
		}
		b.WriteString("\n")
	}
	capacity(&b, d, capacities)
	fmt.Fprintf(&b, "%s, %d cores, %s; %s.\n", d.Started, d.Machine.Cores, d.Machine.CPU, d.Machine.Versions["nfsbench"])
	return b.String()
}

// grouped leaves out bare sockets, because they show a floor and not a program that anybody uses.
func grouped(d Document, rows []Row) (groups []*group) {
	for _, row := range rows {
		for _, peer := range row.Contenders[1:] {
			if strings.HasPrefix(peer.Name, "bare socket") {
				continue
			}
			title := loads.ReplaceAllString(row.Title, "")
			i := slices.IndexFunc(groups, func(g *group) bool { return g.title == title && g.peer == peer.Name })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{title: title, peer: peer.Name})
			}
			groups[i].add(d, row, peer.Name)
		}
	}
	return groups
}

// add counts one program of a row.
func (g *group) add(d Document, row Row, peer string) {
	subject := row.Contenders[0].Name
	if ratio, ok := d.Ratio(row, subject, peer, MetricRate); ok {
		g.speed = append(g.speed, ratio)
	}
	if ratio, ok := d.Ratio(row, subject, peer, MetricCPU); ok {
		g.cpu = append(g.cpu, ratio)
	}
	for _, c := range row.Checks {
		if _, outcome := d.Judge(row, c); c.To == peer && outcome == Missed {
			g.missed++
		}
	}
}

// over is the median of the medians of several rows, and the range of all their repeats.
func over(ratios []Spread, format string) []string {
	if len(ratios) == 0 {
		return []string{"-", "-"}
	}
	var medians []float64
	low, high := ratios[0].Min, ratios[0].Max
	for _, r := range ratios {
		medians = append(medians, r.Median)
		low, high = min(low, r.Min), max(high, r.Max)
	}
	return []string{fmt.Sprintf("**"+format+"**", stats.Median(medians)), fmt.Sprintf(format+".."+format, low, high)}
}
