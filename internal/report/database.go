package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// database is what Oracle reports about itself: who it is, what Direct NFS did, the
// times of its data files and of its waits.
func database(p *page, r runfile.Result, j judge.Judgement) {
	p.line("")
	for _, c := range r.Clients {
		if c.Load.Oracle != nil {
			identity(p, *c.Load.Oracle)
		}
	}
	servers(p, j.Database.Servers)
	channels(p, *j.Summary, j.Database.Channels)
	files(p, j.Database.Files)
	waits(p, windowsOf(r, j.Summary.Repetition))
}

func identity(p *page, o runfile.Oracle) {
	p.fact("database", cmp.Or(strings.TrimSpace(strings.ReplaceAll(o.Banner, "\n", " ")), "of unknown version"))
	var parts []string
	for _, i := range o.Instances {
		parts = append(parts, strings.TrimSpace(i.Name+" "+onHost(i.Host)))
	}
	if len(parts) > 0 {
		p.fact("instances", strings.Join(parts, ", "))
	}
	parts = nil
	for _, x := range o.Parameters {
		text := x.Name + "=" + cmp.Or(x.Value, "(empty)")
		if x.Requested != "" && !strings.EqualFold(x.Requested, x.Value) {
			text += " (asked for " + x.Requested + ")"
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		p.fact("settings", strings.Join(whole(parts), ", "))
	}
	if l := o.Library; l != nil && l.AlertLine != "" {
		p.fact("alert log", l.AlertLine)
	}
	if v := o.ReadyMilliseconds; v != nil {
		p.fact("ready", fmt.Sprintf("%.0f s after the start of its container, which are no part of the run", float64(*v)/1000))
	}
}

func onHost(host string) string {
	if host == "" {
		return ""
	}
	return "on " + host
}

// table writes rows whose first columns are text, cut to fit, and whose others
// are figures.
type table struct {
	heads   []string
	text    int // so many columns are text
	figures int // width of each other column
	rows    [][]string
}

func (t table) write(p *page) {
	if len(t.rows) == 0 {
		return
	}
	widths := t.widths(p)
	p.line("")
	p.line(p.paint(dim, t.line(widths, t.heads)))
	for _, row := range t.rows {
		p.line(t.line(widths, row))
	}
}

// widths shares what the figures leave among the texts, the widest giving first.
func (t table) widths(p *page) []int {
	widths := make([]int, len(t.heads))
	for i := range t.heads {
		widths[i] = columns(t.heads[i])
		if i >= t.text {
			widths[i] = max(widths[i], t.figures)
		}
		for _, row := range t.rows {
			row[i] = p.clean(row[i])
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	for {
		total, widest := len(widths)-1, 0
		for i, w := range widths {
			total += w
			if i < t.text && w > widths[widest] {
				widest = i
			}
		}
		if total <= p.width || widths[widest] <= 1 {
			return widths
		}
		widths[widest]--
	}
}

func (t table) line(widths []int, cells []string) string {
	out := make([]string, 0, len(cells))
	for i, c := range cells {
		if i < t.text {
			out = append(out, padded(c, widths[i]))
			continue
		}
		out = append(out, rightAligned(c, widths[i]))
	}
	return strings.Join(out, " ")
}

func servers(p *page, all []runfile.DNFSServer) {
	t := table{heads: []string{"SERVER", "EXPORT", "PROTOCOL", "RTMAX", "WTMAX"}, text: 3, figures: 9}
	for _, s := range all {
		t.rows = append(t.rows, []string{s.Server, s.Export, cmp.Or(s.Version, unknown), nonZero(s.ReadMaxBytes), nonZero(s.WriteMaxBytes)})
	}
	t.write(p)
}

func nonZero(v int64) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprint(v)
}

// channels are the paths that Direct NFS used, and those that it should have.
func channels(p *page, s judge.Summary, all []runfile.DNFSChannel) {
	t := table{heads: []string{"SERVER", "PATH", "INSTANCE", "SENDS", "RECEIVES"}, text: 2, figures: 12}
	for _, c := range all {
		t.rows = append(t.rows, []string{c.Server, arrow(c.Local, c.Path), nonZero(int64(c.Instance)), fmt.Sprint(c.Sends), fmt.Sprint(c.Receives)})
	}
	for _, path := range s.Paths {
		if path.State == "Missing" {
			t.rows = append(t.rows, []string{unknown, arrow(path.Local, path.Path), unknown, "missing", "missing"})
		}
	}
	t.write(p)
}

func arrow(local, path string) string {
	if local == "" {
		return path
	}
	return local + " -> " + path
}

// files is the table that everybody makes of V$IOSTAT_FILE.
func files(p *page, all []judge.DatabaseFile) {
	t := table{heads: []string{"FILE_NO", "ACCESS", "READS", "AVG_SMALL_READ_US", "AVG_SMALL_SYNC_READ_US"}, text: 2, figures: 10}
	if p.width < defaultWidth {
		t.heads[3], t.heads[4] = "SMALL_READ_US", "SYNC_READ_US"
	}
	for _, f := range all {
		t.rows = append(t.rows, []string{fmt.Sprint(f.Number), f.AccessMethod, number(f.SmallReads), microseconds(f.SmallReadNanoseconds), microseconds(f.SmallSyncReadNanoseconds)})
	}
	t.write(p)
}

func microseconds(ns *int64) string {
	if ns == nil {
		return unknown
	}
	return fmt.Sprintf("%d.%03d", *ns/1000, *ns%1000)
}

func windowsOf(r runfile.Result, index int32) []runfile.OracleWindow {
	var out []runfile.OracleWindow
	for _, c := range r.Clients {
		for _, rep := range c.Load.Repetitions {
			if rep.Index == index && rep.Oracle != nil {
				out = append(out, *rep.Oracle)
			}
		}
	}
	return out
}

// waits are the wait events of the repetition that stands for all: those of an
// AWR report where the user's own kit made one, with the average that people
// compute from it, or else those of V$SYSTEM_EVENT.
func waits(p *page, windows []runfile.OracleWindow) {
	t := table{heads: []string{"EVENT", "WAITS", "SECONDS", "AVG MS"}, text: 1, figures: 12}
	for _, w := range windows {
		for _, row := range w.AWR {
			t.rows = append(t.rows, []string{row.Event, fmt.Sprint(row.Waits), fmt.Sprintf("%g", row.Seconds), average(row.Seconds, row.Waits)})
		}
		for _, e := range w.Events {
			if len(w.AWR) == 0 && e.Waits > 0 {
				s := float64(e.Microseconds) / 1e6
				t.rows = append(t.rows, []string{e.Name, fmt.Sprint(e.Waits), fmt.Sprintf("%.1f", s), average(s, e.Waits)})
			}
		}
	}
	t.write(p)
	p.line("")
}

func average(seconds float64, waits int64) string {
	if waits <= 0 {
		return unknown
	}
	return fmt.Sprintf("%.2f", seconds/float64(waits)*1000)
}
