package survey

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Text writes a survey for people: the volume and who owns it, the addresses
// and whether they are local to it, what the NFS service offers, who is
// admitted, what is not known and how to fix that. It returns the first error
// of w.
func Text(w io.Writer, s runfile.Survey) error {
	p := &page{tab: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if s.Problem != nil {
		p.row("no survey", s.Problem.Reason+": "+s.Problem.Message)
		return p.end()
	}
	p.row("array", s.Array)
	if ms := s.ClockOffsetMilliseconds; ms != nil {
		p.row("clock", fmt.Sprintf("%+d ms against ours", *ms))
	}
	if m := s.Move; m != nil {
		p.row("moved", fmt.Sprintf("from %s to %s, %d %%, %.0f s", known(m.From), m.To, m.Percent, m.Seconds))
	}
	volume(p, s.Volume)
	if n := s.NFS; n == nil {
		p.row("NFS", "not known")
	} else {
		has := func(version *bool) string { return toggle(version, "yes", "no") }
		p.row("NFS", fmt.Sprintf("service %s; v3 %s, v4.0 %s, v4.1 %s, pNFS %s; transfer size %s",
			toggle(n.Enabled, "enabled", "disabled"), has(n.V3), has(n.V40), has(n.V41), has(n.PNFS),
			bytes(n.TransferSizeBytes)))
	}
	if len(s.Clients) > 0 {
		p.row("asked as", strings.Join(s.Clients, ", "))
	}
	lifs(p, &s)
	if len(s.Nodes) > 0 {
		p.table("NODE", "MODEL", "STATE")
	}
	for _, n := range s.Nodes {
		p.row(n.Name, known(n.Model), toggle(n.Up, "up", "down"))
	}
	if s.Rules != nil {
		p.table("RULE", "CLIENTS", "PROTOCOLS", "READ", "WRITE", "SUPERUSER")
		if len(s.Rules) == 0 {
			p.row("none", "nobody")
		}
	}
	words := func(list []string) string { return known(strings.Join(list, ",")) }
	for _, r := range s.Rules {
		p.row(fmt.Sprint(r.Index), words(r.Clients), words(r.Protocols), words(r.ReadOnly), words(r.ReadWrite),
			words(r.SuperUser))
	}
	if len(s.Missing) > 0 {
		p.table("NOT KNOWN", "WHY", "TO MEND IT")
	}
	for _, m := range s.Missing {
		p.row(m.What, m.Why, known(m.Fix))
	}
	return p.end()
}

// page is aligned columns, flushed with each table.
type page struct {
	tab *tabwriter.Writer
	err error
}

func (p *page) row(cells ...string) {
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	if _, err := fmt.Fprintln(p.tab, strings.Join(cells, "\t")); err != nil && p.err == nil {
		p.err = err
	}
}

// table begins another table below an empty line.
func (p *page) table(head ...string) {
	p.err = p.end()
	p.row("")
	p.row(head...)
}

// end flushes a table. It returns the first error.
func (p *page) end() error {
	if err := p.tab.Flush(); err != nil && p.err == nil {
		p.err = err
	}
	return p.err
}

// clean keeps what an array says from moving columns, or a terminal's cursor.
func clean(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)), " ")
}

func volume(p *page, v *runfile.SurveyVolume) {
	if v == nil {
		p.row("volume", "not known")
		return
	}
	where := "its node is not known, or there are several"
	if v.Node != "" {
		where = "owned by node " + v.Node
	}
	p.row("volume", fmt.Sprintf("%s on aggregate %s, %s", v.Name, known(v.Aggregate), where))
	p.row("", fmt.Sprintf("export %s, policy %s, %s, %s, %s, %s free", known(v.Export), known(v.ExportPolicy),
		known(v.Style), known(v.State), bytes(v.SizeBytes), bytes(v.AvailableBytes)))
	if v.Moving {
		p.row("", "it is being moved by somebody")
	}
	if q := v.QoS; q != nil {
		var limits []string
		if q.MaxIOPS != nil {
			limits = append(limits, fmt.Sprintf("at most %d IOPS", *q.MaxIOPS))
		}
		if q.MaxBytesPerSecond != nil {
			limits = append(limits, "at most "+bytes(q.MaxBytesPerSecond)+"/s")
		}
		words := "QoS policy " + q.Policy
		if len(limits) > 0 {
			words += ": " + strings.Join(limits, ", ")
		}
		p.row("", words)
	}
}

func lifs(p *page, s *runfile.Survey) {
	if len(s.LIFs) == 0 {
		return
	}
	p.table("LIF", "ADDRESS", "NODE", "HOME", "STATE", "VOLUME")
	for _, l := range s.LIFs {
		address := l.Address
		if l.Prefix > 0 {
			address = fmt.Sprintf("%s/%d", l.Address, l.Prefix)
		}
		state := toggle(l.Up, "up", "down")
		if l.AtHome != nil && !*l.AtHome {
			state += ", not at home"
		}
		where := "-"
		if local, known := s.IsLocal(l.Address); known {
			where = toggle(&local, "local", "remote")
		}
		p.row(l.Name, address, known(l.Node), known(l.HomeNode), state, where)
	}
}

func known(s string) string { return cmp.Or(s, "-") }

func toggle(b *bool, yes, no string) string {
	switch {
	case b == nil:
		return "not known"
	case *b:
		return yes
	default:
		return no
	}
}

// bytes writes a size in the largest unit that leaves it above one.
func bytes(n *int64) string {
	if n == nil {
		return "size not known"
	}
	const step = 1024
	value, units := float64(*n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= step && len(units) > 1 {
		value, units = value/step, units[1:]
	}
	return fmt.Sprintf("%.4g %s", value, units[0])
}
