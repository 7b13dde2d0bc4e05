package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// slowest is how many tests the report names.
const slowest = 10

func (r *run) report(w io.Writer) {
	fmt.Fprintln(w)
	var passed, failed, skipped int
	var broken []string
	for _, p := range r.parts {
		p.problems(w)
		if p.failed {
			broken = append(broken, p.name)
		}
		a, b, c := p.counts()
		passed, failed, skipped = passed+a, failed+b, skipped+c
	}
	r.table(w)
	r.slow(w)
	if passed+failed+skipped > 0 {
		fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	}
	// A part that fails before its tests has none to count.
	if len(broken) > 0 {
		fmt.Fprintf(w, "parts that failed: %s\n", strings.Join(broken, ", "))
	}
}

// problems names what failed, with the command that repeats it, and what was skipped.
func (p *part) problems(w io.Writer) {
	named := false
	for _, key := range slices.Sorted(maps.Keys(p.tests)) {
		t := p.tests[key]
		switch {
		case t.failed && p.failedBelow(t):
		case t.failed:
			named = true
			fmt.Fprintf(w, "failed:  %s: %s\n", p.name, key)
			fmt.Fprintf(w, "         %s\n", p.repeat(t))
		case t.skipped:
			fmt.Fprintf(w, "not run: %s: %s: %s\n", p.name, key, t.said)
		}
	}
	switch {
	case p.reason != "":
		fmt.Fprintf(w, "not run: %s: %s\n", p.name, p.reason)
	case p.failed && !named:
		fmt.Fprintf(w, "failed:  %s\n         hack/test.sh %s\n", p.name, p.name)
	}
}

// failedBelow reports whether a test within this one, or of this package, has failed: then
// that one is the one to name.
func (p *part) failedBelow(t *test) bool {
	for _, other := range p.tests {
		below := strings.HasPrefix(other.name, t.name+"/") || t.name == "" && other.name != ""
		if other.pkg == t.pkg && below && other.failed {
			return true
		}
	}
	return false
}

// repeat is the command that runs a test again.
func (p *part) repeat(t *test) string {
	folder := "."
	if _, below, ok := strings.Cut(t.pkg, "/nfsbench/nfsbench/"); ok {
		folder = "./" + below
	}
	if t.name == "" {
		return fmt.Sprintf("hack/test.sh %s -- %s", p.name, folder)
	}
	top, _, _ := strings.Cut(t.name, "/")
	return fmt.Sprintf("hack/test.sh %s -- -run '^%s$' %s", p.name, top, folder)
}

// table shows where the time went. Compilers run beside each other, and so do
// benchmarks and some parts: the last row and these columns are sums.
func (r *run) table(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\npart\ttime\tpreparing\tcompiling\tmeasuring\tpassed\tfailed\tskipped\t")
	var total part
	for _, p := range r.parts {
		if p.reason != "" {
			fmt.Fprintf(tw, "%s\tnot run\t\t\t\t\t\t\t\n", p.name)
			continue
		}
		a, b, c := p.counts()
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t\n", p.name, clock(p.took), clock(p.needs), clock(p.compiled), clock(p.load), a, b, c)
		total.took += p.took
		total.needs += p.needs
		total.compiled += p.compiled
		total.load += p.load
	}
	fmt.Fprintf(tw, "together\t%s\t%s\t%s\t%s\t\t\t\t\n", clock(total.took), clock(total.needs), clock(total.compiled), clock(total.load))
	_ = tw.Flush()
}

func clock(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// slow names the slowest tests that are not part of another.
func (r *run) slow(w io.Writer) {
	var all []*test
	for _, p := range r.parts {
		for _, t := range p.tests {
			if t.name != "" && !strings.Contains(t.name, "/") {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b *test) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.pkg+a.name, b.pkg+b.name))
	})
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "\nslowest tests")
	for _, t := range all[:min(slowest, len(all))] {
		fmt.Fprintf(w, "%7.1f s  %s %s\n", t.took.Seconds(), strings.TrimPrefix(t.pkg, "github.com/nfsbench/nfsbench/"), t.name)
	}
}
