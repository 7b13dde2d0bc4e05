package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

// The programs that take part.
const (
	toolOurs   = "nfsbench"
	toolOther  = "other"  // another build of nfsbench
	toolFio    = "fio"    // its nfs engine
	toolReader = "libnfs" // test/bench/peer
	toolCat    = "nfs-cat"
	toolIperf  = "iperf3"
)

type work struct {
	Pattern string // as nfsbench load calls it: read, overwrite, randread
	Block   int64
	Jobs    int
	Depth   int
}

func (w work) random() bool { return strings.HasPrefix(w.Pattern, "rand") }

func (w work) String() string {
	if w.Jobs == 1 {
		return fmt.Sprintf("1 job, depth %d", w.Depth)
	}
	return fmt.Sprintf("%d jobs, depth %d", w.Jobs, w.Depth)
}

// entry is a contender and how it is run. Links are LIFs by number from 0; with
// none the load goes over the loopback of the server's own namespace.
type entry struct {
	Name  string // unique in its row
	Tool  string
	Work  work
	Links []int
}

// row is a score.Row and how to measure it.
type row struct {
	Name, Title string
	Entries     []entry // the first one is the subject
	Checks      []score.Check
	Warmup      int // seconds
	Stretch     int // the window is so many times the usual one
}

// The links of the arena: the first one is a 1GbE, the others are slower, so
// that four of them together do not ask more of two cores than they have.
const (
	gigabit = "984mbit" // with Ethernet's overhead that tc does not count, the payload of 1GbE
	slow    = "200mbit"
	slowOne = 1 // number of the first slow LIF
)

func linkRates() string { return strings.Join([]string{gigabit, slow, slow, slow, slow}, ",") }

const (
	mebi      = 1 << 20
	oracle    = 8 << 10 // a database block
	fileBytes = 512 * mebi
)

// allRows is the benchmark. The depths and jobs of the loopback rows are those
// at which fio's nfs engine was measured before.
func allRows() []row {
	rows := []row{
		wireRow("1gbe-read", "read", 0.99),
		wireRow("1gbe-overwrite", "overwrite", 0.97),
		linksRow(2, 1.95), linksRow(4, 3.9),
	}
	for _, w := range []work{
		{"read", mebi, 1, 1},
		{"read", mebi, 1, 2},
		{"read", mebi, 1, 8},
		{"read", mebi, 1, 32},
		{"read", mebi, 2, 1},
		{"read", mebi, 4, 1},
		{"randread", oracle, 1, 1},
		{"randread", oracle, 1, 16},
		{"randread", oracle, 1, 64},
		{"randread", oracle, 4, 16},
	} {
		rows = append(rows, loopbackRow(w))
	}
	w := work{"randread", oracle, 1, 256}
	return append(rows, row{
		Name: "memory-d256", Title: "loopback, randread 8 KiB, " + w.String(), Warmup: 1, Stretch: 1,
		Entries: []entry{{toolOurs, toolOurs, w, nil}, {toolReader, toolReader, w, nil}},
		Checks:  []score.Check{{Metric: score.MetricMemory, Of: toolOurs, AtMost: 128}},
	})
}

func wireRow(name, pattern string, least float64) row {
	w := work{pattern, mebi, 2, 8}
	r := row{
		Name: name, Title: fmt.Sprintf("1GbE, %s 1 MiB, %s", pattern, w), Warmup: 1, Stretch: 1,
		Entries: []entry{{toolOurs, toolOurs, w, []int{0}}, {toolIperf, toolIperf, w, []int{0}}},
		Checks:  []score.Check{{Metric: score.MetricRate, Of: toolOurs, To: toolIperf, AtLeast: least}},
	}
	if pattern == "read" { // others overwrite unstably, which is other work
		one := work{pattern, mebi, 1, 1}
		r.Entries = append(r.Entries, entry{toolFio, toolFio, one, []int{0}}, entry{toolReader, toolReader, one, []int{0}})
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricRate, Of: toolOurs, To: toolFio, AtLeast: 1})
	}
	return r
}

// linksRow compares n slow links with one, under the same load.
func linksRow(n int, least float64) row {
	w := work{"read", mebi, 2, 8}
	several := fmt.Sprintf("%d links", n)
	r := row{
		Name: fmt.Sprintf("links-%d", n), Title: fmt.Sprintf("%d links of 200 Mbit/s, read 1 MiB, %s", n, w),
		Warmup: 2, Stretch: 2,
		Entries: []entry{{several, toolOurs, w, nil}, {"1 link", toolOurs, w, []int{slowOne}}},
		Checks:  []score.Check{{Metric: score.MetricRate, Of: several, To: "1 link", AtLeast: least}},
	}
	for i := range n {
		r.Entries[0].Links = append(r.Entries[0].Links, slowOne+i)
	}
	return r
}

func loopbackRow(w work) row {
	kind, size := "read", "1 MiB"
	if w.random() {
		kind, size = "random", "8 KiB"
	}
	r := row{
		Name:  fmt.Sprintf("%s-j%d-d%d", kind, w.Jobs, w.Depth),
		Title: fmt.Sprintf("loopback, %s %s, %s", w.Pattern, size, w), Warmup: 1, Stretch: 1,
		Entries: []entry{{toolOurs, toolOurs, w, nil}, {toolFio, toolFio, w, nil}, {toolReader, toolReader, w, nil}},
		Checks:  []score.Check{{Metric: score.MetricRate, Of: toolOurs, To: toolFio, AtLeast: 1}},
	}
	if !w.random() {
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricCPU, Of: toolOurs, To: toolFio, AtMost: 1})
	}
	if !w.random() && w.Jobs == 1 && w.Depth == 1 {
		r.Entries = append(r.Entries, entry{toolCat, toolCat, w, nil})
	}
	return r
}

func (r row) score() score.Row {
	out := score.Row{Name: r.Name, Title: r.Title, Unit: score.UnitBytes, Checks: r.Checks}
	subject := r.Entries[0].Work
	if subject.random() {
		out.Unit = score.UnitOps
	}
	for _, e := range r.Entries {
		c := score.Contender{Name: e.Name}
		if e.Work != subject && e.Tool != toolIperf {
			c.Work = e.Work.String()
		}
		out.Contenders = append(out.Contenders, c)
	}
	return out
}

// chosen picks rows by name; a name may be the beginning of several ones, such
// as "read" or "1gbe". No names mean all rows.
func chosen(rows []row, names []string) ([]row, error) {
	if len(names) == 0 {
		return rows, nil
	}
	wanted := make([]bool, len(rows))
	for _, name := range names {
		found := false
		for i, r := range rows {
			if r.Name == name || strings.HasPrefix(r.Name, name+"-") {
				wanted[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no row %q; --list shows them", name)
		}
	}
	var out []row
	for i, r := range rows {
		if wanted[i] {
			out = append(out, r)
		}
	}
	return out, nil
}

// field keeps the contenders of a row that are there (not without) and asked for
// (only), and adds another build of nfsbench if there is an other.
func (r row) field(without map[string]bool, only []string, other bool) row {
	subject := r.Entries[0]
	entries := []entry{subject}
	if other {
		entries = append(entries, entry{"other build", toolOther, subject.Work, subject.Links})
	}
	for _, e := range r.Entries[1:] {
		isPeer := e.Tool != toolOurs
		if !isPeer || (!without[e.Tool] && (len(only) == 0 || slices.Contains(only, e.Tool))) {
			entries = append(entries, e)
		}
	}
	r.Entries = entries
	return r
}

type turn struct {
	Row, Entry int // indexes
	Repeat     int // from 1
}

// turnsOf orders the measurements by row, repeat and contender. Every other repeat is
// backwards, so that nobody always comes after the same other.
func turnsOf(rows []row, repeats int) []turn {
	var turns []turn
	for i, r := range rows {
		for repeat := 1; repeat <= repeats; repeat++ {
			for k := range r.Entries {
				e := k
				if repeat%2 == 0 {
					e = len(r.Entries) - 1 - k
				}
				turns = append(turns, turn{i, e, repeat})
			}
		}
	}
	return turns
}

func (r row) window(seconds int) int { return seconds * max(1, r.Stretch) }

// lasts is about how long a measurement takes, start and end included.
func (r row) lasts(e entry, seconds int) time.Duration {
	const around = 500 * time.Millisecond
	return time.Duration(r.Warmup+r.window(seconds))*time.Second + around + e.verification()
}

// patience is when a measurement that has not ended never will.
func (r row) patience(e entry, seconds int) time.Duration {
	return r.lasts(e, seconds) + 2*e.verification() + 10*time.Second
}

// verification is how long the links carry the blocks that nfsbench reads back
// after the window: 64 of each file.
func (e entry) verification() time.Duration {
	if len(e.Links) == 0 || (e.Tool != toolOurs && e.Tool != toolOther) {
		return 0
	}
	const blocks, gigabitBytes, slowBytes = 64, 116e6, 23e6
	rate := gigabitBytes
	if e.Links[0] >= slowOne {
		rate = slowBytes * float64(len(e.Links))
	}
	return time.Duration(float64(blocks*int64(e.Work.Jobs)*e.Work.Block) / rate * float64(time.Second))
}

// remaining estimates the time for the turns that are left. Pace is how much
// longer than expected the turns took that are over.
func remaining(rows []row, left []turn, seconds int, pace float64) time.Duration {
	var sum time.Duration
	for _, t := range left {
		sum += rows[t.Row].lasts(rows[t.Row].Entries[t.Entry], seconds)
	}
	return time.Duration(float64(sum) * pace).Round(time.Second)
}
