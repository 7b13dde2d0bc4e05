package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is one line of the table: packages whose tests run alike.
type row struct {
	part, tier string
	patterns   []string // folder or folder/...; ./ before it in the file
	inputs     []string // folders that it depends on besides
	needs      []string
	options    []string // of go test
	minutes    int
	cgo        bool
	run, skip  *regexp.Regexp // nil: every test, none
}

// tiers are the gate, the tests that it leaves out, and what measures instead of testing.
var tiers = []string{"test", "rest", "measure"} //nolint:gochecknoglobals // never written

// table is all rows, and what is in the tree: folders that hold tests, modules, packages.
type table struct {
	rows    []row
	folders []string
	modules []string
	graph   graph
}

func readTable(tree fs.FS) (*table, error) {
	text, err := fs.ReadFile(tree, "hack/test/parts.txt")
	if err != nil {
		return nil, err
	}
	t := &table{graph: graph{}}
	for n, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseRow(words)
		if err != nil {
			return nil, fmt.Errorf("hack/test/parts.txt:%d: %w", n+1, err)
		}
		t.rows = append(t.rows, r)
	}
	return t, t.readTree(tree)
}

func parseRow(words []string) (row, error) {
	if len(words) < 2 || !slices.Contains(tiers, words[1]) {
		return row{}, fmt.Errorf("%q: want a part and its tier, %s", strings.Join(words, " "), strings.Join(tiers, ", "))
	}
	r := row{part: words[0], tier: words[1]}
	for _, w := range words[2:] {
		if err := r.add(w); err != nil {
			return row{}, err
		}
	}
	return r, nil
}

// add takes one word of a row: a package, an option or a folder.
func (r *row) add(word string) (err error) {
	name, value, isOption := strings.Cut(word, "=")
	switch {
	case strings.HasPrefix(word, "./"):
		r.patterns = append(r.patterns, strings.TrimPrefix(word, "./"))
	case word == "race":
		r.options, r.cgo = append(r.options, "-race"), true
	case word == "cgo":
		r.cgo = true
	case word == "alone":
		r.options = append(r.options, "-p", "1")
	case !isOption:
		r.inputs = append(r.inputs, word)
	case name == "needs":
		r.needs = strings.Split(value, ",")
	case name == "minutes":
		r.minutes, err = strconv.Atoi(value)
	case name == "parallel" || name == "timeout":
		r.options = append(r.options, "-"+name, value)
	case name == "run":
		r.options = append(r.options, "-run", value)
		r.run, err = regexp.Compile(value)
	case name == "skip":
		r.options = append(r.options, "-skip", value)
		r.skip, err = regexp.Compile(value)
	default:
		return fmt.Errorf("unknown option %q", word)
	}
	return err
}

// readTree finds modules, packages and tests.
func (t *table) readTree(tree fs.FS) error {
	text, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		return err
	}
	module := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(text)
	if module == nil {
		return errors.New("go.mod names no module")
	}
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || base == "bin" || strings.HasPrefix(base, ".") && name != "."):
			return fs.SkipDir
		case d.IsDir():
			return t.graph.readFolder(tree, name, string(module[1]))
		case base == "go.mod":
			t.modules = append(t.modules, path.Dir(name))
		case strings.HasSuffix(base, "_test.go") && !slices.Contains(t.folders, path.Dir(name)):
			t.folders = append(t.folders, path.Dir(name))
		}
		return nil
	})
}

// moduleOf is the module of a folder: that of the nearest go.mod above it.
func (t *table) moduleOf(folder string) string {
	for dir := folder; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(t.modules, dir) {
			return dir
		}
	}
	return "."
}

// modulePackages are packages of one module, as the go command takes them in its folder.
type modulePackages struct {
	module   string
	packages []string
}

// byModule sorts folders by their modules, which come in the order of their first folders.
func (t *table) byModule(folders []string) []modulePackages {
	var all []modulePackages
	for _, f := range folders {
		module := t.moduleOf(f)
		i := slices.IndexFunc(all, func(m modulePackages) bool { return m.module == module })
		if i < 0 {
			i, all = len(all), append(all, modulePackages{module: module})
		}
		below := strings.TrimPrefix(strings.TrimPrefix("/"+f, "/"+strings.TrimPrefix(module, ".")), "/")
		all[i].packages = append(all[i].packages, strings.TrimSuffix("./"+below, "/"))
	}
	return all
}

// reach is how much of a folder's path a pattern names: the longer, the more
// specific; -1 where the folder does not match.
func reach(pattern, folder string) int {
	pattern, folder = "./"+pattern, "./"+folder
	below, all := strings.CutSuffix(pattern, "/...")
	if folder == below || all && strings.HasPrefix(folder, below+"/") {
		return len(below)
	}
	return -1
}

func (r *row) reach(folder string) int {
	most := -1
	for _, p := range r.patterns {
		most = max(most, reach(p, folder))
	}
	return most
}

// owners are the rows that run the tests of a folder: those that name it most
// specifically.
func (t *table) owners(folder string) []*row {
	most := 0
	var owners []*row
	for i := range t.rows {
		r := &t.rows[i]
		switch n := r.reach(folder); {
		case n > most:
			most, owners = n, []*row{r}
		case n == most:
			owners = append(owners, r)
		}
	}
	return owners
}

// runs reports whether the row runs a test of a folder that it owns.
func (r *row) runs(test string) bool {
	return (r.run == nil || r.run.MatchString(test)) && (r.skip == nil || !r.skip.MatchString(test))
}

// folders are those whose tests the row runs.
func (t *table) foldersOf(r *row) []string {
	var out []string
	for _, f := range t.folders {
		if slices.Contains(t.owners(f), r) {
			out = append(out, f)
		}
	}
	return out
}

func (t *table) list(tier string) ([]string, error) {
	var names []string
	for _, r := range t.rows {
		if (r.tier == tier || tier == "all" && r.tier != "measure") && !slices.Contains(names, r.part) {
			names = append(names, r.part)
		}
	}
	if names == nil {
		return nil, fmt.Errorf("no part in tier %q: use %s or all", tier, strings.Join(tiers, ", "))
	}
	return names, nil
}

// part are the rows of a part.
func (t *table) part(name string) ([]*row, error) {
	var rows []*row
	for i := range t.rows {
		if t.rows[i].part == name {
			rows = append(rows, &t.rows[i])
		}
	}
	if rows == nil {
		var all []string
		for _, tier := range tiers {
			names, _ := t.list(tier)
			all = append(all, names...)
		}
		return nil, fmt.Errorf("unknown part %q; the parts are %s", name, strings.Join(all, " "))
	}
	return rows, nil
}

func (t *table) needs(name string) ([]string, error) {
	rows, err := t.part(name)
	var needs []string
	for _, r := range rows {
		for _, n := range r.needs {
			if !slices.Contains(needs, n) {
				needs = append(needs, n)
			}
		}
	}
	return needs, err
}

// arguments are those of the go commands of a part, or of the named packages of it.
func (t *table) arguments(name string, only []string) ([]string, error) {
	rows, err := t.part(name)
	if err != nil {
		return nil, err
	}
	named := row{}
	for _, word := range only {
		named.patterns = append(named.patterns, strings.TrimPrefix(word, "./"))
	}
	var lines []string
	for _, r := range rows {
		folders := t.foldersOf(r)
		if len(only) > 0 {
			folders = slices.DeleteFunc(folders, func(f string) bool { return named.reach(f) < 0 })
		}
		cgo := "0"
		if r.cgo {
			cgo = "1"
		}
		for _, of := range t.byModule(folders) {
			options := slices.Concat([]string{of.module, cgo}, r.options)
			lines = append(lines, fields(slices.Concat(options, of.packages)...))
		}
	}
	if len(only) > 0 && lines == nil {
		return nil, fmt.Errorf("part %s runs no test of %s", name, strings.Join(only, " "))
	}
	return lines, nil
}
