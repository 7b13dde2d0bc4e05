package ontap

import "slices"

const nodeTable = "system:node"

func tableCollection() *collection {
	return &collection{
		path: "/cluster/counter/tables", one: "name", keys: []string{"name"},
		fields: []string{"description", "counter_schemas.name", "counter_schemas.type", "counter_schemas.unit", "counter_schemas.denominator.name"},
		list: func(query) []record {
			schema := func(name, kind, unit, base string) any {
				m := map[string]any{"name": name, "type": kind, "unit": unit}
				if base != "" {
					m["denominator"] = map[string]any{"name": base}
				}
				return m
			}
			return []record{{"name": nodeTable, "description": "processors of a node (stand-in)", "counter_schemas": []any{
				schema("cpu_busy", "percent", "percent", "cpu_elapsed_time"),
				schema("average_processor_busy_percent", "percent", "percent", "cpu_elapsed_time"),
				schema("cpu_elapsed_time", "delta", "microsec", ""),
			}}}
		},
	}
}

// chosen are the counters that counters.name of the request asks for.
func (q query) chosen(all ...any) []any {
	test := q.params.Get("counters.name")
	if test == "" {
		return all
	}
	return slices.DeleteFunc(all, func(c any) bool { return !admits([]any{c.(map[string]any)["name"]}, test) })
}

// rowCollection is the rows of the node table. They have no timestamp: they are
// as of now, and not of the grid.
func rowCollection() *collection {
	return &collection{
		path: "/cluster/counter/tables/" + nodeTable + "/rows", one: "id", keys: []string{"id", "counter_table.name"},
		fields: []string{"properties.name", "properties.value", "counters.name", "counters.value", "aggregation.count", "aggregation.complete"},
		list: func(q query) []record {
			var all []record
			now := q.s.live(q.model)
			for _, n := range sorted(q.model.Nodes, func(n Node) string { return n.Name }) {
				if n.Down {
					continue
				}
				c, counter := now.nodes[n.Name], func(name string, v uint64) any { return map[string]any{"name": name, "value": v} }
				all = append(all, record{
					"id": n.Name + ":" + uuidOf("node", n.Name), "counter_table.name": nodeTable,
					"properties":        []any{map[string]any{"name": "node.name", "value": n.Name}},
					"aggregation.count": 1, "aggregation.complete": true,
					"counters": q.chosen(
						counter("cpu_busy", c.BusyMicros), counter("average_processor_busy_percent", c.BusyMicros),
						counter("cpu_elapsed_time", c.BaseMicros),
					),
				})
			}
			return all
		},
	}
}
