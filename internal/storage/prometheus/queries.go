package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
)

// queryNodeCPU is the key of the only expression that may return several series.
const queryNodeCPU = "nodeCPUPercent"

// queries evaluates the expressions of the user.
type queries struct {
	source      *Source
	expressions map[string]string
}

// totals maps the keys with one value each to rates.
func totals() map[string]func(*integrate.Rates) **float64 {
	return map[string]func(*integrate.Rates) **float64{
		"readOperations":           func(r *integrate.Rates) **float64 { return &r.ReadOps },
		"writeOperations":          func(r *integrate.Rates) **float64 { return &r.WriteOps },
		"readBytes":                func(r *integrate.Rates) **float64 { return &r.ReadBytes },
		"writeBytes":               func(r *integrate.Rates) **float64 { return &r.WrittenBytes },
		"readLatencyMicroseconds":  func(r *integrate.Rates) **float64 { return &r.ReadLatency },
		"writeLatencyMicroseconds": func(r *integrate.Rates) **float64 { return &r.WriteLatency },
	}
}

func newQueries(s *Source, expressions map[string]string) (*queries, error) {
	known := totals()
	for _, key := range slices.Sorted(maps.Keys(expressions)) {
		if known[key] == nil && key != queryNodeCPU {
			return nil, fmt.Errorf("queries.%s is not known: there are %s and %s", key, queryNodeCPU,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if strings.TrimSpace(expressions[key]) == "" {
			return nil, fmt.Errorf("queries.%s is empty", key)
		}
	}
	return &queries{source: s, expressions: expressions}, nil
}

// gather evaluates all expressions at one moment: the time of Prometheus' first answer with a value.
func (q *queries) gather(ctx context.Context) (answer, error) {
	var a answer
	var at model.Time
	var total integrate.Rates
	known := totals()
	for _, key := range slices.Sorted(maps.Keys(q.expressions)) {
		r, err := q.source.query(ctx, q.expressions[key], at)
		var v []*sample
		if err == nil {
			v, err = r.vector()
		}
		if err == nil && key == queryNodeCPU {
			a.Nodes, err = nodesOf(v)
		} else if err == nil {
			err = totalOf(v, known[key](&total))
		}
		if err != nil {
			return answer{}, fmt.Errorf("queries.%s: %w", key, err)
		}
		if at == 0 && len(v) > 0 {
			at = v[0].Value.Timestamp
		}
	}
	if !plausible(at) {
		return answer{}, fmt.Errorf("none of the queries gives a value: try them on the Prometheus itself")
	}
	total.Time = at.Time().UTC()
	a.Total = []integrate.Rates{total}
	return a, nil
}

// totalOf puts the only value of v into to. Without a value to stays nil, which means unknown.
func totalOf(v []*sample, to **float64) error {
	if len(v) > 1 {
		return storage.Permanent(fmt.Errorf("it gives %d series, and must give one: sum(...) of them, or choose with "+
			"labels", len(v)))
	}
	if len(v) == 1 {
		*to = number(v[0].Value.Value)
	}
	return nil
}

// nodesOf returns the busy shares of nodes. A node has the name of its label node, or else instance.
func nodesOf(v []*sample) ([]integrate.Node, error) {
	var nodes []integrate.Node
	for _, s := range v {
		name := cmp.Or(string(s.Metric[labelNode]), string(s.Metric[model.InstanceLabel]))
		f := number(s.Value.Value)
		switch {
		case name == "":
			return nil, storage.Permanent(fmt.Errorf("it gives a series without the labels node and instance: use avg by " +
				"(node) (...)"))
		case slices.ContainsFunc(nodes, func(n integrate.Node) bool { return n.Name == name }):
			return nil, storage.Permanent(fmt.Errorf("it gives node %s twice: use avg by (node) (...)", name))
		case f != nil && (*f < 0 || *f > integrate.MaxPercent):
			return nil, storage.Permanent(fmt.Errorf("it gives %g for node %s, and must give the busy share of all its "+
				"cores, 0 to 100", *f, name))
		case f != nil && plausible(s.Value.Timestamp):
			nodes = append(nodes, integrate.Node{
				Name:  name,
				Rates: []integrate.Rates{{Time: s.Value.Timestamp.Time().UTC(), BusyPercent: f}},
			})
		}
	}
	return nodes, nil
}
