package slobconf

import (
	"regexp"
	"slices"
	"strings"
)

// reader goes through a shell script and notes what it certainly sets. It knows the grammar
// of the shell as far as needed to tell where a command begins and ends, and whether it is
// executed in any case. Whatever else may set a name makes the name unread.
type reader struct {
	lexer
	conf *Conf

	open      []block // those in which the reader is
	joined    string  // the operator, such as &&, between the last command and the next
	uncertain bool    // nothing below is certain to be executed
	functions map[string]bool
	fixed     map[string]bool // names that an assignment does not simply set, such as readonly ones
}

// block is what stands between two words, such as if and fi.
type block struct {
	end  string // the closing word
	line int    // of the opening word
}

// read goes through the whole script.
func (r *reader) read() {
	for t := r.next(); t.kind != kindEnd; t = r.next() {
		r.command(t)
		for _, line := range r.inDocuments {
			if name := assignment.FindStringSubmatch(strings.TrimSpace(line.raw)); name != nil {
				r.unread(name[1], line.line)
			}
		}
		r.inDocuments = nil
	}
	if len(r.open) > 0 {
		r.lose(r.open[0].line)
	}
	if r.broken > 0 {
		r.lose(r.broken)
	}
}

// enter begins a block.
func (r *reader) enter(end string, line int) {
	r.open = append(r.open, block{end, line})
	r.skip(line)
}

// lose takes nothing for certain any more: the script, or the reader, is wrong at this line.
func (r *reader) lose(line int) {
	r.forget(line)
	r.uncertain = true
}

// forget notes that this line may set any name.
func (r *reader) forget(line int) {
	clear(r.conf.values)
	clear(r.conf.unread)
	r.conf.anything = line
	r.skip(line)
}

// unread notes that this line may set the name, to what is not known.
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

// command reads what stands where a command may begin.
func (r *reader) command(t token) {
	if t.kind == kindOperator {
		r.operator(t)
		return
	}
	closers := map[string]string{"if": "fi", "while": "done", "until": "done", "{": "}"}
	switch word := t.raw; word {
	case "if", "while", "until", "{":
		r.enter(closers[word], t.line)
	case "for", "select":
		r.loop(t.line)
	case "case":
		r.enter("esac", t.line)
		for t := r.next(); t.kind != kindEnd && t.raw != "in"; t = r.next() {
			r.expansions(t)
		}
		r.patterns()
	case "then", "else", "elif", "do", "!", "time":
	case "fi", "done", "esac", "}":
		r.closed(t)
	case "function":
		r.functions[r.next().raw] = true
		r.skip(t.line)
	case "[[":
		from := t.line
		for ; t.kind != kindEnd && t.raw != "]]"; t = r.next() {
			r.expansions(t)
		}
		r.skip(from)
		if t.kind == kindEnd {
			r.lose(from)
		}
	default:
		r.simple(t)
	}
}

// operator reads one that stands where a command may begin, such as behind a block.
func (r *reader) operator(t token) {
	switch t.raw {
	case "\n": // behind && a command goes on
	case ";", "&":
		r.joined = ""
	case "(":
		if strings.HasPrefix(r.text[r.at:], "(") {
			r.skip(t.line)
			r.computation(t.line)
			return
		}
		r.enter(")", t.line)
	case ")":
		r.closed(t)
	case ";;", ";&", ";;&":
		if len(r.open) == 0 || r.open[len(r.open)-1].end != "esac" {
			r.lose(t.line)
			return
		}
		r.patterns()
	default:
		r.joined = t.raw
	}
}

// closed ends the innermost block.
func (r *reader) closed(t token) {
	r.skip(t.line)
	last := len(r.open) - 1
	if last < 0 || r.open[last].end != t.raw {
		r.lose(t.line)
		return
	}
	r.open = r.open[:last]
}

// loop reads the head of a for, up to its do.
func (r *reader) loop(line int) {
	r.enter("done", line)
	t := r.next()
	if t.raw == "(" {
		r.computation(line)
	} else {
		r.unread(t.raw, line)
	}
	for ; t.kind != kindEnd && t.raw != ";" && t.raw != "\n" && t.raw != "do"; t = r.next() {
		r.expansions(t)
	}
}

// patterns reads those of a branch of a case, or its end.
func (r *reader) patterns() {
	t := r.next()
	for t.raw == "\n" {
		t = r.next()
	}
	if t.raw == "esac" {
		r.closed(t)
		return
	}
	for t.kind != kindEnd && t.raw != ")" {
		t = r.next()
	}
}

// simple reads a command of one line, which may consist of assignments alone.
func (r *reader) simple(t token) {
	var words []token
	pure, joined := true, r.joined
	for ; t.kind != kindOperator && t.kind != kindEnd; t = r.next() {
		if t.kind == kindRedirection {
			pure = false
			continue
		}
		words = append(words, t)
	}
	r.joined = ""
	switch t.raw {
	case "&&", "||", "|", "|&":
		r.joined = t.raw
	case ")", ";;", ";&", ";;&":
		r.back = &t
	case "(":
		if end := r.next(); len(words) != 1 || end.raw != ")" {
			r.lose(t.line)
			return
		}
		r.functions[words[0].raw] = true
		r.skip(t.line)
		return
	}
	alone := t.raw == "&&" || t.raw == "||" || t.raw == ";" || t.raw == "\n" || t.kind == kindEnd
	r.effect(words, pure && alone && joined == "" && len(r.open) == 0 && !r.uncertain)
}

// effect notes what a simple command sets. It is certain where the command is executed in any
// case, and by this shell.
func (r *reader) effect(words []token, certain bool) {
	for _, w := range words {
		r.expansions(w)
	}
	n := 0
	for n < len(words) && assignment.MatchString(words[n].raw) {
		n++
	}
	for _, w := range words[:n] { // before a command they are for it alone
		r.assign(w, certain && n == len(words))
	}
	if n == len(words) {
		return
	}
	rest, name := words[n:], words[n].value
	switch {
	case slices.Contains([]string{"export", "declare", "typeset", "readonly"}, name):
		r.declare(rest, certain && n == 0)
		return
	case slices.Contains([]string{
		"read", "unset", "let", "getopts", "printf", "mapfile", "readarray", "local", "command", "builtin",
	}, name):
		for _, w := range rest[1:] {
			for _, m := range regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`).FindAllString(w.raw, -1) {
				r.unread(m, w.line)
			}
		}
	case slices.Contains([]string{".", "source", "eval", "trap", "alias"}, name), r.functions[name], !rest[0].plain:
		r.forget(rest[0].line)
	case slices.Contains([]string{"exit", "return", "exec"}, name):
		r.uncertain = true
	}
	r.skip(rest[0].line)
}

// declare reads export NAME=VALUE and its like.
func (r *reader) declare(words []token, certain bool) {
	fix, changes := words[0].value == "readonly", false
	for _, w := range words[1:] {
		if option, is := strings.CutPrefix(w.value, "-"); is || strings.HasPrefix(w.value, "+") {
			fix = fix || strings.Contains(option, "r")
			if !is || strings.Trim(option, "xrg") != "" { // -i computes, -u changes
				fix, changes = true, true
			}
			continue
		}
		name := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`).FindString(w.raw)
		switch {
		case assignment.MatchString(w.raw):
			r.assign(w, certain && !changes && !strings.ContainsAny(w.value, "*?[{")) // which are words of a command here
		case changes:
			r.unread(name, w.line)
		}
		if fix {
			r.fixed[name] = true
		}
	}
}

// assignment is the beginning of one.
var assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?\+?=`)

func (r *reader) assign(w token, certain bool) {
	m := assignment.FindStringSubmatch(w.raw)
	value, simple := strings.CutPrefix(w.value, m[1]+"=")
	if !certain || !w.plain || !simple || r.fixed[m[1]] {
		r.unread(m[1], w.line)
		return
	}
	delete(r.conf.unread, m[1])
	r.conf.values[m[1]] = value
}

// expansions notes what the shell sets while it computes a word.
func (r *reader) expansions(w token) {
	if w.plain {
		return
	}
	for _, m := range regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):?=`).FindAllStringSubmatch(w.raw, -1) {
		r.unread(m[1], w.line)
	}
	if strings.Contains(w.raw, "$((") {
		r.arithmetic(w.raw, w.line)
	}
}

// computation reads the ((...)) that has begun.
func (r *reader) computation(line int) {
	text := r.parentheses()
	r.line += strings.Count(text, "\n")
	r.arithmetic(text, line)
}

// arithmetic notes what a computation sets: X=1, X += 1, X++, --X.
func (r *reader) arithmetic(text string, line int) {
	sets := regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=[^=])|(?:\+\+|--)\s*([A-Za-z_][A-Za-z0-9_]*)`)
	first := true
	for _, m := range sets.FindAllStringSubmatch(text, -1) {
		if first = first && strings.HasPrefix(text, m[1]+"="); first && m[1] != "" {
			continue // the assignment whose value this is
		}
		r.unread(m[1]+m[2], line)
	}
}
