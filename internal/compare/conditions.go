package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The groups of conditions. A comparison should vary only one of them.
const (
	groupProtocol = "protocol" // client, version, paths, mount options, link
	groupStorage  = "storage"  // export, array, volume, aggregate, node
	groupWorkload = "workload"
	groupSchedule = "schedule"
	groupClients  = "clients" // how many, and on what machines
	groupDatabase = "database"
	groupProgram  = "program" // the version of nfsbench
)

// Groups returns all groups, as --vary names them.
func Groups() []string {
	return []string{groupProtocol, groupStorage, groupWorkload, groupSchedule, groupClients, groupDatabase, groupProgram}
}

// maxNamedConditions bounds what a warning lists of one group.
const maxNamedConditions = 4

// conditionWarnings warns of the conditions in which two results differ. Groups in vary do not count. Without vary
// one group may differ, because a comparison varies something. Without facts, the conditions are unknown.
func conditionWarnings(a, b *measure.Facts, vary []string) []string {
	if a == nil || b == nil {
		return nil
	}
	differ := map[string][]string{}
	for _, d := range Differences(a, b) {
		if !slices.Contains(vary, d.Group) {
			differ[d.Group] = append(differ[d.Group], fmt.Sprintf("%s %s and %s", d.Field, d.A, d.B))
		}
	}
	if len(vary) == 0 && len(differ) <= 1 || len(differ) == 0 {
		return nil
	}
	var parts []string
	for _, group := range Groups() {
		if fields := differ[group]; len(fields) > 0 {
			more := ""
			if n := len(fields) - maxNamedConditions; n > 0 {
				fields, more = fields[:maxNamedConditions], fmt.Sprintf(" and %d more", n)
			}
			parts = append(parts, fmt.Sprintf("%s (%s%s)", group, strings.Join(fields, "; "), more))
		}
	}
	hint := "--vary GROUP names what is meant to differ"
	if len(vary) > 0 {
		hint = "--vary does not name these groups"
	}
	return []string{"the two did not run under the same conditions, so any of these may cause a difference: " +
		strings.Join(parts, ", ") + ". " + hint}
}

// Difference is one condition in which two results differ.
type Difference struct{ Group, Field, A, B string }

// Differences returns all differences, by group and field. The number of repetitions is no condition.
func Differences(a, b *measure.Facts) []Difference {
	var all []Difference
	of, other := conditionsOf(a), conditionsOf(b)
	for _, group := range Groups() {
		fields := slices.AppendSeq(slices.Collect(maps.Keys(of[group])), maps.Keys(other[group]))
		slices.Sort(fields)
		for _, field := range slices.Compact(fields) {
			x, y := of[group][field], other[group][field]
			if group == groupStorage && (x == "" || y == "") {
				continue // an unknown value is no difference
			}
			if x != y {
				all = append(all, Difference{group, field, shown(x), shown(y)})
			}
		}
	}
	return all
}

func shown(v string) string {
	if v == "" {
		return "absent"
	}
	const most = 40 // characters
	text := []rune(strings.Join(strings.Fields(v), " "))
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	return string(text)
}

// conditionsOf returns the fields of a result by group, as text.
func conditionsOf(f *measure.Facts) map[string]map[string]string {
	p := f.Plan
	p.Schedule.Repetitions = 0
	protocol := p.Engine
	// The label of a server is the name of the benchmark, which is no condition.
	protocol.Server, protocol.Export, protocol.Channels = "", "", nil
	machines := map[string]string{"clients": fmt.Sprint(p.Clients)}
	program := map[string]string{}
	for _, c := range f.Clients {
		prefix := fmt.Sprintf("client %d ", c.Index)
		machines[prefix+"node"], machines[prefix+"kernel"] = c.Host.Node, c.Host.Kernel
		machines[prefix+"cpus"] = fmt.Sprint(c.Host.CPUs)
		program[prefix+"version"] = c.Host.Version
	}
	groups := map[string]map[string]string{
		groupProtocol: fieldsOf(protocol), groupStorage: storageOf(f), groupWorkload: fieldsOf(p.Workload),
		groupSchedule: fieldsOf(p.Schedule),
		groupClients:  machines, groupDatabase: fieldsOf(p.Database), groupProgram: program,
	}
	if paths := pathsOf(p); paths != "" {
		groups[groupProtocol]["paths"] = paths
	}
	for field, value := range fieldsOf(p.Link) {
		groups[groupProtocol]["link."+field] = value
	}
	return groups
}

// storageOf returns the known location of the data. The export of a kernel mount comes from the mount's source, the
// export of Direct NFS from the plan.
func storageOf(f *measure.Facts) map[string]string {
	storage := map[string]string{}
	add := func(field, value string) {
		if value != "" {
			storage[field] = value
		}
	}
	add("export", f.Plan.Engine.Export)
	for _, c := range f.Clients {
		if m := c.Mount; m != nil && f.Plan.Engine.Export == "" {
			_, export, _ := strings.Cut(m.Source, ":/")
			add("export", "/"+export)
		}
	}
	if s := f.Plan.Survey; s != nil {
		add("array", s.Array)
		if v := s.Volume; v != nil {
			add("volume", v.Name)
			add("aggregate", v.Aggregate)
			add("node", v.Node)
		}
	}
	return storage
}

// pathsOf returns the channels of a plan as text. For an embedded server, whose addresses change with each run, it
// returns only their number.
func pathsOf(p runfile.Plan) string {
	if slices.ContainsFunc(p.Collect.Sources, func(s runfile.Source) bool { return s.Kind == runfile.SourceEmbedded }) {
		return fmt.Sprint(len(p.Engine.Channels))
	}
	var all []string
	for _, ch := range p.Engine.Channels {
		all = append(all, ch.String())
	}
	return strings.Join(all, ", ")
}

// fieldsOf flattens a value by its JSON names.
func fieldsOf(v any) map[string]string {
	out := map[string]string{}
	raw, err := json.Marshal(v)
	if err != nil {
		return out
	}
	var tree any
	if json.Unmarshal(raw, &tree) == nil {
		flatten("", tree, out)
	}
	return out
}

func flatten(path string, v any, out map[string]string) {
	switch x := v.(type) {
	case map[string]any:
		for key, value := range x {
			flatten(strings.TrimPrefix(path+"."+key, "."), value, out)
		}
	case nil:
	case string:
		out[path] = x
	default:
		text, err := json.Marshal(x)
		if err == nil {
			out[path] = string(text)
		}
	}
}
