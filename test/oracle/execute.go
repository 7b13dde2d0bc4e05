package oracle

import (
	"context"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/oracle/wire"
)

// row is one row of an answer, by lower-case column.
type row map[string]any

// statement is one call of a text of ours.
type statement struct {
	name string
	text string // without comments, blanks made one
	args []wire.Arg
}

// handler does what a statement means. A query returns rows, all others none;
// OUT binds are values of the one row, by the names of the binds.
type handler func(ctx context.Context, s *session, q statement) ([]row, error)

// execute runs a request.
func (s *session) execute(ctx context.Context, r wire.Request) (*wire.Response, error) {
	if r.Kind == wire.Commit || r.Kind == wire.Rollback {
		return &wire.Response{}, nil
	}
	name, ok := sqltext.NameOf(r.SQL)
	if !ok {
		return nil, ora(900, "invalid SQL statement")
	}
	do, needs := s.i.handler(name)
	if do == nil {
		return nil, ora(900, "invalid SQL statement")
	}
	switch {
	case needs == rightSysdba && !s.dba:
		return nil, ora(1031, "insufficient privileges")
	case needs == rightViews && !s.dba && s.user != "SYSTEM":
		return nil, ora(942, "table or view does not exist")
	}
	q := statement{name: name, text: plain(r.SQL), args: r.Args}
	rows, err := s.answerRows(ctx, q, do)
	if err != nil {
		return nil, err
	}
	s.i.stats.add(map[string]int64{"execute count": 1})
	if r.Kind == wire.Query {
		return project(q.text, rows)
	}
	return outBinds(q, rows)
}

// answerRows asks the fixture first.
func (s *session) answerRows(ctx context.Context, q statement, do handler) ([]row, error) {
	rows, found, err := s.i.fixed(q.name)
	if !found && err == nil {
		rows, err = do(ctx, s, q)
	}
	s.i.ran(q.name)
	return rows, err
}

// plain strips comments and blanks of a text.
func plain(text string) string {
	text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text, " ")
	text = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(text), " ")
}

// project gives the columns of the select list, and keeps the rows of a list
// that the text names: WHERE column IN ('a', 'b').
func project(text string, rows []row) (*wire.Response, error) {
	columns := selectList(text)
	response := &wire.Response{Columns: columns, Rows: [][]any{}}
	keep := inList(text)
	for _, r := range rows {
		if keep != nil && !keep(r) {
			continue
		}
		out := make([]any, len(columns))
		for n, name := range columns {
			v, ok := r[strings.ToLower(name)]
			if !ok {
				return nil, ora(904, "%q: invalid identifier", name)
			}
			out[n] = wire.Value(v)
		}
		response.Rows = append(response.Rows, out)
	}
	return response, nil
}

// selectList are the names of the columns of a query, in upper case as Oracle
// gives them: the alias, or the column without its table.
func selectList(text string) []string {
	upper := strings.ToUpper(text)
	start := strings.Index(upper, "SELECT ") + len("SELECT ")
	upper = strings.TrimPrefix(upper[start:], "DISTINCT ")
	var columns []string
	depth, from, quoted := 0, 0, false
	for at := 0; at < len(upper); at++ {
		switch c := upper[at]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && c == ',':
			columns, from = append(columns, columnName(upper[from:at])), at+1
		case depth == 0 && strings.HasPrefix(upper[at:], " FROM "):
			return append(columns, columnName(upper[from:at]))
		}
	}
	return append(columns, columnName(upper[from:]))
}

func columnName(item string) string {
	words := strings.Fields(item)
	last := words[len(words)-1]
	return last[strings.LastIndexByte(last, '.')+1:]
}

// inList reads one WHERE column IN ('a', 'b').
func inList(text string) func(row) bool {
	m := regexp.MustCompile(`(?i) WHERE (\w+) IN \(([^)]*)\)`).FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	wanted := map[any]bool{}
	for _, w := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(m[2], -1) {
		wanted[w[1]] = true
	}
	return func(r row) bool { return wanted[r[strings.ToLower(m[1])]] }
}

// outBinds fills the OUT binds from the one row of a call.
func outBinds(q statement, rows []row) (*wire.Response, error) {
	response := &wire.Response{Out: map[int]any{}}
	names := bindNames(q.text)
	for n, a := range q.args {
		if !a.Out {
			continue
		}
		name := strings.ToLower(a.Name)
		if name == "" && n < len(names) {
			name = names[n]
		}
		var v any
		ok := false
		if len(rows) == 1 {
			v, ok = rows[0][name]
		}
		if !ok {
			return nil, ora(1036, "unrecognized bind variable (%s) passed to the bind call", name)
		}
		response.Out[n] = wire.Value(v)
	}
	return response, nil
}

// bindNames are the binds of a text in their order, in lower case.
func bindNames(text string) []string {
	var names []string
	unquoted := regexp.MustCompile(`'[^']*'`).ReplaceAllString(text, "")
	for _, m := range regexp.MustCompile(`:(\w+)`).FindAllStringSubmatch(unquoted, -1) {
		names = append(names, strings.ToLower(m[1]))
	}
	return names
}

// int is a bind as a number.
func (q statement) int(name string) (int64, error) {
	v, ok := q.bind(name)
	if !ok {
		return 0, ora(1008, "not all variables bound")
	}
	switch v := v.(type) {
	case int64:
		return v, nil
	case float64:
		return int64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, ora(1722, "invalid number")
}

// string is a bind as text.
func (q statement) string(name string) (string, error) {
	v, ok := q.bind(name)
	if !ok {
		return "", ora(1008, "not all variables bound")
	}
	s, _ := v.(string)
	return s, nil
}

// bind finds a bind by its name in the text, or by its position.
func (q statement) bind(name string) (any, bool) {
	for n, placed := range bindNames(q.text) {
		if placed != name {
			continue
		}
		for _, a := range q.args {
			if strings.EqualFold(a.Name, name) {
				return a.Value, true
			}
		}
		if n < len(q.args) && q.args[n].Name == "" {
			return q.args[n].Value, true
		}
	}
	return nil, false
}
