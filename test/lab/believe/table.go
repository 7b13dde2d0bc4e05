package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

// The lines of docs/accuracy.md around the rates.
const (
	beginMarker = "<!-- believe:begin (written by make believe) -->"
	endMarker   = "<!-- believe:end -->"
)

// The files that a complete run writes, below the top of the repository.
const (
	pageFile  = "docs/accuracy.md"            // gets the rates
	tableFile = "test/lab/records/believe.md" // all tables
	runsFile  = "test/lab/records/believe.jsonl"
)

// publish writes the rates, the tables and the runs into a repository.
func publish(repo, text string, records []Record) error {
	page := filepath.Join(repo, pageFile)
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	fresh, err := score.Between(string(old), rates(text), beginMarker, endMarker)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	var lines strings.Builder
	for _, r := range records {
		r.Results = nil // they are not published
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(page, []byte(fresh), 0o644),
		os.WriteFile(filepath.Join(repo, tableFile), []byte(text), 0o644),
		os.WriteFile(filepath.Join(repo, runsFile), []byte(lines.String()), 0o644))
}

// rates is the first table of the record.
func rates(text string) string {
	_, rest, _ := strings.Cut(text, "\n\n")
	first, _, _ := strings.Cut(rest, "\n\n## ")
	return first
}

// rate is a count out of a total, with Wilson's 95 % interval.
type rate struct{ n, all int }

// count adds one to the total, and to the count if so is true.
func (r *rate) count(so bool) {
	r.all++
	if so {
		r.n++
	}
}

func (r rate) interval() (low, high float64) {
	if r.all == 0 {
		return 0, 1
	}
	z, n, p := stats.NormalQuantile(0.975), float64(r.all), float64(r.n)/float64(r.all)
	middle, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))
}

func (r rate) String() string {
	if r.all == 0 {
		return "none"
	}
	low, high := r.interval()
	return fmt.Sprintf("%d of %d (%.0f to %.0f %%)", r.n, r.all, math.Floor(low*100), math.Ceil(high*100))
}

// row holds all trials of one injection at one strength.
type row struct {
	Trial
	trials  []Trial
	noticed rate
	flagged rate
	by      map[judge.Code]int
	named   map[judge.Code]int // from warnings that leave the run Valid
}

// rows groups trials in the order of the injections.
func rows(records []Record) []*row {
	var out []*row
	at := map[string]*row{}
	for _, r := range records {
		t := r.Trial
		if t == nil {
			continue
		}
		key := t.Place + "\x00" + t.Injection + "\x00" + t.Strength
		if at[key] == nil {
			at[key] = &row{Trial: *t, by: map[judge.Code]int{}, named: map[judge.Code]int{}}
			out = append(out, at[key])
		}
		own := at[key]
		own.trials = append(own.trials, *t)
		own.noticed.count(t.Noticed)
		own.flagged.count(t.flagged())
		for _, c := range t.By {
			own.by[c]++
		}
		for _, c := range t.Named {
			own.named[c]++
		}
	}
	order := map[string]int{}
	for _, in := range injections() {
		for _, s := range in.Strengths {
			order[in.Place+"\x00"+in.Name+"\x00"+s.Name] = len(order) + 1
		}
	}
	slices.SortStableFunc(out, func(a, b *row) int {
		key := func(r *row) int { return order[r.Place+"\x00"+r.Injection+"\x00"+r.Strength] }
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.Injection, b.Injection))
	})
	return out
}

// effect returns the median over the trials, also as text.
func (r *row) effect() (float64, string) {
	var all []float64
	for _, t := range r.trials {
		if t.Effect != nil {
			all = append(all, *t.Effect)
		}
	}
	if len(all) == 0 {
		return 0, "no number"
	}
	m := stats.Median(all)
	return m, fmt.Sprintf("%+.1f %%", m*100)
}

// counted lists codes with how often they were seen.
func counted(by map[judge.Code]int) string {
	var codes []judge.Code
	for c := range by {
		codes = append(codes, c)
	}
	slices.SortFunc(codes, func(a, b judge.Code) int { return cmp.Or(by[b]-by[a], cmp.Compare(a, b)) })
	var out []string
	for _, c := range codes {
		out = append(out, fmt.Sprintf("`%s` %d", c, by[c]))
	}
	return strings.Join(out, ", ")
}

// table returns the record: the rates, and a section for each further table.
func table(records []Record) string {
	var b strings.Builder
	b.WriteString("# How often the findings are right (written by make believe)\n\n")
	all := rows(records)
	writeSummary(&b, all, records)
	writeInjections(&b, all)
	writeBlind(&b, all)
	writeFindings(&b, all, records)
	writeAlarms(&b, records)
	return b.String()
}

// moved reports whether the injection moves the headline by more than a share. It uses the median
// of the trials, because one trial is noisy. A run without a number cannot mislead anybody.
func (r *row) moved(t Trial, share float64) bool {
	m, _ := r.effect()
	return t.Effect != nil && math.Abs(m) > share
}

// honest calls a function for each run of a pair without an injection.
func honest(records []Record, do func(Trial)) {
	for _, r := range records {
		if r.Trial != nil && !r.Trial.Again {
			do(*r.Trial)
		}
	}
}

func writeSummary(b *strings.Builder, all []*row, records []Record) {
	var tenth, twentieth, less, noticed, aa, invalid, halves, invalidHalves rate
	for _, r := range all {
		for _, t := range r.trials {
			switch {
			case t.Apart:
			case r.moved(t, 0.10):
				tenth.count(t.flagged())
				noticed.count(t.Noticed)
				twentieth.count(t.flagged())
			case r.moved(t, 0.05):
				twentieth.count(t.flagged())
			default:
				less.count(t.flagged())
			}
		}
	}
	failed := 0
	for _, r := range records {
		switch {
		case r.Error != "":
			failed++
		case r.AA != nil:
			aa.count(r.AA.Outcome.Validity != bench.ValidityValid)
			invalid.count(r.AA.Outcome.Validity == bench.ValidityInvalid)
		}
	}
	honest(records, func(t Trial) {
		halves.count(t.Honest.Validity != bench.ValidityValid)
		invalidHalves.count(t.Honest.Validity == bench.ValidityInvalid)
	})
	fmt.Fprintf(b, "| what | runs (95 %% interval) | goal |\n|---|---|---|\n")
	fmt.Fprintf(b, "| the injection moves the result by more than 10 %%: flagged | %s | 99 %% |\n", tenth)
	fmt.Fprintf(b, "| the same: noticed, so the run is Suspect or Invalid | %s | |\n", noticed)
	fmt.Fprintf(b, "| by more than 5 %%: flagged | %s | 95 %% |\n", twentieth)
	fmt.Fprintf(b, "| by less, or the run gave no number: flagged | %s | none |\n", less)
	fmt.Fprintf(b, "| nothing was injected: Suspect or Invalid | %s | at most 2 %% |\n", aa)
	fmt.Fprintf(b, "| nothing was injected: Invalid | %s | never |\n", invalid)
	fmt.Fprintf(b, "| nothing was injected, as the pair of a run with an injection: Suspect or Invalid | %s | at most 2 %% |\n", halves)
	fmt.Fprintf(b, "| the same: Invalid | %s | never |\n", invalidHalves)
	if failed > 0 {
		fmt.Fprintf(b, "\n%d tasks of the rig itself failed and are not counted.\n", failed)
	}
}

func writeInjections(b *strings.Builder, all []*row) {
	fmt.Fprintf(b, "\n## Injections by strength\n\n| kind | injection | place | strength | effect, median | noticed | by | named |\n"+
		"|---|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		_, effect := r.effect()
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Kind, r.Injection, r.Place, r.Strength, effect, r.noticed,
			counted(r.by), counted(r.named))
	}
}

// writeBlind lists what matters but is not flagged.
func writeBlind(b *strings.Builder, all []*row) {
	fmt.Fprintf(b, "\n## What is not flagged\n\nRows whose median effect is more than 5 %% and of which less than 95 %% are flagged:\n\n")
	n := 0
	for _, r := range all {
		if m, _ := r.effect(); math.Abs(m) > 0.05 && float64(r.flagged.n) < 0.95*float64(r.flagged.all) {
			_, effect := r.effect()
			apart := ""
			if r.Apart {
				apart = "; not in the rates above, because a finding says it of every run of the rig"
			}
			fmt.Fprintf(b, "- %s, %s (%s): %s, flagged in %s%s\n", r.Injection, r.Strength, r.Place, effect, r.flagged, apart)
			n++
		}
	}
	if n == 0 {
		fmt.Fprintf(b, "none\n")
	}
}

// seen counts how often a finding of any severity was seen: for injections that it names, by their
// effect, and without an injection.
type seen struct{ tenth, less, honest rate }

func seenOf(all []*row, records []Record) map[judge.Code]*seen {
	of := map[judge.Code]*seen{}
	for _, c := range judge.Codes() {
		of[c] = &seen{}
	}
	expect := map[string][]judge.Code{}
	for _, in := range injections() {
		expect[in.Place+"\x00"+in.Name] = in.Expect
	}
	for _, r := range all {
		for _, c := range expect[r.Place+"\x00"+r.Injection] {
			of[c].row(r, c)
		}
	}
	nothing := func(o Outcome) {
		for c, s := range of {
			s.honest.count(o.says(c))
		}
	}
	for _, r := range records {
		if r.AA != nil {
			nothing(r.AA.Outcome)
		}
	}
	honest(records, func(t Trial) { nothing(t.Honest) })
	return of
}

// row counts the runs of a row that the finding was seen in.
func (s *seen) row(r *row, c judge.Code) {
	for _, t := range r.trials {
		into := &s.less
		if r.moved(t, 0.10) {
			into = &s.tenth
		}
		if !t.Apart {
			into.count(t.Injected.says(c))
		}
	}
}

func writeFindings(b *strings.Builder, all []*row, records []Record) {
	fmt.Fprintf(b, "\n## What each finding notices\n\nFindings of all severities count here.\n\n"+
		"| finding | it names the injection, effect over 10 %%: seen | effect less: seen | nothing injected: seen |\n|---|---|---|---|\n")
	of := seenOf(all, records)
	for _, c := range judge.Codes() {
		if s := of[c]; s.tenth.all+s.less.all+s.honest.n > 0 {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", c, s.tenth, s.less, s.honest)
		}
	}
}

func writeAlarms(b *strings.Builder, records []Record) {
	fmt.Fprintf(b, "\n## Runs with nothing injected\n\n| load | place | noise | Suspect or Invalid | by | largest p99 / median p99 |\n|---|---|---|---|---|---|\n")
	type group struct {
		AARun
		alarms rate
		by     map[judge.Code]int
		p99    []float64
	}
	var groups []*group
	add := func(run AARun) *group {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.Load == run.Load && g.Place == run.Place && g.Noise == run.Noise })
		if i < 0 {
			groups = append(groups, &group{AARun: run, by: map[judge.Code]int{}})
			i = len(groups) - 1
		}
		g := groups[i]
		g.alarms.count(run.Outcome.Validity != bench.ValidityValid)
		for _, c := range run.Outcome.Codes {
			g.by[c]++
		}
		return g
	}
	for _, r := range records {
		if r.AA != nil {
			g := add(*r.AA)
			g.p99 = append(g.p99, float64(r.AA.Outcome.P99))
		}
	}
	honest(records, func(t Trial) { add(AARun{Load: "pairs of runs with an injection", Place: t.Place, Outcome: t.Honest}) })
	slices.SortFunc(groups, func(a, b *group) int {
		quiet := func(g *group) string { return fmt.Sprint(g.Noise) }
		return cmp.Or(cmp.Compare(a.Load, b.Load), cmp.Compare(a.Place, b.Place), cmp.Compare(quiet(a), quiet(b)))
	})
	for _, g := range groups {
		noise := "quiet"
		if g.Noise {
			noise = "noise"
		}
		worst := "" // empty for pairs: each has another load
		if len(g.p99) > 0 {
			worst = fmt.Sprintf("%.2f", slices.Max(g.p99)/max(1, stats.Median(g.p99)))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", g.Load, g.Place, noise, g.alarms, counted(g.by), worst)
	}
}
