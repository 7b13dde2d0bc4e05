package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plainCalls of package os follow links, wait for a FIFO, read without a bound, or change what is there.
func plainCalls() []string {
	return []string{
		"Open", "OpenFile", "ReadFile", "Create", "WriteFile", "Chown", "Lchown", "Chmod", "Rename", "Truncate", "Link", "CopyFS",
	}
}

// sharing are the files and folders that work in directories which others can write to.
func sharing() []string {
	return []string{
		"internal/collect/*.go", "internal/collect/publish/*.go", "internal/runloop/*.go", "internal/loadgen/fileset/*.go",
		"internal/loadgen/target/kernel/*.go", "internal/oracle/supervise/*.go", "internal/oracle/program/container.go",
		"cmd/nfsbench/cmd_install.go",
	}
}

// notShared says where a plain call is right, by file and function, and why.
func notShared() map[string]string {
	return map[string]string{
		"internal/collect/publish/configmap.go inCluster":        "the kubelet mounts the token, over links",
		"internal/oracle/supervise/directnfs.go Install":         "a file of the image, which may be a link",
		"internal/oracle/supervise/options.go interpreterOf":     "a file of the image, which may be a link",
		"internal/oracle/supervise/mounttable.go readMountTable": "/etc/mtab is a link in most images",
	}
}

// TestDirectoriesThatOthersShareAreUsedByOnePackage: a link in them leads to a file of ours, and a FIFO hangs whoever
// opens it.
func TestDirectoriesThatOthersShareAreUsedByOnePackage(t *testing.T) {
	unused := notShared()
	for _, pattern := range sharing() {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for function, calls := range plainCallsOf(file) {
				where := name + " " + function
				if notShared()[where] == "" {
					t.Errorf("%s uses os.%s: use package shareddir, or give a reason in notShared", where, strings.Join(calls, ", os."))
				}
				delete(unused, where)
			}
		}
	}
	for where := range unused {
		t.Errorf("%s has a reason and needs none", where)
	}
}

// plainCallsOf returns the plain calls of a file by function; "" is the rest of the file.
func plainCallsOf(file *ast.File) map[string][]string {
	found := map[string][]string{}
	for _, d := range file.Decls {
		function := ""
		if f, ok := d.(*ast.FuncDecl); ok {
			function = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "os" && slices.Contains(plainCalls(), s.Sel.Name) {
				found[function] = append(found[function], s.Sel.Name)
			}
			return true
		})
	}
	return found
}
