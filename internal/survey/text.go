package survey

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Text writes a survey for people: the volume and its owner, the addresses and their locality, the options of the NFS
// service, the admitted clients, and unknown facts with the way to get them. It returns the first error of w.
func Text(w io.Writer, s runfile.Survey) error {
	blocks := []doc.Block{{Facts: facts(s)}, {Table: lifs(s)}, {Table: nodes(s)}, {Table: rules(s)}}
	if s.Problem != nil {
		blocks = []doc.Block{{Facts: []doc.Fact{{Label: "no survey", Text: s.Problem.Reason + ": " + s.Problem.Message}}}}
	}
	for _, m := range s.Missing {
		text := "Not known: " + m.What + ": " + m.Why
		if m.Fix != "" {
			text += ". To mend it: " + m.Fix
		}
		blocks = append(blocks, doc.Block{Text: text})
	}
	return doc.Text(w, doc.Document{Terminal: blocks}, doc.TextOptions{Width: 120})
}

func facts(s runfile.Survey) []doc.Fact {
	var out []doc.Fact
	add := func(label, text string) { out = append(out, doc.Fact{Label: label, Text: text}) }
	add("array", s.Array)
	if ms := s.ClockOffsetMilliseconds; ms != nil {
		add("clock", fmt.Sprintf("%+d ms against ours", *ms))
	}
	if m := s.Move; m != nil {
		add("moved", fmt.Sprintf("from %s to %s, %d %%, %.0f s", known(m.From), m.To, m.Percent, m.Seconds))
	}
	if v := s.Volume; v == nil {
		add("volume", "not known")
	} else {
		where := "its node is not known, or there are several"
		if v.Node != "" {
			where = "owned by node " + v.Node
		}
		add("volume", fmt.Sprintf("%s on aggregate %s, %s", v.Name, known(v.Aggregate), where))
		add("export", fmt.Sprintf("%s, policy %s, %s, %s, %s, %s free", known(v.Export), known(v.ExportPolicy),
			known(v.Style), known(v.State), bytes(v.SizeBytes), bytes(v.AvailableBytes)))
		if v.Moving {
			add("moving", "it is being moved by somebody")
		}
		if v.QoS != nil {
			add("QoS", limits(*v.QoS))
		}
	}
	if n := s.NFS; n == nil {
		add("NFS", "not known")
	} else {
		has := func(version *bool) string { return toggle(version, "yes", "no") }
		add("NFS", fmt.Sprintf("service %s; v3 %s, v4.0 %s, v4.1 %s, pNFS %s; transfer size %s",
			toggle(n.Enabled, "enabled", "disabled"), has(n.V3), has(n.V40), has(n.V41), has(n.PNFS),
			bytes(n.TransferSizeBytes)))
	}
	if len(s.Clients) > 0 {
		add("asked as", strings.Join(s.Clients, ", "))
	}
	return out
}

func limits(q runfile.QoS) string {
	words := "policy " + q.Policy
	if q.MaxIOPS != nil {
		words += fmt.Sprintf(", at most %d IOPS", *q.MaxIOPS)
	}
	if q.MaxBytesPerSecond != nil {
		words += ", at most " + human.Throughput(*q.MaxBytesPerSecond)
	}
	return words
}

func lifs(s runfile.Survey) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(6, 0, "LIF", "Address", "Node", "Home", "State", "Volume")}
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
		t.Row(l.Name, address, known(l.Node), known(l.HomeNode), state, where)
	}
	return t
}

func nodes(s runfile.Survey) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(3, 0, "Node", "Model", "State")}
	for _, n := range s.Nodes {
		t.Row(n.Name, known(n.Model), toggle(n.Up, "up", "down"))
	}
	return t
}

func rules(s runfile.Survey) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(6, 0, "Rule", "Clients", "Protocols", "Read", "Write", "Superuser")}
	words := func(list []string) string { return known(strings.Join(list, ",")) }
	if s.Rules != nil && len(s.Rules) == 0 {
		t.Row("none", "nobody", "-", "-", "-", "-")
	}
	for _, r := range s.Rules {
		t.Row(fmt.Sprint(r.Index), words(r.Clients), words(r.Protocols), words(r.ReadOnly), words(r.ReadWrite),
			words(r.SuperUser))
	}
	return t
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

func bytes(n *int64) string {
	if n == nil {
		return "size not known"
	}
	return human.Bytes(*n)
}
