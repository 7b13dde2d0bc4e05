package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// whatRan describes the load in one sentence. The spaces between a number and its unit do not break.
func whatRan(j judge.Judgement) string {
	plan := j.Facts.Plan
	parts, on := plan.Words()
	over := j.Protocol.Observed
	if over == "" {
		over = strings.TrimSpace(string(plan.Engine.Client) + " " + string(plan.Engine.NFSVersion))
	}
	parts = append(append(parts, on...), over, human.Count(plan.Clients, "client"))
	schedule := plan.Schedule
	switch w := plan.Workload; {
	case w.Capacity() != nil:
		parts = append(parts, "searched "+human.Count(schedule.Repetitions, "time"))
	case w.Calibrate != nil && plan.Database != nil:
		parts = append(parts, human.Count(schedule.Repetitions, "run")) // Oracle decides how long it takes
	default:
		parts = append(parts, fmt.Sprintf("%d x %d s", schedule.Repetitions, schedule.DurationSeconds))
	}
	return strings.Join(doc.Whole(parts), ", ")
}

// whatFacts returns facts about what carried the load, and to where. The page shows all at its top; the terminal
// shows the measured ones below the tables.
func whatFacts(j judge.Judgement) []doc.Fact {
	var out []doc.Fact
	add := func(in doc.Output, label, text string) {
		if text != "" {
			out = append(out, doc.Fact{Label: label, Text: text, In: in})
		}
	}
	protocol := "not verified. "
	if v := j.Protocol.Verified; v != nil {
		protocol = map[bool]string{true: "verified. ", false: "NOT as declared. "}[*v]
	}
	protocol += j.Protocol.Message
	wire := "the speed of the links is not known"
	if j.Wire != nil {
		wire = fmt.Sprintf("%s (%s)", j.Wire.Arithmetic, strings.ToLower(string(j.Wire.Source)))
	}
	add(doc.HTMLOnly, "Storage", storageText(j.Facts.Plan))
	var paths []string
	if j.Summary != nil {
		for _, p := range j.Summary.Paths {
			paths = append(paths, shareName(p))
		}
	}
	add(doc.HTMLOnly, "Paths", firstLines(paths))
	add(doc.HTMLOnly, "Clients", clientsText(j.Facts.Clients))
	add(doc.HTMLOnly, "Engine", engineText(j.Facts))
	if s := j.Summary; s != nil {
		add(doc.Both, "Wire", wire)
		add(doc.Both, "Client", joined(doc.Whole(costParts(*s))))
		add(doc.Both, "Served", joined(doc.Whole(storageParts(*s))))
	}
	add(doc.Both, "Protocol", protocol)
	add(doc.Both, "Data", j.Data)
	if from, to := j.Facts.Times(); !from.IsZero() {
		add(doc.HTMLOnly, "When", fmt.Sprintf("%s to %s (%s)", moment(from), moment(to), to.Sub(from).Round(time.Second)))
	}
	return out
}

// costParts show the cost of the load on the clients.
func costParts(s measure.Summary) []string {
	c := s.ClientCPU
	var parts []string
	if c.Millicores > 0 {
		parts = append(parts, fmt.Sprintf("%.2f cores", float64(c.Millicores)/1000))
	}
	if c.MicrosecondsPerMiB != nil {
		parts = append(parts, human.Latency(*c.MicrosecondsPerMiB)+" CPU per MiB above idle")
	}
	add := func(who string, share *int32, of string) {
		if share != nil {
			parts = append(parts, who+human.Share(*share)+of)
		}
	}
	add("", c.BusiestLimitPermille, " of its limit")
	add("", c.DatabaseLimitPermille, " of what the database can use")
	add("machine ", c.BusiestNodePermille, " busy")
	add("collector ", s.CollectorCPUPermille, " of a core")
	if most := bench.OrZero(c.CeilingPerSecond); most > s.Total.OperationsPerSecond && s.Total.OperationsPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("at least %d operations/s without a storage (%.1f times as many)", most,
			float64(most)/float64(s.Total.OperationsPerSecond)))
	}
	return parts
}

func storageText(p runfile.Plan) string {
	var lines []string
	s := p.Survey
	if s == nil {
		for _, s := range p.Collect.Sources {
			lines = append(lines, sourceText(s))
		}
	} else {
		lines = append(lines, s.Array)
	}
	if s != nil && s.Volume != nil {
		volume := "volume " + s.Volume.Name
		if a := s.Volume.Aggregate; a != "" {
			volume += ", aggregate " + a
		}
		if n := s.Volume.Node; n != "" {
			volume += ", owned by " + n
		}
		lines = append(lines, volume)
	}
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	e := p.Engine
	if at := cmp.Or(e.Export, e.MountPath); at != "" {
		lines = append(lines, at)
	}
	if d := p.Database; d != nil && d.RedoExport != "" {
		lines = append(lines, "redo logs on "+d.RedoExport)
	}
	return strings.Join(lines, "\n")
}

func sourceText(s runfile.Source) string {
	if s.Kind == runfile.SourceEmbedded {
		return "the embedded NFS server"
	}
	return strings.TrimSpace(s.Name + " (" + s.Kind + ")")
}

func clientsText(clients []measure.Client) string {
	var lines []string
	for _, c := range clients {
		parts := []string{cmp.Or(c.Host.Name, fmt.Sprintf("client %d", c.Index))}
		if c.Host.Node != "" && c.Host.Node != c.Host.Name {
			parts[0] += " on " + c.Host.Node
		}
		if c.Host.CPUs > 0 {
			parts = append(parts, human.Count(int(c.Host.CPUs), "CPU"))
		}
		if c.Host.MemoryBytes > 0 {
			parts = append(parts, human.Bytes(c.Host.MemoryBytes)+" of memory")
		}
		if c.Host.Kernel != "" {
			parts = append(parts, "kernel "+c.Host.Kernel)
		}
		lines = append(lines, strings.Join(parts, ", "))
	}
	return firstLines(lines)
}

func engineText(f *measure.Facts) string {
	if f.Plan.Database == nil {
		return "native: the I/O of nfsbench itself, without a database"
	}
	for _, o := range f.Oracles {
		if o.Banner != "" {
			return strings.TrimSpace(o.Banner)
		}
	}
	return "a database of unknown version"
}

// repeatSection shows all that is needed to run the benchmark again.
func repeatSection(f *measure.Facts, o PageOptions) doc.Section {
	s := doc.Section{
		ID: "repeat", Title: "Run it again",
		Lead: "The same plan and seed give the same offsets and the same data. Write the plan into plan.json, and " +
			"nfsbench load --plan plan.json repeats the load without Kubernetes.",
	}
	s.Add(doc.Block{Facts: repeatFacts(f)})
	if o.Reproduce != "" {
		s.Add(doc.Block{Code: &doc.Code{Label: "YAML of the benchmark", Text: o.Reproduce}})
	}
	if tab, err := f.Plan.Oranfstab(); err == nil && tab != "" {
		s.Add(doc.Block{Code: &doc.Code{Label: "oranfstab", Text: tab}})
	}
	if d := f.Plan.Database; d != nil && d.Kind == runfile.DatabaseExternal && d.DirectNFS && d.DataDirectory == "" {
		s.Add(doc.Block{Text: "There is no oranfstab, because database.external.mountPath does not say where the host of " +
			"the database mounts the export."})
	}
	var plan bytes.Buffer
	if err := runfile.WritePlan(&plan, f.Plan); err == nil {
		s.Add(doc.Block{Code: &doc.Code{Label: "Plan", Text: strings.TrimSpace(plan.String())}})
	}
	return s
}

// planHash is the hash of the plan's compact JSON without the name of the run: two runs of one plan
// have the same hash.
func planHash(p runfile.Plan) string {
	p.Version, p.Run = runfile.PlanVersion, runfile.Identity{}
	data, err := json.Marshal(p)
	if err != nil {
		return doc.Unknown
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func repeatFacts(f *measure.Facts) []doc.Fact {
	out := []doc.Fact{
		{Label: "Plan, SHA-256", Text: planHash(f.Plan) + "\n(without the name of the run)", Code: true},
		{Label: "Seed", Text: fmt.Sprint(f.Plan.Seed), Code: true},
	}
	add := func(label string, seen []string) {
		if len(seen) > 0 {
			out = append(out, doc.Fact{Label: label, Text: strings.Join(seen, "\n"), Code: true})
		}
	}
	each := func(label string, of func(measure.Client) string) { add(label, measure.Distinct(f.Clients, of)) }
	each("nfsbench", func(c measure.Client) string { return c.Host.Version })
	each("Kernel", func(c measure.Client) string { return c.Host.Kernel })
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	each("NUMA nodes", func(c measure.Client) string { return number(int64(c.Host.NUMANodes)) })
	each("Slots of the kernel's NFS client", func(c measure.Client) string { return number(c.Host.TCPSlots) })
	add("Database", measure.Distinct(f.Oracles, func(o runfile.Oracle) string { return strings.TrimSpace(o.Banner) }))
	if o := f.Plan.Engine.MountOptions; len(o) > 0 {
		out = append(out, doc.Fact{Label: "Mount options asked", Text: strings.Join(o, ","), Code: true})
	}
	each("Mount in effect", mountText)
	return out
}

func mountText(c measure.Client) string {
	m := c.Mount
	if m == nil {
		return ""
	}
	parts := []string{strings.TrimSpace(m.FilesystemType + " " + m.Source), strings.Join(m.Options, ",")}
	if m.ReadSizeBytes > 0 || m.WriteSizeBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s READ %s, WRITE %s", m.NFSVersion, human.Size(m.ReadSizeBytes),
			human.Size(m.WriteSizeBytes)))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.TrimSpace(strings.Join(parts, " "))
}
