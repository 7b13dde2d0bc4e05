package structure

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOnlyTheFilesOfAConcernAssignItsPartOfTheScope of controllers/benchmark: storage_*.go, load_*.go and cleanup*.go.
// Other files call functions of these, whose names say what changes.
func TestOnlyTheFilesOfAConcernAssignItsPartOfTheScope(t *testing.T) {
	folder := filepath.Join(root, "controllers", "benchmark")
	files, fset := map[string]*ast.File{}, (*token.FileSet)(nil)
	eachFile(t, func(path string, file *ast.File, of *token.FileSet) {
		if filepath.Dir(path) == folder {
			files[filepath.Base(path)], fset = file, of
		}
	})
	concernOf := map[string]string{} // by field and by part
	ast.Inspect(files["scope.go"], func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if concern, ok := strings.CutSuffix(spec.Name.Name, "Part"); ok {
			concernOf[spec.Name.Name] = concern
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					concernOf[name.Name] = concern
				}
			}
		}
		return true
	})
	assigned := map[string]bool{}
	for name, file := range files {
		assign := func(e ast.Expr) {
			field := fieldOf(e)
			assigned[field] = true
			if concern := concernOf[field]; concern != "" && !strings.HasPrefix(name, concern) {
				t.Errorf("%s assigns s.%s, which only %s*.go may assign", fset.Position(e.Pos()), field, concern)
			}
		}
		inScope(t, file, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					assign(e)
				}
			case *ast.RangeStmt:
				assign(n.Key)
				assign(n.Value)
			case *ast.IncDecStmt:
				assign(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					assign(n.X)
				}
			}
		})
	}
	for field, concern := range concernOf {
		if field != concern+"Part" && !assigned[field] {
			t.Errorf("nothing assigns s.%s", field)
		}
	}
}

// fieldOf returns the field of the scope s that an expression is, or is a part of; empty for others.
func fieldOf(e ast.Expr) string {
	for {
		switch of := e.(type) {
		case *ast.IndexExpr:
			e = of.X
		case *ast.StarExpr:
			e = of.X
		case *ast.SelectorExpr:
			if isNamed(of.X, "s") {
				return of.Sel.Name
			}
			e = of.X
		default:
			return ""
		}
	}
}

// inScope visits all nodes of the functions that have a scope, which they must call s.
func inScope(t *testing.T, file *ast.File, visit func(ast.Node)) {
	t.Helper()
	all := func(n ast.Node) bool {
		visit(n)
		return true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch f := n.(type) {
		case *ast.FuncDecl:
			if hasScope(t, f.Recv) || hasScope(t, f.Type.Params) {
				ast.Inspect(f.Body, all)
				return false
			}
		case *ast.FuncLit:
			if hasScope(t, f.Type.Params) {
				ast.Inspect(f.Body, all)
				return false
			}
		}
		return true
	})
}

func hasScope(t *testing.T, fields *ast.FieldList) bool {
	t.Helper()
	if fields == nil {
		return false
	}
	return slices.ContainsFunc(fields.List, func(p *ast.Field) bool {
		to, ok := p.Type.(*ast.StarExpr)
		if !ok || !isNamed(to.X, "scope") {
			return false
		}
		for _, name := range p.Names {
			if name.Name != "s" {
				t.Errorf("a scope is called %s: call it s", name.Name)
			}
		}
		return true
	})
}
