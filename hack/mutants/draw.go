package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// areas are the folders that random mutants are drawn from.
func areas() []string {
	return []string{
		"controllers", "internal/collect", "internal/compare", "internal/judge", "internal/loadgen", "internal/manifest",
		"internal/nfs", "internal/oracle", "internal/oranfstab", "internal/plan", "internal/storage",
	}
}

// isTestCode reports whether only tests import a package.
func isTestCode(path string) bool {
	return slices.ContainsFunc([]string{"/nfstest/", "/targettest/", "/storagetest/", "/target/mem/"}, func(part string) bool {
		return strings.Contains(path, part)
	})
}

// edit is one change of one place in a file.
type edit struct {
	file     string
	line     int
	from, to int // bytes
	text     string
	kind     string
}

// draw chooses n mutants of all that can be made of single tokens of the shipped
// code. The same code and seed give the same mutants.
func draw(root string, n int, seed uint64) ([]mutant, error) {
	all, err := allEdits(root)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample, no secret
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var drawn []mutant
	names := map[string]bool{} // of file and line, so a line is drawn once
	for _, e := range all {
		if len(drawn) == n {
			break
		}
		m, err := e.mutant(root, fmt.Sprintf("random-%d", seed))
		if err != nil {
			return nil, err
		}
		if !names[m.name] {
			names[m.name] = true
			drawn = append(drawn, m)
		}
	}
	return drawn, nil
}

// allEdits finds the edits of all files of the areas.
func allEdits(root string) ([]edit, error) {
	var all []edit
	for _, area := range areas() {
		err := filepath.WalkDir(filepath.Join(root, area), func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(path)
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || isTestCode(name) {
				return err
			}
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			found, err := edits(path, filepath.ToSlash(file))
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// edits are all changes that can be made to a file.
func edits(path, file string) ([]edit, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		return nil, err
	}
	var all []edit
	add := func(at token.Pos, old, text, kind string) {
		p := fset.Position(at)
		all = append(all, edit{file: file, line: p.Line, from: p.Offset, to: p.Offset + len(old), text: text, kind: kind})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if to, ok := flipped()[n.Op]; ok && !isText(n.X) && !isText(n.Y) {
				add(n.OpPos, n.Op.String(), to.String(), "operator")
			}
		case *ast.Ident:
			if to, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
				add(n.Pos(), n.Name, to, "constant")
			}
		case *ast.BasicLit:
			if v, err := strconv.ParseInt(n.Value, 10, 64); n.Kind == token.INT && err == nil {
				add(n.Pos(), n.Value, strconv.FormatInt(v+1, 10), "number")
			}
		case *ast.IfStmt:
			add(n.Cond.Pos(), "", "!(", "negation")
			all[len(all)-1].to = -fset.Position(n.Cond.End()).Offset // the end of what is negated
		}
		return true
	})
	return all, nil
}

func flipped() map[token.Token]token.Token {
	return map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
		token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
	}
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

// mutant widens an edit to whole lines until their text is there once.
func (e edit) mutant(root, area string) (mutant, error) {
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
	if err != nil {
		return mutant{}, err
	}
	text, to, end := string(raw), e.to, ""
	if to < 0 {
		to, end = -to, text[e.from:-to]+")"
	}
	from, until := strings.LastIndex(text[:e.from], "\n")+1, to+lineEnd(text[to:])
	for strings.Count(text, text[from:until]) > 1 {
		if until < len(text)-1 {
			until += 1 + lineEnd(text[until+1:])
		}
		if from > 0 && strings.Count(text, text[from:until]) > 1 {
			from = strings.LastIndex(text[:from-1], "\n") + 1
		}
	}
	return mutant{
		name: fmt.Sprintf("%s/%s-%s:%d", area, e.kind, e.file, e.line), file: e.file,
		old: text[from:until], new: text[from:e.from] + e.text + end + text[to:until],
	}, nil
}

// lineEnd is how far the end of the line is.
func lineEnd(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}
