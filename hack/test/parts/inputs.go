package main

import (
	"cmp"
	"fmt"
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
		rows, _ := t.part(name)
		inputs := t.inputs(rows)
		f := finding{part: name}
		for _, file := range changed {
			if inputs.has(file) {
				f.files++
			}
		}
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
	all      graph           // every package of the tree
	folders  []string        // everything below
}

// inputs are those of the rows of a part: what their tests are made of, and the versions of
// libraries in the modules of their packages.
func (t *table) inputs(rows []*row) inputs {
	in := inputs{all: t.graph, folders: []string{"go.mod", "go.sum", "hack/test", "hack/lib"}}
	var roots []string
	for _, r := range rows {
		in.folders = append(in.folders, r.inputs...)
		roots = append(append(roots, r.inputs...), t.foldersOf(r)...)
	}
	for _, f := range roots {
		module := t.moduleOf(f)
		in.folders = append(in.folders, path.Join(module, "go.mod"), path.Join(module, "go.sum"))
	}
	in.packages = t.graph.behind(roots)
	return in
}

func (in inputs) has(file string) bool {
	for _, f := range in.folders {
		if file == f || strings.HasPrefix(file, f+"/") {
			return true
		}
	}
	return in.packages[in.all.nearest(file)]
}

// packagesOf lists the packages that files belong to, and those that import them, the nearest
// first. Of the packages outside part unit, only those count that need no other machine, and
// that a file belongs to.
func (t *table) packagesOf(files []string) (own, importers []modulePackages) {
	changed := map[string]bool{}
	for _, f := range files {
		changed[t.graph.nearest(f)] = true
	}
	var ownFolders, importing []string
	steps := map[string]int{}
	for _, f := range t.folders {
		owner := t.owners(f)
		switch {
		case len(owner) == 0 || owner[0].part != "unit" && owner[0].part != "lab":
		case changed[f]:
			ownFolders = append(ownFolders, f)
		case owner[0].part == "unit":
			if steps[f] = t.graph.steps(f, changed); steps[f] > 0 {
				importing = append(importing, f)
			}
		}
	}
	slices.SortStableFunc(importing, func(a, b string) int { return cmp.Compare(steps[a], steps[b]) })
	for _, f := range importing {
		importers = append(importers, t.byModule([]string{f})...)
	}
	return t.byModule(ownFolders), importers
}

func command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...) //nolint:gosec // git, with arguments of the caller
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return string(out), nil
}
