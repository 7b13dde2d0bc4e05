package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
)

// Check says what is wrong with a rendered text on a release: views that are
// not known, columns that a view has not or not yet, SELECT *, arguments that a
// procedure has not. What it cannot follow it refuses. Columns of our own tables
// are not its business.
//
// It reads the style of our texts, not all of Oracle's grammar: every query is
// SELECT ... FROM relations WHERE ...; a column alias stands after AS, an alias
// of a relation directly behind it.
func Check(sql string, r sqltext.Release) error {
	list, err := tokens(sql)
	if err != nil {
		return err
	}
	c := &checker{release: r}
	c.queries(list, nil)
	c.calls(list)
	slices.Sort(c.problems)
	var errs []error
	for _, p := range slices.Compact(c.problems) {
		errs = append(errs, fmt.Errorf("%s on Oracle %s", p, r))
	}
	return errors.Join(errs...)
}

type checker struct {
	release  sqltext.Release
	problems []string
	used     map[string]map[string]bool // names of columns and arguments, by view and procedure
}

// Used returns the columns of Oracle's views and the arguments of its procedures
// that rendered texts name, without INST_ID of GV$ views. A view and its GV$ are
// one.
func Used(texts []string, r sqltext.Release) (map[string][]string, error) {
	c := &checker{release: r, used: map[string]map[string]bool{}}
	for _, text := range texts {
		list, err := tokens(text)
		if err != nil {
			return nil, err
		}
		c.queries(list, nil)
		c.calls(list)
	}
	used := map[string][]string{}
	for view, names := range c.used {
		delete(names, "INST_ID")
		used[view] = sortedKeys(names)
	}
	return used, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// use notes that a text names something of Oracle's.
func (c *checker) use(view string, names ...string) {
	if c.used == nil || !belongsToOracle(view) && !strings.HasPrefix(view, "DBMS_") {
		return
	}
	view = strings.Replace(view, "GV$", "V$", 1)
	if c.used[view] == nil {
		c.used[view] = map[string]bool{}
	}
	for _, name := range names {
		c.used[view][name] = true
	}
}

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// relation is one that a query reads. columns is nil for one of our own, or a
// query in parentheses.
type relation struct {
	name    string
	columns map[string]bool
}

// scope is what the names in a query may mean: the relations that it reads by
// alias, and those of the queries around it.
type scope struct {
	relations map[string]relation
	outer     *scope
}

// queries checks each query in a list of tokens: those that stand directly in
// it, and those in parentheses.
func (c *checker) queries(list []token, outer *scope) {
	for i := 0; i < len(list); i++ {
		if !list[i].is("SELECT") {
			continue
		}
		end := endOfQuery(list, i)
		c.query(list[i:end], outer)
		i = end - 1
	}
}

// endOfQuery returns where the query that begins at start ends: at a closing
// parenthesis around it, a semicolon, LOOP, or another query of a set.
func endOfQuery(list []token, start int) int {
	depth := 0
	for i := start + 1; i < len(list); i++ {
		switch {
		case list[i].is("("):
			depth++
		case list[i].is(")"):
			depth--
		case depth == 0 && list[i].is(";", "LOOP", "SELECT"):
			return i
		}
		if depth < 0 {
			return i
		}
	}
	return len(list)
}

// query checks one query, from its SELECT on, and those inside of it.
func (c *checker) query(list []token, outer *scope) {
	s := &scope{relations: map[string]relation{}, outer: outer}
	from := atDepthZero(list, "FROM")
	if from < 0 {
		c.problem("a SELECT without FROM")
		return
	}
	end := from + 1
	for end < len(list) && !list[end].is("WHERE", "GROUP", "ORDER", "HAVING", "CONNECT", "START", "UNION", "MINUS", "INTERSECT", "FETCH", "FOR", "SAMPLE") {
		end += skip(list[end:])
	}
	head := list[1:from]
	if into := atDepthZero(head, "INTO"); into >= 0 {
		head = head[:into]
	}
	rest := c.from(list[from+1:end], s)
	c.stars(head)
	c.names(head, s, nil)
	c.names(rest, s, nil)
	c.names(list[end:], s, aliases(head))
}

// atDepthZero returns where a keyword stands outside of parentheses, or -1.
func atDepthZero(list []token, keyword string) int {
	for i := 0; i < len(list); i += skip(list[i:]) {
		if list[i].is(keyword) {
			return i
		}
	}
	return -1
}

// skip returns how many tokens the next thing has: one, or all of a pair of
// parentheses.
func skip(list []token) int {
	if !list[0].is("(") {
		return 1
	}
	depth := 0
	for i, t := range list {
		if t.is("(") {
			depth++
		}
		if t.is(")") {
			depth--
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(list)
}

// from enters what stands between FROM and WHERE into the scope, and returns the
// conditions of joins.
func (c *checker) from(list []token, s *scope) []token {
	var conditions []token
	expect, on := true, false // a relation, or a condition
	for i := 0; i < len(list); {
		n := skip(list[i:])
		switch {
		case list[i].is(",", "JOIN"):
			expect, on = true, false
		case list[i].is("ON") && !expect:
			on = true
		case list[i].is("INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS"):
		case expect:
			n += c.relation(list[i:], n, s)
			expect = false
		case !on:
			c.problem("%s is not understood behind a relation", list[i].value)
		default:
			conditions = append(conditions, list[i:i+n]...)
		}
		i += n
	}
	return conditions
}

// relation enters the relation of n tokens that a list begins with, and returns
// how many more tokens belong to it.
func (c *checker) relation(list []token, n int, s *scope) int {
	rel, more := relation{}, 0
	if list[0].is("(") {
		c.queries(list[1:n-1], s.outer)
	} else {
		rel.name = list[0].value
		for len(list) > n+more+1 && list[n+more].is(".") {
			rel.name = list[n+more+1].value
			more += 2
		}
		rel = c.lookup(rel.name)
	}
	alias := rel.name
	if at := n + more; len(list) > at && list[at].kind == word && !keyword(list[at].value) {
		alias = list[at].value
		more++
	}
	s.relations[alias] = rel
	return more
}

func (c *checker) lookup(name string) relation {
	columns, known := columnsOf(name, c.release)
	switch {
	case known:
		c.use(name)
		return relation{name, columns}
	case name == "DUAL":
		return relation{name, map[string]bool{}}
	case belongsToOracle(name):
		c.problem("view %s is not known", name)
	}
	return relation{name, nil}
}

func belongsToOracle(name string) bool {
	for _, prefix := range []string{"V$", "GV$", "V_$", "GV_$", "X$", "DBA_", "CDB_", "ALL_", "USER_", "SESSION_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// stars refuses SELECT *, which names columns that nobody has listed.
func (c *checker) stars(head []token) {
	for i, t := range head {
		if t.is("*") && (i == 0 || head[i-1].is(",", ".", "DISTINCT", "ALL")) {
			c.problem("SELECT * names no columns")
		}
	}
}

// aliases returns the names after AS in a select list.
func aliases(head []token) map[string]bool {
	names := map[string]bool{}
	for i := 0; i+1 < len(head); i += skip(head[i:]) {
		if head[i].is("AS") {
			names[head[i+1].value] = true
		}
	}
	return names
}
