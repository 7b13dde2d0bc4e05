package supervise

import (
	"errors"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const maxScript = 256 << 10

// checkSu refuses an image whose start calls su or its like where that cannot work: su asks for a password then,
// and a creation of minutes ends without a database.
func (o Options) checkSu() error {
	scripts, _ := filepath.Glob(filepath.Join(o.base(), "*.sh*")) // none with a bad pattern
	scripts = append(scripts, o.startCommand()[0])
	slices.Sort(scripts)
	for _, script := range slices.Compact(scripts) {
		text, err := readPlain(script, maxScript)
		if err != nil {
			continue // a link to a program, or gone
		}
		for _, call := range suCalls(string(text), o.imageSID()) {
			switch {
			case forRoot(call):
				return oracle.Failf(runfile.FailureUnsupported, "the image is made to run as root: %s calls %q, and the "+
					"container runs as the user oracle (54321): use a newer image of Oracle Express or Free", script, clip(call))
			case o.noNewPrivileges():
				return oracle.Failf(runfile.FailureDatabaseNotReady, "the start of the image calls %q in %s, and the container "+
					"runs with allowPrivilegeEscalation: false, with which that fails: set database.container.edition to that of the "+
					"image, or let the namespace admit privilege escalation", clip(call), script)
			}
		}
	}
	return nil
}

// forRoot says whether only root can make a call without a password: it runs a program as another user.
func forRoot(call string) bool {
	return regexp.MustCompile(`^(?:\S*/)?(?:runuser\b|su\s(?:-\S*\s+)*oracle\b)`).MatchString(call)
}

// suCalls are the calls of programs of setuid root in a script that an image with this SID executes. Scripts that
// several editions share make them only for one SID.
func suCalls(text, sid string) []string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil { // a script that ends in a here-document, or a program
		at := regexp.MustCompile("(?m)(?:^|[;&|(){}`]|\\b(?:then|else|do)\\b)[ \\t]*((?:su|sudo|runuser)[ \\t].*)$")
		var calls []string
		for _, m := range at.FindAllStringSubmatch(text, -1) {
			calls = append(calls, m[1])
		}
		return calls
	}
	s := script{text: text, known: &expand.Config{
		Env:      expand.ListEnviron("ORACLE_SID="+sid, "UID=54321", "EUID=54321"),
		NoUnset:  true,
		CmdSubst: userID,
	}}
	s.look(file)
	return s.calls
}

// userID answers id -u, and no other command.
func userID(w io.Writer, c *syntax.CmdSubst) error {
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, c); err != nil || strings.Trim(text.String(), "$()` ") != "id -u" {
		return errors.Join(err, errors.New("not known"))
	}
	_, err := io.WriteString(w, "54321")
	return err
}

// script looks for calls in what is executed where only a few variables are known.
type script struct {
	text  string
	known *expand.Config
	calls []string
}

func (s *script) look(piece syntax.Node) {
	syntax.Walk(piece, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IfClause:
			s.choose(n)
			return false
		case *syntax.BinaryCmd:
			skipped := map[syntax.BinCmdOperator]answer{syntax.AndStmt: no, syntax.OrStmt: yes}[n.Op]
			s.look(n.X)
			if skipped == unknown || s.holds(n.X) != skipped {
				s.look(n.Y)
			}
			return false
		case *syntax.CallExpr:
			s.call(n)
		}
		return true
	})
}

// choose looks into the branches that may be executed.
func (s *script) choose(c *syntax.IfClause) {
	holds := yes // else
	for _, cond := range c.Cond {
		s.look(cond)
		holds = s.holds(cond)
	}
	if holds != no {
		for _, then := range c.Then {
			s.look(then)
		}
	}
	if holds != yes && c.Else != nil {
		s.choose(c.Else)
	}
}

// call notes a call of su or its like, also behind a command that runs another one.
func (s *script) call(c *syntax.CallExpr) {
	wrappers := []string{"exec", "command", "env", "nohup", "time", "timeout", "nice", "setsid"}
	for n, w := range c.Args {
		switch name := path.Base(w.Lit()); {
		case slices.Contains([]string{"su", "sudo", "runuser"}, name):
			s.calls = append(s.calls, s.text[w.Pos().Offset():c.End().Offset()])
			return
		case n == 0 && !slices.Contains(wrappers, name), name == "-v", name == "-V":
			return
		}
	}
}

// answer is what is known of a condition.
type answer int

const (
	unknown answer = iota
	yes
	no
)

func (a answer) not() answer { return [...]answer{unknown: unknown, yes: no, no: yes}[a] }

func is(equal bool) answer {
	if equal {
		return yes
	}
	return no
}

// holds says whether a condition holds.
func (s *script) holds(cond *syntax.Stmt) (a answer) {
	switch c := cond.Cmd.(type) {
	case *syntax.CallExpr:
		a = s.bracket(c.Args)
	case *syntax.TestClause:
		a = s.test(c.X)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			a = and(s.holds(c.X), s.holds(c.Y))
		case syntax.OrStmt:
			a = and(s.holds(c.X).not(), s.holds(c.Y).not()).not()
		case syntax.Pipe, syntax.PipeAll: // unknown
		}
	}
	if cond.Negated {
		return a.not()
	}
	return a
}

// bracket is holds for the words of [ or test.
func (s *script) bracket(args []*syntax.Word) answer {
	if n := len(args); n > 0 && args[0].Lit() == "[" && args[n-1].Lit() == "]" {
		args = args[1 : n-1]
	} else if n > 0 && args[0].Lit() == "test" {
		args = args[1:]
	}
	switch {
	case len(args) == 4 && args[0].Lit() == "!":
		return s.compare(args[2].Lit(), args[1], args[3]).not()
	case len(args) == 3:
		return s.compare(args[1].Lit(), args[0], args[2])
	}
	return unknown
}

func and(a, b answer) answer {
	switch {
	case a == no || b == no:
		return no
	case a == yes && b == yes:
		return yes
	}
	return unknown
}

// test is holds for an expression between [[ and ]].
func (s *script) test(x syntax.TestExpr) answer {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return s.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return s.test(x.X).not()
		}
	case *syntax.BinaryTest:
		left, ok1 := x.X.(*syntax.Word)
		right, ok2 := x.Y.(*syntax.Word)
		switch {
		case ok1 && ok2:
			return s.compare(x.Op.String(), left, right)
		case x.Op == syntax.AndTest:
			return and(s.test(x.X), s.test(x.Y))
		case x.Op == syntax.OrTest:
			return and(s.test(x.X).not(), s.test(x.Y).not()).not()
		}
	}
	return unknown
}

// compare compares two words whose values are known.
func (s *script) compare(operator string, left, right *syntax.Word) answer {
	a, err1 := expand.Literal(s.known, left)
	b, err2 := expand.Literal(s.known, right)
	if err1 != nil || err2 != nil || strings.ContainsAny(b, "*?[") {
		return unknown
	}
	switch operator {
	case "=", "==", "-eq":
		return is(a == b)
	case "!=", "-ne":
		return is(a != b)
	}
	return unknown
}
