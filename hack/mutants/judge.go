package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
)

// The verdicts on a mutant.
const (
	killed    = "killed"
	survived  = "survived"
	stale     = "STALE"  // its old text is not in the file exactly once
	noProgram = "broken" // it does not compile
)

// The tiers of tests, as hack/test.sh has them.
const (
	tierOwn         = "own" // the unit tests of the file's own package, if no others were tried
	tierUnit        = "unit"
	tierIntegration = "integration"
)

// result is a line of the table.
type result struct {
	name, file, verdict string
	tier                string // that killed it, or up to which it was tried
	where               string // own, or importer
	dir, test           string // that killed it
	took                time.Duration
	note                string
}

func (r result) words() string {
	switch r.verdict {
	case killed:
		return fmt.Sprintf("killed by %s of %s (%s, %s, %.0f s)", r.test, r.dir, r.where, r.tier, r.took.Seconds())
	case survived:
		return fmt.Sprintf("SURVIVED %s (%.0f s) %s", r.tier, r.took.Seconds(), r.note)
	default:
		return r.verdict + ": " + r.note
	}
}

// judge finds out which test notices a mutant.
type judge struct {
	runner
	ownOnly   bool
	importers map[string][]string // by folder: folders whose code or tests import it
}

// goPackage is the output of go list for a package.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

const module = "github.com/nfsbench/nfsbench/"

// load asks go which packages import which.
func (j *judge) load(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir, cmd.Stderr = j.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	j.importers = map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if to, ours := strings.CutPrefix(i, module); ours && to != from && !slices.Contains(j.importers[to], from) {
				j.importers[to] = append(j.importers[to], from)
			}
		}
	}
	return nil
}

// integration says whether tests that need an API server can run.
func (j *judge) integration() bool { return os.Getenv("KUBEBUILDER_ASSETS") != "" }

// tierOf is empty for tests that are not run here: they need a cluster, a
// virtual machine or a laboratory, or run for minutes.
func tierOf(dir string) string {
	for _, slow := range []string{
		"test/e2e", "test/growth", "test/kernelnfs", "test/lab", "test/array", "test/browser", "test/soak", "test/bench",
	} {
		if dir == slow || strings.HasPrefix(dir, slow+"/") {
			return ""
		}
	}
	if dir == "test/integration" || dir == "test/chart/apiserver" {
		return tierIntegration
	}
	return tierUnit
}

// runs are the tests that may notice a mutant, in the order in which they are
// tried: its own package, then those that import it, those with an API server last.
func (j *judge) runs(m mutant) []testRun {
	own := ownOf(m.file)
	others := m.tests
	if len(others) == 0 {
		for _, dir := range j.importers[own] {
			others = append(others, testRun{dir: dir})
		}
		if strings.HasPrefix(m.file, "charts/") {
			others = []testRun{{dir: "test/chart/apiserver"}}
		}
	}
	others = slices.SortedStableFunc(slices.Values(others), func(a, b testRun) int { return cmp.Compare(order(a.dir), order(b.dir)) })
	all := []testRun{{dir: own}}
	if j.ownOnly {
		return all
	}
	for _, t := range others {
		tier := tierOf(t.dir)
		if tier == tierUnit || tier == tierIntegration && j.integration() {
			all = append(all, t)
		}
	}
	return all
}

// ownOf is the folder with the tests of a file.
func ownOf(file string) string {
	if strings.HasPrefix(file, "charts/") {
		return "test/chart"
	}
	return path.Dir(file)
}

func order(dir string) int {
	switch {
	case tierOf(dir) == tierIntegration:
		return 3
	case strings.HasPrefix(dir, "test/"):
		return 2
	case strings.HasPrefix(dir, "cmd/"):
		return 1
	default:
		return 0
	}
}

// judge runs tests with a mutant until one fails.
func (j *judge) judge(ctx context.Context, m mutant) (result, error) {
	began := time.Now()
	r := result{name: m.name, file: m.file, verdict: survived, tier: tierOwn}
	for _, t := range j.runs(m) {
		err := j.try(ctx, &r, m, t)
		if old, ok := errors.AsType[errStale](err); ok {
			r.verdict, r.note = stale, old.why
			return r, nil
		}
		if r.took = time.Since(began); err != nil || r.verdict != survived {
			return r, err
		}
	}
	return r, nil
}

// with does something while a mutant is in the tree.
func (j *judge) with(m mutant, do func() error) error {
	restore, err := m.apply(j.root)
	if err != nil {
		return err
	}
	return errors.Join(do(), restore())
}

func (j *judge) try(ctx context.Context, r *result, m mutant, t testRun) error {
	if err := j.clean(ctx, t.dir); errors.Is(err, errNoTests) {
		return nil
	} else if err != nil {
		r.note += fmt.Sprintf("%s fails without it: %v; ", t.dir, err)
		return nil
	}
	test, said, err := j.failing(ctx, m, t)
	own := t.dir == ownOf(m.file)
	if said != "" {
		r.verdict, r.note = noProgram, said
		return err
	}
	if !own || test != "" {
		r.tier = tierOf(t.dir)
	}
	if test != "" {
		r.verdict, r.dir, r.test, r.where = killed, t.dir, test, "importer"
		if own {
			r.where = "own"
		}
	}
	return err
}

// failing names the first test that fails with the mutant and not without; empty =
// none. It also says why the tests do not compile; empty = they do.
func (j *judge) failing(ctx context.Context, m mutant, t testRun) (test, said string, err error) {
	for try := range 3 {
		err := j.with(m, func() error {
			if try == 0 {
				said = j.build(ctx, t.dir, "mutant")
			}
			if said == "" {
				test = j.execute(ctx, t, "mutant", j.limit(t.dir))
			}
			return ctx.Err()
		})
		if err != nil || said != "" || test == "" {
			return "", said, err
		}
		// The same test, without the mutant: else it fails by itself.
		if name := nameOf(test); !isTest(name) || j.passes(ctx, t.dir, name) {
			return test, "", nil
		}
		fmt.Fprintf(os.Stderr, "%s of %s fails without the mutant too: again\n", test, t.dir)
	}
	return "", "", nil
}
