package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// repeatSection is everything that is needed to run it again.
func repeatSection(r runfile.Result, o PageOptions) doc.Section {
	s := doc.Section{
		ID: "repeat", Title: "Run it again",
		Lead: "The same plan and seed give the same offsets and the same data. Write the plan into plan.json, and " +
			"nfsbench load --plan plan.json repeats the load without Kubernetes.",
	}
	s.Add(doc.Block{Facts: repeatFacts(r)})
	if o.Reproduce != "" {
		s.Add(doc.Block{Code: &doc.Code{Label: "YAML of the benchmark", Text: o.Reproduce}})
	}
	if tab, err := r.Plan.Engine.Oranfstab(); err == nil && tab != "" {
		s.Add(doc.Block{Code: &doc.Code{Label: "oranfstab", Text: tab}})
	}
	s.Add(doc.Block{Table: parameterTable(r)})
	var plan bytes.Buffer
	if err := runfile.WritePlan(&plan, r.Plan); err == nil {
		s.Add(doc.Block{Code: &doc.Code{Label: "Plan", Text: strings.TrimSpace(plan.String())}})
	}
	return s
}

// planHash is that of the compact JSON of the plan without the name of the run:
// two runs of one plan have the same.
func planHash(p runfile.Plan) string {
	p.Version, p.Run = runfile.PlanVersion, runfile.Identity{}
	data, err := json.Marshal(p)
	if err != nil {
		return doc.Unknown
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func repeatFacts(r runfile.Result) []doc.Fact {
	out := []doc.Fact{
		{Label: "Plan, SHA-256", Text: planHash(r.Plan) + "\n(without the name of the run)", Code: true},
		{Label: "Seed", Text: fmt.Sprint(r.Plan.Seed), Code: true},
	}
	add := func(label string, of func(runfile.ClientResult) string) {
		var seen []string
		for _, c := range r.Clients {
			if v := of(c); v != "" && !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		if len(seen) > 0 {
			out = append(out, doc.Fact{Label: label, Text: strings.Join(seen, "\n"), Code: true})
		}
	}
	add("nfsbench", func(c runfile.ClientResult) string { return c.Host.Version })
	add("Kernel", func(c runfile.ClientResult) string { return c.Host.Kernel })
	add("Database", func(c runfile.ClientResult) string {
		if c.Load.Oracle == nil {
			return ""
		}
		return strings.TrimSpace(c.Load.Oracle.Banner)
	})
	if o := r.Plan.Engine.MountOptions; len(o) > 0 {
		out = append(out, doc.Fact{Label: "Mount options asked", Text: strings.Join(o, ","), Code: true})
	}
	add("Mount in effect", mountText)
	return out
}

func mountText(c runfile.ClientResult) string {
	m := c.Load.Mount
	if m == nil {
		return ""
	}
	parts := []string{strings.TrimSpace(m.FilesystemType + " " + m.Source), strings.Join(m.Options, ",")}
	if m.ReadSizeBytes > 0 || m.WriteSizeBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s READ %s, WRITE %s", m.NFSVersion, BinarySize(m.ReadSizeBytes),
			BinarySize(m.WriteSizeBytes)))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.TrimSpace(strings.Join(parts, " "))
}

// parameterTable is the settings of the database, asked for and read back.
func parameterTable(r runfile.Result) *doc.Table {
	t := &doc.Table{Caption: "Settings of the database", Columns: doc.Columns(3, 0, "Parameter", "Asked", "Read back")}
	for _, c := range r.Clients {
		if c.Load.Oracle == nil {
			continue
		}
		for _, x := range c.Load.Oracle.Parameters {
			t.Row(x.Name, cmp.Or(x.Requested, doc.Unknown), cmp.Or(x.Value, "(empty)"))
		}
		break // one database for all clients
	}
	return t
}
