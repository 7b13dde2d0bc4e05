package html

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// whatFacts say what carried the load, and to where.
func whatFacts(r runfile.Result, j judge.Judgement) []fact {
	var out []fact
	add := func(label, text string) {
		if text != "" {
			out = append(out, fact{Label: label, Text: text})
		}
	}
	add("Protocol", protocolText(j.Protocol))
	add("Storage", storageText(r))
	add("Paths", pathsText(j))
	add("Clients", clientsText(r))
	add("Engine", engineText(r))
	if j.Wire != nil {
		add("Wire limit", fmt.Sprintf("%s (%s)", j.Wire.Arithmetic, strings.ToLower(string(j.Wire.Source))))
	} else {
		add("Wire limit", "The speed of the links is not known.")
	}
	add("Cost", costText(j))
	if from, to := bounds(r); !from.IsZero() {
		add("When", fmt.Sprintf("%s to %s (%s)", moment(from), moment(to), to.Sub(from).Round(time.Second)))
	}
	return out
}

func protocolText(e judge.Evidence) string {
	switch {
	case e.Verified == nil:
		return "Not verified. " + e.Message
	case *e.Verified:
		return "Verified. " + e.Message
	default:
		return "NOT as declared. " + e.Message
	}
}

func storageText(r runfile.Result) string {
	var lines []string
	if s := r.Plan.Survey; s != nil {
		lines = append(lines, s.Array, volumeText(s.Volume))
	} else {
		for _, s := range r.Plan.Collect.Sources {
			lines = append(lines, strings.TrimSpace(s.Name+" ("+s.Kind+")"))
		}
	}
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	e := r.Plan.Engine
	if at := strings.TrimSpace(e.Server + " " + cmp.Or(e.Export, e.MountPath)); at != "" {
		lines = append(lines, at)
	}
	return strings.Join(lines, "\n")
}

func volumeText(v *runfile.SurveyVolume) string {
	if v == nil {
		return ""
	}
	parts := []string{"volume " + v.Name}
	if v.Aggregate != "" {
		parts = append(parts, "aggregate "+v.Aggregate)
	}
	if v.Node != "" {
		parts = append(parts, "owned by "+v.Node)
	}
	return strings.Join(parts, ", ")
}

func pathsText(j judge.Judgement) string {
	if j.Summary == nil {
		return ""
	}
	var lines []string
	for _, p := range j.Summary.Paths {
		lines = append(lines, pathName(p.Local, p.Path))
	}
	const most = 8
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func pathName(local, path string) string {
	if local == "" {
		return path
	}
	return local + " → " + path
}

func clientsText(r runfile.Result) string {
	var lines []string
	for _, c := range r.Clients {
		parts := []string{cmp.Or(c.Host.Name, fmt.Sprintf("client %d", c.Index))}
		if c.Host.Node != "" && c.Host.Node != c.Host.Name {
			parts[0] += " on " + c.Host.Node
		}
		if c.Host.CPUs > 0 {
			parts = append(parts, report.Count(int(c.Host.CPUs), "CPU"))
		}
		if c.Host.MemoryBytes > 0 {
			parts = append(parts, report.Gibibytes(c.Host.MemoryBytes)+" of memory")
		}
		if c.Host.Kernel != "" {
			parts = append(parts, "kernel "+c.Host.Kernel)
		}
		lines = append(lines, strings.Join(parts, ", "))
	}
	const most = 8
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func engineText(r runfile.Result) string {
	if r.Plan.Database == nil {
		return "native: the I/O of nfsbench itself, without a database"
	}
	for _, c := range r.Clients {
		if o := c.Load.Oracle; o != nil && o.Banner != "" {
			return strings.TrimSpace(o.Banner)
		}
	}
	return "a database of unknown version"
}

func costText(j judge.Judgement) string {
	if j.Summary == nil {
		return ""
	}
	c := j.Summary.ClientCPU
	var parts []string
	if c.Millicores > 0 {
		parts = append(parts, fmt.Sprintf("%.2f cores of the clients", float64(c.Millicores)/1000))
	}
	if c.MicrosecondsPerMiB != nil {
		parts = append(parts, report.Latency(*c.MicrosecondsPerMiB)+" CPU per MiB")
	}
	if c.BusiestLimitPermille != nil {
		parts = append(parts, report.Tenths(*c.BusiestLimitPermille)+" % of the CPU limit")
	}
	if c.BusiestNodePermille != nil {
		parts = append(parts, "busiest machine "+report.Tenths(*c.BusiestNodePermille)+" % busy")
	}
	return strings.Join(parts, ", ")
}

// bounds are the first and last moment of all clients.
func bounds(r runfile.Result) (from, to time.Time) {
	for _, c := range r.Clients {
		for _, s := range c.Load.Spans {
			from, to = extended(from, to, s.Start, s.End)
		}
		for _, p := range c.Load.Repetitions {
			from, to = extended(from, to, p.Start, p.End)
		}
	}
	return from, to
}

func extended(from, to, start, end time.Time) (first, last time.Time) {
	if !start.IsZero() && (from.IsZero() || start.Before(from)) {
		from = start
	}
	if end.After(to) {
		to = end
	}
	return from, to
}

// repeatSection is everything that is needed to run it again.
func repeatSection(r runfile.Result, o Options) section {
	s := section{ID: "repeat", Title: "Run it again", Lead: "The same plan and seed give the same offsets and the same data. Write the plan into plan.json, and nfsbench load --plan plan.json repeats the load without Kubernetes."}
	s.add(block{Facts: repeatFacts(r)})
	if o.Reproduce != "" {
		s.add(block{Code: &code{"YAML of the benchmark", o.Reproduce}})
	}
	if tab, err := r.Plan.Engine.Oranfstab(); err == nil && tab != "" {
		s.add(block{Code: &code{"oranfstab", tab}})
	}
	s.add(parameterTable(r))
	if plan, err := planText(r.Plan); err == nil {
		s.add(block{Code: &code{"Plan", plan}})
	}
	return s
}

// planText is the plan as nfsbench reads it.
func planText(p runfile.Plan) (string, error) {
	var b bytes.Buffer
	if err := runfile.WritePlan(&b, p); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// planHash is that of the compact JSON of the plan without the name of the run:
// two runs of one plan have the same.
func planHash(p runfile.Plan) string {
	p.Version, p.Run = runfile.PlanVersion, runfile.Identity{}
	data, err := json.Marshal(p)
	if err != nil {
		return unknown
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func repeatFacts(r runfile.Result) []fact {
	out := []fact{
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
			out = append(out, fact{Label: label, Text: strings.Join(seen, "\n"), Code: true})
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
		out = append(out, fact{Label: "Mount options asked", Text: strings.Join(o, ","), Code: true})
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
		parts = append(parts, fmt.Sprintf("%s READ %s, WRITE %s", m.NFSVersion, report.BinarySize(m.ReadSizeBytes), report.BinarySize(m.WriteSizeBytes)))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.TrimSpace(strings.Join(parts, " "))
}

// parameterTable is the settings of the database, asked for and read back.
func parameterTable(r runfile.Result) block {
	t := &table{Caption: "Settings of the database", Heads: heads(3, "Parameter", "Asked", "Read back")}
	for _, c := range r.Clients {
		if c.Load.Oracle == nil {
			continue
		}
		for _, x := range c.Load.Oracle.Parameters {
			t.row(x.Name, cmp.Or(x.Requested, unknown), cmp.Or(x.Value, "(empty)"))
		}
		break // one database for all clients
	}
	return block{Table: t}
}
