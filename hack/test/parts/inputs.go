package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// stale lists the parts of tier rest with an input that changed since a commit.
// First come those with the most changed inputs: they are the likeliest to break.
func (t *table) stale(commit string) ([]string, error) {
	out, err := command("git", "diff", "--name-only", commit)
	if err != nil {
		return nil, err
	}
	changed := slices.DeleteFunc(strings.Fields(out), func(file string) bool { return file == record })
	type finding struct {
		part           string
		minutes, files int
	}
	var found []finding
	names, err := t.list("rest")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		inputs, err := t.inputs(name)
		if err != nil {
			return nil, err
		}
		f := finding{part: name}
		for _, file := range changed {
			if inputs.has(file) {
				f.files++
			}
		}
		rows, _ := t.part(name)
		for _, r := range rows {
			f.minutes += r.minutes
		}
		if f.files > 0 {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(a.minutes, b.minutes))
	})
	var lines []string
	for _, f := range found {
		lines = append(lines, fields(f.part, fmt.Sprint(f.minutes), fmt.Sprint(f.files)))
	}
	return lines, nil
}

// record names the commit of the last complete pass. Committing it changes nothing that a test
// depends on.
const record = "hack/test/complete-pass"

// inputs are the folders that decide what a part shows.
type inputs struct {
	packages map[string]bool // a file belongs to the package that is nearest above it
	all      map[string]bool // every package of the tree
	folders  []string        // everything below
}

// inputs asks the go command which packages the tests of a part are made of.
func (t *table) inputs(name string) (inputs, error) {
	rows, err := t.part(name)
	in := inputs{packages: map[string]bool{}, folders: []string{"go.mod", "go.sum", "hack/test", "hack/lib"}}
	if err != nil {
		return in, err
	}
	if in.all, err = packages("./..."); err != nil {
		return in, err
	}
	for _, r := range rows {
		in.folders = append(in.folders, r.inputs...)
		roots := []string{}
		for _, f := range r.inputs {
			if in.all[f] {
				roots = append(roots, "./"+f)
			}
		}
		if r.module {
			in.folders = append(in.folders, trimmed(t.foldersOf(r))...)
		} else {
			roots = append(roots, t.foldersOf(r)...)
		}
		if len(roots) == 0 {
			continue
		}
		deps, err := packages(append([]string{"-deps", "-test"}, roots...)...)
		if err != nil {
			return in, err
		}
		maps.Copy(in.packages, deps)
	}
	return in, nil
}

func trimmed(folders []string) []string {
	var out []string
	for _, f := range folders {
		out = append(out, strings.TrimPrefix(f, "./"))
	}
	return out
}

func (in inputs) has(file string) bool {
	for _, f := range in.folders {
		if file == f || strings.HasPrefix(file, f+"/") {
			return true
		}
	}
	return in.packages[nearest(in.all, file)]
}

// nearest is the package that a file belongs to: its own folder's, or that of the
// nearest folder above, which embeds it or reads it in its tests.
func nearest(all map[string]bool, file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if all[dir] {
			return dir
		}
	}
	return ""
}

// packages lists packages of this module by their folders.
func packages(args ...string) (map[string]bool, error) {
	out, err := command("go", append([]string{"list", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}"}, args...)...)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for dir := range strings.Lines(out) {
		if dir = strings.TrimSpace(dir); dir != "" {
			found[strings.TrimPrefix(strings.TrimPrefix(dir, here), "/")] = true
		}
	}
	return found, nil
}

// packagesOf lists the packages that files belong to and those that import them,
// in the order in which they are worth testing: their own first.
func (t *table) packagesOf(files []string) ([]string, error) {
	all, err := packages("./...")
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, f := range files {
		if p := nearest(all, f); p != "" {
			changed[p] = true
		}
	}
	importers, err := importersOf(changed)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, f := range t.folders {
		owners, dir := t.owners(f), strings.TrimPrefix(f, "./")
		if len(owners) == 0 || owners[0].part != "unit" {
			continue
		}
		switch {
		case changed[dir]:
			lines = slices.Insert(lines, 0, f)
		case importers[dir]:
			lines = append(lines, f)
		}
	}
	return lines, nil
}

// importersOf lists the packages whose tests are made of one of the changed ones.
func importersOf(changed map[string]bool) (map[string]bool, error) {
	here, err := command("go", "list", "-m")
	if err != nil {
		return nil, err
	}
	module := strings.TrimSpace(here)
	out, err := command("go", "list", "-test", "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, "./...")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		name := strings.TrimSuffix(words[0], ".test")
		for _, dep := range words[1:] {
			if changed[strings.TrimPrefix(strings.TrimPrefix(dep, module), "/")] {
				found[strings.TrimPrefix(strings.TrimPrefix(name, module), "/")] = true
				break
			}
		}
	}
	return found, nil
}

func command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...) //nolint:gosec // go and git, with arguments of the table
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return string(out), nil
}
