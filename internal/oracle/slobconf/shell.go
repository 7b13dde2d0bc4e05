package slobconf

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// reader reads a shell script and records assignments that certainly take effect. Anything else that may set a name
// makes the name unread.
type reader struct {
	conf *Conf
	text string

	known      map[string]bool // the parameters of SLOB
	functions  map[string]bool
	inFunction bool
}

// note matches a line of a guide that is not shell, such as <change the next line>.
var note = regexp.MustCompile(`(?m)^[ \t]*<[^<>\n]*>[ \t]*$`)

// read reads the whole script.
func (r *reader) read() {
	for _, at := range note.FindAllStringIndex(r.text, -1) {
		n := 1 + strings.Count(r.text[:at[0]], "\n")
		r.skip(n)
		r.mention(r.text[at[0]:at[1]], n)
	}
	r.text = note.ReplaceAllString(r.text, "")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(r.text), "")
	if err != nil { // shells differ in how they handle the rest
		r.conf.broken = lineOfError(err)
		r.forget(r.conf.broken)
		return
	}
	for _, s := range file.Stmts {
		r.statement(s, true)
	}
}

func lineOfError(err error) int {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return line(e.Pos)
	}
	if e, ok := errors.AsType[syntax.LangError](err); ok {
		return line(e.Pos)
	}
	return 1
}

// line returns the line of a position. The parser counts from 1.
func line(p syntax.Pos) int { return max(1, int(p.Line())) } //nolint:gosec // of a file of maxBytes

// forget records that this line may set any name.
func (r *reader) forget(line int) {
	clear(r.conf.values)
	clear(r.conf.unread)
	r.conf.anything = line
	r.skip(line)
}

// unread records that this line may set the name to an unknown value.
func (r *reader) unread(name string, line int) {
	delete(r.conf.values, name)
	r.conf.unread[name] = line
	r.skip(line)
}

func (r *reader) skip(line int) {
	if !slices.Contains(r.conf.skipped, line) {
		r.conf.skipped = append(r.conf.skipped, line)
	}
}

// mention records the parameters in a text. The reader does not read the text from this line on.
func (r *reader) mention(text string, line int) {
	for _, at := range identifier.FindAllStringIndex(text, -1) {
		if name := strings.ToUpper(text[at[0]:at[1]]); r.known[name] {
			r.conf.named[name] = line + strings.Count(text[:at[0]], "\n")
		}
	}
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// statement reads a command. The command is certain if this shell executes it unconditionally.
func (r *reader) statement(s *syntax.Stmt, certain bool) {
	certain = certain && r.conf.ends == 0 && !s.Background && !s.Coprocess && len(s.Redirs) == 0
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			r.statement(c.X, certain)
			r.statement(c.Y, false)
			return
		}
	case *syntax.CallExpr:
		if certain && len(c.Args) == 0 {
			r.assignAll(c.Assigns)
			return
		}
	case *syntax.DeclClause:
		if certain && c.Variant.Value != "local" { // local fails outside of functions
			r.declare(c)
			return
		}
	}
	for n := line(s.Pos()); n <= line(s.End()); n++ {
		r.skip(n)
	}
	r.mayRun(s)
}

func (r *reader) assignAll(all []*syntax.Assign) {
	for _, a := range all {
		r.assign(a, "")
	}
}

// assign reads an assignment that the shell executes unconditionally. A value with one of the characters of patterns
// is unknown.
func (r *reader) assign(a *syntax.Assign, patterns string) {
	value, plain := literal(a.Value)
	plain = plain && !a.Append && a.Index == nil && a.Array == nil && !strings.ContainsAny(value, patterns)
	if !plain || r.conf.references > 0 || r.conf.fixed[a.Name.Value] > 0 {
		r.mayRun(a)
		return
	}
	if !r.known[a.Name.Value] {
		r.mention(a.Name.Value, line(a.Pos())) // scale=80G
	}
	delete(r.conf.unread, a.Name.Value)
	r.conf.values[a.Name.Value] = value
}

// escaped matches a character behind a backslash.
var escaped = regexp.MustCompile(`(?s)\\(.)`)

// literal returns the value of a word without expansions. It is not plain if it has unprintable characters. A nil
// word is empty.
func literal(w *syntax.Word) (value string, plain bool) {
	if w == nil {
		return "", true
	}
	for _, p := range w.Parts {
		if computed(p) {
			return "", false
		}
		if lit, is := p.(*syntax.Lit); is {
			value += escaped.ReplaceAllString(lit.Value, "$1")
			continue
		}
		quoted, err := expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{p}})
		if err != nil {
			return "", false
		}
		value += quoted
	}
	unprintable := func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }
	return value, !strings.ContainsFunc(value, unprintable)
}

// computed reports whether the value of a part of a word depends on more than its text.
func computed(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return strings.HasPrefix(p.Value, "~")
	case *syntax.SglQuoted:
		return p.Dollar
	case *syntax.DblQuoted:
		return p.Dollar || slices.ContainsFunc(p.Parts, computed)
	}
	return true
}

// declare reads export NAME=VALUE and similar commands. Some shells expand file name patterns in their values.
func (r *reader) declare(c *syntax.DeclClause) {
	r.arguments(c)
	fix, changes := c.Variant.Value == "readonly", false
	for _, a := range c.Args {
		if a.Name != nil {
			continue
		}
		option, plain := literal(a.Value)
		if letters, is := strings.CutPrefix(option, "-"); !plain || !is || strings.Trim(letters, "xrg") != "" { // -i computes
			fix, changes = true, true
		} else {
			fix = fix || strings.Contains(letters, "r")
		}
	}
	for _, a := range c.Args {
		switch {
		case a.Name == nil:
			r.mayRun(a)
			continue
		case changes:
			r.mayRun(a)
		case !a.Naked:
			r.assign(a, "*?[{")
		}
		if fix {
			r.conf.fixed[a.Name.Value] = line(a.Pos())
		}
	}
}

// arguments records names that the words of a declaration other than assignments may set.
func (r *reader) arguments(c *syntax.DeclClause) {
	for _, a := range c.Args {
		if a.Name == nil {
			r.argument(c.Variant.Value, a.Value)
		}
	}
}

// argument records the names that a word of a command that sets names may set: any name, if the shell computes the
// word. With -n a name becomes a reference to another name, which any later line may set through it. A computed word
// may be -n, or -r with any name.
func (r *reader) argument(command string, w *syntax.Word) {
	declares := slices.Contains([]string{"declare", "typeset", "readonly", "local"}, command)
	text, plain := literal(w)
	option := strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+")
	all := option && (declares && strings.Contains(text, "n") || !declares && len(text) > 2) // -vSCALE
	switch {
	case !plain || all || strings.ContainsAny(text, "*?[{"):
		r.forget(line(w.Pos()))
		if declares {
			r.conf.references = cmp.Or(r.conf.references, line(w.Pos()))
		}
	case !option:
		r.names(text, line(w.Pos()), declares)
	}
}

// mayRun records the names that a piece of the script may set if the shell executes it.
func (r *reader) mayRun(piece syntax.Node) {
	var param *syntax.Lit // of an expansion; it sets nothing
	syntax.Walk(piece, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				r.unread(n.Name.Value, line(n.Pos()))
			}
		case *syntax.FuncDecl:
			r.functions[n.Name.Value] = true
			was := r.inFunction
			r.inFunction = true
			r.mayRun(n.Body)
			r.inFunction = was
			return false
		case *syntax.DeclClause:
			r.arguments(n)
			r.mayFix(n)
		case *syntax.Lit:
			if n != param {
				r.mention(n.Value, line(n.Pos()))
			}
		case *syntax.SglQuoted:
			r.mention(n.Value, line(n.Pos()))
		case *syntax.CallExpr:
			r.call(n)
		case *syntax.WordIter:
			r.unread(n.Name.Value, line(n.Pos()))
		case *syntax.ParamExp:
			param = n.Param
			r.expansion(n)
		case *syntax.BinaryArithm, *syntax.UnaryArithm: // X=1, X += 1, X++
			r.names(r.text[n.Pos().Offset():n.End().Offset()], line(n.Pos()), false)
		case *syntax.LetClause:
			r.expressions(n)
		case *syntax.Redirect:
			r.redirection(n)
		}
		return true
	})
}

// expansion records the names that ${X:=1} sets, and ${!X:=1}, which sets the name in X.
func (r *reader) expansion(p *syntax.ParamExp) {
	if p.Exp == nil || p.Exp.Op != syntax.AssignUnset && p.Exp.Op != syntax.AssignUnsetOrNull {
		return
	}
	r.unread(p.Param.Value, line(p.Pos()))
	if p.Excl {
		r.forget(line(p.Pos()))
	}
}

// expressions records the names that the words of let set; mayRun handles its other expressions.
func (r *reader) expressions(l *syntax.LetClause) {
	for _, e := range l.Exprs {
		if w, is := e.(*syntax.Word); is {
			r.argument("let", w)
		}
	}
}

// mayFix records the names for which a declaration may change the effect of an assignment.
func (r *reader) mayFix(c *syntax.DeclClause) {
	fix := c.Variant.Value == "readonly" || slices.ContainsFunc(c.Args, func(a *syntax.Assign) bool {
		option, plain := literal(a.Value)
		return a.Name == nil && (!plain || strings.Trim(option, "-xg") != "")
	})
	for _, a := range c.Args {
		if fix && a.Name != nil {
			r.conf.fixed[a.Name.Value] = line(a.Pos())
		}
	}
}

// call records the names that a command other than an assignment sets.
func (r *reader) call(c *syntax.CallExpr) {
	args := c.Args
	name, plain := "", true
	for len(args) > 0 { // command -p eval ...
		name, plain = literal(args[0])
		if name == "-v" || name == "-V" { // executes nothing
			return
		}
		if name != "command" && name != "builtin" && !strings.HasPrefix(name, "-") {
			break
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	switch {
	case slices.Contains([]string{".", "source", "eval", "trap", "alias"}, name), r.functions[name], !plain && name == "":
		r.forget(line(c.Args[0].Pos()))
	case name == "return" && !r.inFunction: // exit ends SLOB, too
		r.conf.ends = line(c.Args[0].Pos())
	case name == "printf" && prints(args[1:]):
	case slices.Contains([]string{
		"export", "declare", "typeset", "readonly", "local", "unset",
		"read", "let", "getopts", "printf", "mapfile", "readarray", "wait",
	}, name):
		for _, w := range args[1:] {
			r.argument(name, w)
		}
	}
}

// prints reports whether printf has no option, so that it sets nothing.
func prints(args []*syntax.Word) bool {
	if len(args) == 0 {
		return true
	}
	format, plain := literal(args[0])
	_, quoted := args[0].Parts[0].(*syntax.DblQuoted)
	return plain && !strings.HasPrefix(format, "-") || quoted && len(args) == 1 && len(args[0].Parts) == 1
}

// names makes each name in a text unread, and with fix records that its value may be fixed.
func (r *reader) names(text string, line int, fix bool) {
	for _, name := range identifier.FindAllString(text, -1) {
		r.unread(name, line)
		if fix {
			r.conf.fixed[name] = line
		}
	}
}

// redirection records the names that a redirection sets, and the assignments in a here-document, which may become a
// script.
func (r *reader) redirection(d *syntax.Redirect) {
	if d.N != nil { // {X}>file
		r.names(d.N.Value, line(d.Pos()), false)
	}
	if d.Hdoc == nil {
		return
	}
	assignment := regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\+?=`)
	text := r.text[d.Hdoc.Pos().Offset():d.Hdoc.End().Offset()]
	for n, of := range strings.Split(text, "\n") {
		if m := assignment.FindStringSubmatch(of); m != nil {
			r.unread(m[1], line(d.Hdoc.Pos())+n)
		}
	}
}
