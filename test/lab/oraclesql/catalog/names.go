package catalog

import (
	"slices"
	"strings"
)

// names checks every name in an expression, and the queries inside of it.
// Aliases of the select list may be used after ORDER BY only.
func (c *checker) names(list []token, s *scope, aliases map[string]bool) {
	ordering := false
	for i := 0; i < len(list); i++ {
		t := list[i]
		switch {
		case t.is("("):
			if i+1 < len(list) && list[i+1].is("SELECT", "WITH") {
				n := skip(list[i:])
				c.queries(list[i+1:i+n-1], s)
				i += n - 1
			}
		case t.is("AS"):
			i++ // an alias, not a column
		case t.is("ORDER"):
			ordering = true
		case t.kind == quoted:
			c.problem("quoted name %q: write it without quotes", t.value)
		case t.kind != word || keyword(t.value):
		case i+1 < len(list) && list[i+1].is("("): // a function
		case i+2 < len(list) && list[i+1].is("."):
			c.qualified(list[i:], s)
			i += 2
		case ordering && aliases[t.value]:
		default:
			c.column(t.value, s)
		}
	}
}

// qualified checks alias.column, and passes package.function(.
func (c *checker) qualified(list []token, s *scope) {
	if len(list) > 3 && list[3].is("(") {
		return
	}
	name := list[2].value
	for at := s; at != nil; at = at.outer {
		rel, ok := at.relations[list[0].value]
		if !ok {
			continue
		}
		if rel.columns != nil && !rel.columns[name] {
			c.problem("%s has no column %s", rel.name, name)
		}
		c.use(rel.name, name)
		return
	}
	c.problem("%s.%s: no relation has the alias %s", list[0].value, name, list[0].value)
}

// column checks a name without an alias: some relation around it must have it.
func (c *checker) column(name string, s *scope) {
	var views []string
	for at := s; at != nil; at = at.outer {
		for _, rel := range at.relations {
			if rel.columns == nil || rel.columns[name] {
				c.use(rel.name, name)
				return
			}
			views = append(views, rel.name)
		}
	}
	slices.Sort(views)
	c.problem("%s has no column %s", strings.Join(views, ", "), name)
}

// calls checks the names of arguments of Oracle's packages.
func (c *checker) calls(list []token) {
	for i := 0; i+3 < len(list); i++ {
		if list[i].kind != word || !strings.HasPrefix(list[i].value, "DBMS_") || !list[i+1].is(".") {
			continue
		}
		name := list[i].value + "." + list[i+2].value
		arguments, ok := procedures()[name]
		if !ok {
			c.problem("procedure %s is not known", name)
			continue
		}
		c.use(name)
		if list[i+3].is("(") {
			c.arguments(name, arguments, list[i+4:i+3+skip(list[i+3:])])
		}
	}
}

func (c *checker) arguments(name, known string, list []token) {
	for i := 0; i+1 < len(list); i += skip(list[i:]) {
		if list[i+1].is("=>") && !contains(known, list[i].value) {
			c.problem("%s has no argument %s", name, list[i].value)
		}
		if list[i+1].is("=>") {
			c.use(name, list[i].value)
		}
	}
}

func contains(list, name string) bool {
	return strings.Contains(" "+list+" ", " "+name+" ")
}

// keyword says whether a word is one of SQL, and no name.
func keyword(name string) bool {
	return contains("ALL AND AS ASC BETWEEN BY CASE CONNECT CROSS DATE DAY DESC DISTINCT ELSE END ESCAPE EXISTS FETCH FIRST "+
		"FOR FROM FULL GROUP HAVING IN INNER INTERSECT INTERVAL IS JOIN LAST LEFT LEVEL LIKE MINUS NEXT NOT NULL NULLS "+
		"OFFSET ON ONLY OR ORDER OUTER OVER PARTITION PRIOR RIGHT ROW ROWNUM ROWS SECOND SELECT START SYSDATE SYSTIMESTAMP "+
		"THEN TIMESTAMP TO UNION UPDATE USER WHEN WHERE WITH", name)
}
