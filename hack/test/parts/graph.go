package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// graph is the packages of the tree by their folders, over all modules: the path of a package
// is that of the first module and its folder. It comes from the source, because the go command
// looks at one module only, and needs the libraries of all its packages.
type graph map[string]*imports

// imports are the folders of the tree that a package imports, and those that its tests do.
type imports struct{ own, tests []string }

// readFolder adds the package of a folder.
func (g graph) readFolder(tree fs.FS, dir, module string) error {
	files, err := fs.Glob(tree, path.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return err
	}
	p := &imports{}
	g[dir] = p
	for _, name := range files {
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		to := &p.own
		if strings.HasSuffix(name, "_test.go") {
			to = &p.tests
		}
		for _, i := range file.Imports {
			if from, err := strconv.Unquote(i.Path.Value); err == nil && strings.HasPrefix(from, module+"/") {
				*to = append(*to, strings.TrimPrefix(from, module+"/"))
			}
		}
	}
	return nil
}

// behind are the packages that the tests of some packages are made of, these included.
func (g graph) behind(roots []string) map[string]bool {
	found := map[string]bool{}
	var add func(dir string)
	add = func(dir string) {
		if g[dir] == nil || found[dir] {
			return
		}
		found[dir] = true
		for _, d := range g[dir].own {
			add(d)
		}
	}
	for _, dir := range roots {
		if g[dir] == nil {
			continue
		}
		for _, d := range slices.Concat([]string{dir}, g[dir].tests) {
			add(d)
		}
	}
	return found
}

// steps counts the imports between the tests of a package and the nearest of some packages: 0
// where they import none of them.
func (g graph) steps(dir string, to map[string]bool) int {
	seen := map[string]bool{dir: true}
	next := slices.Concat(g[dir].own, g[dir].tests)
	for n := 1; len(next) > 0; n++ {
		var further []string
		for _, d := range next {
			if to[d] {
				return n
			}
			if g[d] != nil && !seen[d] {
				seen[d] = true
				further = append(further, g[d].own...)
			}
		}
		next = further
	}
	return 0
}

// nearest is the package that a file belongs to: its own folder's, or that of the
// nearest folder above, which embeds it or reads it in its tests.
func (g graph) nearest(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if g[dir] != nil {
			return dir
		}
	}
	return ""
}
