package main

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// use is what a query uses.
type use struct {
	Query string `json:"query"`
	Error string `json:"error,omitempty"`
	// Metrics are the labels that are asked for, by the names of metrics.
	Metrics map[string][]string `json:"metrics,omitempty"`
	// Groups are the labels of by, without, on, ignoring and group_left.
	Groups []string `json:"groups,omitempty"`
}

func useOf(query string) use {
	u := use{Query: query}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		u.Error = err.Error()
		return u
	}
	found, groups := map[string]map[string]bool{}, map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			name, asked := selector(n)
			if found[name] == nil {
				found[name] = map[string]bool{}
			}
			maps.Copy(found[name], asked)
		case *parser.AggregateExpr:
			add(groups, n.Grouping)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				add(groups, n.VectorMatching.MatchingLabels)
				add(groups, n.VectorMatching.Include)
			}
		}
		return nil
	})
	u.Metrics = map[string][]string{}
	for name, asked := range found {
		u.Metrics[name] = slices.Sorted(maps.Keys(asked))
	}
	u.Groups = slices.Sorted(maps.Keys(groups))
	return u
}

func selector(n *parser.VectorSelector) (name string, asked map[string]bool) {
	name, asked = n.Name, map[string]bool{}
	for _, m := range n.LabelMatchers {
		if m.Name != labels.MetricName {
			asked[m.Name] = true
		} else if name == "" {
			name = m.Value
		}
	}
	return name, asked
}

func add(to map[string]bool, names []string) {
	for _, n := range names {
		to[n] = true
	}
}
