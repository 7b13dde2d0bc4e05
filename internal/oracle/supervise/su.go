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
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

const maxScript = 256 << 10

// checkSu refuses an image whose start calls su or a similar program that cannot work: su would ask for a password,
// and a creation of several minutes would end without a database.
func (o Options) checkSu() error {
	scripts, _ := filepath.Glob(filepath.Join(o.base(), "*.sh*")) // none with a bad pattern
	scripts = append(scripts, o.startCommand()[0])
	slices.Sort(scripts)
	for _, script := range slices.Compact(scripts) {
		text, err := shareddir.ReadStart(filepath.Dir(script), filepath.Base(script), maxScript)
		if err != nil {
			continue // a link to a program, or gone
		}
		for _, c := range suCalls(string(text), o.imageSID()) {
			call := c.text
			switch {
			case forRoot(call) && !c.certain: // may run as root only
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

// forRoot reports whether only root can make a call without a password, because it runs a program as another user.
func forRoot(call string) bool {
	return regexp.MustCompile(`^(?:\S*/)?(?:runuser\b|su\s(?:-\S*\s+)*oracle\b)`).MatchString(call)
}

// suCall is a call of a setuid root program. It is certain if only known conditions control it.
type suCall struct {
	text    string
	certain bool
}

// suCalls returns the calls that an image with this SID may execute in a script. Scripts that several editions share
// make some calls only for one SID.
func suCalls(text, sid string) []suCall {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil { // a script that ends in a here-document, or a program
		at := regexp.MustCompile("(?m)(?:^|[;&|(){}`]|\\b(?:then|else|do)\\b)[ \\t]*((?:su|sudo|runuser)[ \\t].*)$")
		var calls []suCall
		for _, m := range at.FindAllStringSubmatch(text, -1) {
			calls = append(calls, suCall{text: m[1]})
		}
		return calls
	}
	s := script{text: text, sure: yes, known: &expand.Config{
		Env:       expand.ListEnviron("ORACLE_SID="+sid, "UID=54321", "EUID=54321"),
		NoUnset:   true,
		CmdSubst:  userID,
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", errors.New("not known") },
	}}
	s.look(file, yes)
	return s.calls
}

// userID answers the commands that print the current user, and no others.
func userID(w io.Writer, c *syntax.CmdSubst) error {
	var text strings.Builder
	err := syntax.NewPrinter().Print(&text, c)
	name := strings.Trim(text.String(), "$()` ")
	user := map[string]string{"id -u": "54321", "id -un": "oracle", "whoami": "oracle"}[name]
	if err != nil || user == "" {
		return errors.Join(err, errors.New("not known"))
	}
	_, err = io.WriteString(w, user)
	return err
}

// answer is the result of a condition: min is "and", max is "or", and - is "not".
type answer int

const (
	no answer = iota - 1
	unknown
	yes
)

// script looks for calls in the executed parts of a script. Only a few variables are known.
type script struct {
	text  string
	known *expand.Config
	sure  answer // whether the current piece is executed
	ended bool   // by exit or exec, in any case
	calls []suCall
}

// look looks for calls in a piece that is executed if a condition holds.
func (s *script) look(piece syntax.Node, holds answer) {
	if holds == no {
		return
	}
	before := s.sure
	s.sure = min(s.sure, holds)
	syntax.Walk(piece, func(n syntax.Node) bool {
		if s.ended {
			return false
		}
		switch n := n.(type) {
		case *syntax.IfClause:
			s.choose(n)
		case *syntax.CaseClause:
			s.match(n)
		case *syntax.WhileClause:
			s.all(n.Cond, yes)
			s.all(n.Do, unknown)
		case *syntax.ForClause:
			s.look(n.Loop, yes)
			s.all(n.Do, unknown)
		case *syntax.FuncDecl:
			s.look(n.Body, unknown)
		case *syntax.Subshell:
			s.apart(n.Stmts)
		case *syntax.CmdSubst:
			s.apart(n.Stmts)
		case *syntax.ProcSubst:
			s.apart(n.Stmts)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				s.apart([]*syntax.Stmt{n.X})
				s.apart([]*syntax.Stmt{n.Y})
				return false
			}
			s.look(n.X, yes)
			s.look(n.Y, map[syntax.BinCmdOperator]answer{
				syntax.AndStmt: s.holds(n.X), syntax.OrStmt: -s.holds(n.X),
			}[n.Op])
		case *syntax.CallExpr:
			s.call(n)
			return true
		default:
			return true
		}
		return false
	})
	s.sure = before
}

// choose looks for calls in the branches of an if.
func (s *script) choose(n *syntax.IfClause) {
	for c, reached := n, yes; c != nil; c = c.Else {
		then := s.all(c.Cond, reached)
		if len(c.Cond) == 0 {
			then = yes // else
		}
		s.all(c.Then, min(reached, then))
		reached = min(reached, -then)
	}
}

// match looks for calls in the branches of a case.
func (s *script) match(n *syntax.CaseClause) {
	s.look(n.Word, yes)
	reached := yes
	for _, item := range n.Items {
		hit := no
		for _, p := range item.Patterns {
			hit = max(hit, s.compare("=", n.Word, p))
		}
		s.all(item.Stmts, min(reached, hit))
		reached = min(reached, -hit)
	}
}

// all looks for calls in statements, and returns whether the last one succeeds.
func (s *script) all(stmts []*syntax.Stmt, reached answer) (last answer) {
	for _, stmt := range stmts {
		s.look(stmt, reached)
		last = s.holds(stmt)
	}
	return last
}

// apart looks for calls in a subshell, whose end does not end the script.
func (s *script) apart(stmts []*syntax.Stmt) {
	before := s.ended
	s.all(stmts, yes)
	s.ended = before
}

// call records a call of su or a similar program, also behind a command that runs another one, and the end of the
// script.
func (s *script) call(c *syntax.CallExpr) {
	wrappers := []string{"exec", "command", "env", "nohup", "time", "timeout", "nice", "setsid", "xargs"}
	for n, w := range c.Args {
		word, _ := expand.Literal(s.known, w) // empty where it is not known
		word = strings.TrimPrefix(word, `\`)
		switch name := path.Base(word); {
		case slices.Contains([]string{"su", "sudo", "runuser"}, name):
			s.calls = append(s.calls, suCall{word + s.text[w.End().Offset():c.End().Offset()], s.sure == yes})
			return
		case n == 0 && !slices.Contains(wrappers, name), name == "-v", name == "-V":
			s.ended = s.ended || name == "exit" && s.sure == yes
			return
		}
	}
	if len(c.Args) > 1 && c.Args[0].Lit() == "exec" && s.sure == yes {
		s.ended = true
	}
}

// holds returns whether a condition holds.
func (s *script) holds(cond *syntax.Stmt) (a answer) {
	switch c := cond.Cmd.(type) {
	case *syntax.CallExpr:
		a = s.bracket(c.Args)
	case *syntax.TestClause:
		a = s.test(c.X)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			a = min(s.holds(c.X), s.holds(c.Y))
		case syntax.OrStmt:
			a = max(s.holds(c.X), s.holds(c.Y))
		case syntax.Pipe, syntax.PipeAll: // unknown
		}
	}
	if cond.Negated {
		return -a
	}
	return a
}

// bracket evaluates the words of [ or test, joined by -a at most.
func (s *script) bracket(args []*syntax.Word) answer {
	if len(args) == 0 || args[0].Lit() != "[" && args[0].Lit() != "test" {
		return unknown
	}
	and := slices.IndexFunc(args, func(w *syntax.Word) bool { return w.Lit() == "-a" })
	or := slices.ContainsFunc(args, func(w *syntax.Word) bool { return w.Lit() == "-o" })
	if n := len(args) - 1; args[n].Lit() == "]" {
		args = args[:n]
	}
	switch {
	case and > 0 && !or:
		return min(s.bracket(args[:and]), s.bracket(append(args[:1:1], args[and+1:]...)))
	case len(args) == 5 && args[1].Lit() == "!":
		return -s.compare(args[3].Lit(), args[2], args[4])
	case len(args) == 4:
		return s.compare(args[2].Lit(), args[1], args[3])
	}
	return unknown
}

// test evaluates an expression between [[ and ]].
func (s *script) test(x syntax.TestExpr) answer {
	switch x := x.(type) {
	case *syntax.ParenTest:
		return s.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return -s.test(x.X)
		}
	case *syntax.BinaryTest:
		left, ok1 := x.X.(*syntax.Word)
		right, ok2 := x.Y.(*syntax.Word)
		switch {
		case ok1 && ok2:
			return s.compare(x.Op.String(), left, right)
		case x.Op == syntax.AndTest:
			return min(s.test(x.X), s.test(x.Y))
		case x.Op == syntax.OrTest:
			return max(s.test(x.X), s.test(x.Y))
		}
	}
	return unknown
}

// compare compares two words whose values are known.
func (s *script) compare(operator string, left, right *syntax.Word) (a answer) {
	x, err1 := expand.Literal(s.known, left)
	y, err2 := expand.Literal(s.known, right)
	switch {
	case right.Lit() == "*":
		a = yes
	case err1 != nil || err2 != nil || strings.ContainsAny(y, "*?["):
		return unknown
	case x == y:
		a = yes
	default:
		a = no
	}
	switch operator {
	case "=", "==", "-eq":
		return a
	case "!=", "-ne":
		return -a
	}
	return unknown
}
