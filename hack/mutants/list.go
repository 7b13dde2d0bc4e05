package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one change of one file. The old text must be in the file exactly
// once, so that a list outlives changes of the code around it.
type mutant struct {
	name     string // AREA/WORDS
	file     string // slashes, from the root of the tree
	old, new string
	tests    []testRun // those that should notice, beside the file's own package; nil = those that import it
}

// testRun is a package, and which of its tests; empty = all.
type testRun struct{ dir, pattern string }

// errStale says that a mutant has to be written anew.
type errStale struct{ why string }

func (e errStale) Error() string { return e.why }

// parse reads a list:
//
//	== AREA/NAME
//	file: PATH
//	test: ./FOLDER [PATTERN]
//	- OLD LINE
//	+ NEW LINE
//
// Old and new may have several lines, or be parts of one. A test line is
// optional and may be repeated. Lines that begin with # are comments.
func parse(text string) ([]mutant, error) {
	var all []mutant
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			if seen[name] {
				return nil, fmt.Errorf("line %d: a second mutant %q", i+1, name)
			}
			seen[name] = true
			all = append(all, mutant{name: name})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(all) == 0 || !all[len(all)-1].read(line) {
			return nil, fmt.Errorf("line %d: %q is no part of a mutant", i+1, line)
		}
	}
	return all, complete(all)
}

func complete(all []mutant) error {
	for _, m := range all {
		if m.file == "" || m.old == "" || m.old == m.new {
			return fmt.Errorf("mutant %q needs a file, an old text and a new one", m.name)
		}
	}
	return nil
}

func (m *mutant) read(line string) bool {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "file:":
		m.file = value
	case "test:":
		dir, pattern, _ := strings.Cut(value, " ")
		m.tests = append(m.tests, testRun{dir: strings.TrimPrefix(dir, "./"), pattern: pattern})
	case "-":
		m.old = joined(m.old, value)
	case "+":
		m.new = joined(m.new, value)
	default:
		return false
	}
	return true
}

func joined(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// format writes a list that parse reads.
func format(all []mutant) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "== %s\nfile: %s\n", m.name, m.file)
		for _, t := range m.tests {
			fmt.Fprintln(&b, strings.TrimSpace("test: ./"+t.dir+" "+t.pattern))
		}
		for line := range strings.SplitSeq(m.old, "\n") {
			fmt.Fprintln(&b, "- "+line)
		}
		for line := range strings.SplitSeq(m.new, "\n") {
			fmt.Fprintln(&b, "+ "+line)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// applied is the text of the file with the change.
func (m mutant) applied(text string) (string, error) {
	switch n := strings.Count(text, m.old); n {
	case 1:
		return strings.Replace(text, m.old, m.new, 1), nil
	case 0:
		return "", errStale{"the old text is not in the file any more"}
	default:
		return "", errStale{fmt.Sprintf("the old text is in the file %d times", n)}
	}
}

// apply changes the file; restore puts back what was there.
func (m mutant) apply(root string) (restore func() error, err error) {
	path := filepath.Join(root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, errStale{"the file does not exist any more"}
	}
	if err != nil {
		return nil, err
	}
	changed, err := m.applied(string(text))
	if err != nil {
		return nil, err
	}
	restore = func() error { return os.WriteFile(path, text, 0o644) }
	return restore, os.WriteFile(path, []byte(changed), 0o644)
}
