package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

// The programs that take part.
const (
	toolOurs   = "nfsbench"
	toolOther  = "other"  // another build of nfsbench
	toolFio    = "fio"    // its nfs engine
	toolReader = "libnfs" // test/lab/bench/peer
	toolCat    = "nfs-cat"
	toolIperf  = "iperf3"
	toolSocket = "bare socket" // test/lab/bench/peer
)

// The places where files are.
const (
	placeServer    = ""          // the export of NFS-Ganesha, over its links or the loopback
	placeDirectory = "directory" // a folder of this machine, by O_DIRECT
	placePNFS      = "pnfs"      // the export of the pNFS array, Links[0] being the number of the node that is asked
)

// The versions of NFS. An empty one is v3.
const (
	v40  = "4.0"
	v41  = "4.1"
	pnfs = "pNFS"
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
	Place string
	NFS   string        // version
	How   string        // engine of fio; null = bare socket to a server without files; in a capacity row, the method
	Bound time.Duration // for 99 % of the operations; a capacity row
	Rate  int64         // operations a second that are offered; 0 = a closed loop
}

// row is a score.Row and how to measure it.
type row struct {
	Name, Title string
	Entries     []entry // the first one is the subject
	Checks      []score.Check
	Warmup      int    // seconds
	Stretch     int    // the window is this many times the usual one
	Unit        string // empty = unit of the work
	Once        bool   // regardless of the number of repeats
}

// The links of the arena: the first one is a 1GbE, the next four are slower, so
// that together they do not ask more of two cores than they have. The last one is a
// veth pair as the kernel makes it.
const (
	gigabit  = "984mbit" // with Ethernet's overhead that tc does not count, the payload of 1GbE
	slow     = "200mbit"
	slowOne  = 1 // number of the first slow LIF
	vethPair = 5 // number of the LIF without a limit
)

func linkRates() string { return strings.Join([]string{gigabit, slow, slow, slow, slow, "off"}, ",") }

const (
	mebi      = 1 << 20
	oracle    = 8 << 10 // a database block
	fileBytes = 512 * mebi
	// pnfsFileBytes are less, because the slow links fill these files.
	pnfsFileBytes = 64 * mebi
)

// localWorks are the depths and jobs over the loopback and over a veth pair.
func localWorks() []work {
	return []work{
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
	}
}

// allRows is the benchmark.
func allRows() []row {
	rows := []row{
		wireRow("1gbe-read", "read", 0.99),
		wireRow("1gbe-overwrite", "overwrite", 0.97),
		linksRow("", 2, 1.95), linksRow("", 4, 3.9), linksRow(v41, 4, 3.9),
	}
	for _, version := range []string{"", v40} {
		for _, w := range localWorks() {
			rows = append(rows, peersRow("", "loopback", version, w, nil), peersRow("veth-", "a veth pair", version, w, []int{vethPair}))
		}
	}
	for _, rate := range []int64{4_000, 8_000, 12_000} {
		rows = append(rows, rateRow(rate))
	}
	rows = append(
		rows,
		sessionRow(work{"read", mebi, 1, 1}, 0.95), sessionRow(work{"read", mebi, 1, 8}, 0.95),
		sessionRow(work{"randread", oracle, 1, 1}, 0), sessionRow(work{"randread", oracle, 1, 16}, 0.85),
		pnfsRow(1.9),
	)
	for _, version := range []string{"", v40, v41} {
		rows = append(rows, floorRow(version, work{"randread", oracle, 1, 1}), floorRow(version, work{"randread", oracle, 1, 16}))
	}
	rows = append(rows, floorRow("", work{"read", mebi, 1, 1}), floorRow("", work{"read", mebi, 1, 8}))
	for _, depth := range []int{1, 16, 64} {
		rows = append(rows, kernelRow(work{"randread", oracle, 1, depth}), kernelRow(work{"read", mebi, 1, depth}))
	}
	rows = append(rows, capacityRows()...)
	w := work{"randread", oracle, 1, 256}
	return append(rows, row{
		Name: "memory-d256", Title: "loopback, randread 8 KiB, " + w.String(), Warmup: 1, Stretch: 1,
		Entries: []entry{{Name: toolOurs, Tool: toolOurs, Work: w}, {Name: toolReader, Tool: toolReader, Work: w}},
		Checks:  []score.Check{{Metric: score.MetricMemory, Of: toolOurs, AtMost: 128}},
	})
}

func wireRow(name, pattern string, least float64) row {
	w := work{pattern, mebi, 2, 8}
	r := row{
		Name: name, Title: fmt.Sprintf("1GbE, %s 1 MiB, %s", pattern, w), Warmup: 1, Stretch: 1,
		Entries: []entry{
			{Name: toolOurs, Tool: toolOurs, Work: w, Links: []int{0}}, {Name: toolIperf, Tool: toolIperf, Work: w, Links: []int{0}},
		},
		Checks: []score.Check{{Metric: score.MetricRate, Of: toolOurs, To: toolIperf, AtLeast: least}},
	}
	if pattern == "read" { // others overwrite unstably, which is other work
		one := work{pattern, mebi, 1, 1}
		r.Entries = append(
			r.Entries,
			entry{Name: toolFio, Tool: toolFio, Work: one, Links: []int{0}},
			entry{Name: toolReader, Tool: toolReader, Work: one, Links: []int{0}},
		)
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricRate, Of: toolOurs, To: toolFio, AtLeast: 1})
	}
	return r
}

// prefix begins the name of a row for a version of NFS.
func prefix(version string) string {
	switch version {
	case "":
		return ""
	case pnfs:
		return "pnfs-"
	default:
		return "v" + version + "-"
	}
}

// label names a version as people do.
func label(version string) string {
	switch version {
	case "":
		return "NFSv3"
	case pnfs:
		return pnfs
	default:
		return "NFSv" + version
	}
}

// linksRow compares n slow links with one, under the same load.
func linksRow(version string, n int, least float64) row {
	w := work{"read", mebi, 2, 8}
	several := fmt.Sprintf("%d links", n)
	title := fmt.Sprintf("%d links of 200 Mbit/s, read 1 MiB, %s", n, w)
	if version != "" {
		title = label(version) + ", " + title
	}
	r := row{
		Name: fmt.Sprintf("%slinks-%d", prefix(version), n), Title: title, Warmup: 2, Stretch: 2,
		Entries: []entry{
			{Name: several, Tool: toolOurs, Work: w, NFS: version},
			{Name: "1 link", Tool: toolOurs, Work: w, Links: []int{slowOne}, NFS: version},
		},
		Checks: []score.Check{{Metric: score.MetricRate, Of: several, To: "1 link", AtLeast: least}},
	}
	for i := range n {
		r.Entries[0].Links = append(r.Entries[0].Links, slowOne+i)
	}
	return r
}

// pnfsRow compares two data servers with one server that gets from the other what
// it has not, over its own link.
func pnfsRow(least float64) row {
	w := work{"read", mebi, 6, 4} // the name of a file chooses its server: of six, both have some
	two, one := "2 data servers", "1 server, NFSv4.1"
	return row{
		Name: "pnfs-2", Title: "pNFS, 2 data servers behind links of 200 Mbit/s, read 1 MiB, " + w.String(), Warmup: 2, Stretch: 2,
		Entries: []entry{
			{Name: two, Tool: toolOurs, Work: w, Links: []int{0}, Place: placePNFS, NFS: pnfs},
			{Name: one, Tool: toolOurs, Work: w, Links: []int{0}, Place: placePNFS, NFS: v41},
		},
		Checks: []score.Check{{Metric: score.MetricRate, Of: two, To: one, AtLeast: least}},
	}
}

// kind begins the name of a row for its pattern; size is its block size.
func (w work) kind() (kind, size string) {
	if w.random() {
		return "random", "8 KiB"
	}
	return "read", "1 MiB"
}

// plainRow has the names of a row by version, place and work, with us alone in it.
func plainRow(before, where, version string, w work) row {
	kind, size := w.kind()
	if version != "" {
		where = label(version) + ", " + where
	}
	return row{
		Name:    fmt.Sprintf("%s%s-j%d-d%d", before+prefix(version), kind, w.Jobs, w.Depth),
		Title:   fmt.Sprintf("%s, %s %s, %s", where, w.Pattern, size, w),
		Entries: []entry{{Name: toolOurs, Tool: toolOurs, Work: w, NFS: version}}, Warmup: 1, Stretch: 1,
	}
}

// peersRow compares us with other clients on the same machine.
func peersRow(before, where, version string, w work, links []int) row {
	r := plainRow(before, where, version, w)
	for _, peer := range []string{toolFio, toolReader} {
		r.Entries = append(r.Entries, entry{Name: peer, Tool: peer, Work: w, NFS: version})
	}
	r.Checks = []score.Check{{Metric: score.MetricRate, Of: toolOurs, To: toolFio, AtLeast: 1}}
	if !w.random() {
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricCPU, Of: toolOurs, To: toolFio, AtMost: 1})
	}
	if version == "" && !w.random() && w.Jobs == 1 && w.Depth == 1 {
		r.Entries = append(r.Entries, entry{Name: toolCat, Tool: toolCat, Work: w})
	}
	for i := range r.Entries {
		r.Entries[i].Links = links
	}
	return r
}

// rateRow compares latencies from when an operation was due, at the same offered rate. fio takes no part: it counts
// from when an operation began, also if that was late.
func rateRow(rate int64) row {
	w := work{"randread", oracle, 1, 16}
	r := row{
		Name: fmt.Sprintf("rate-%d", rate), Title: fmt.Sprintf("a veth pair, randread 8 KiB at %d/s, %s", rate, w), Warmup: 1, Stretch: 1,
		Checks: []score.Check{
			{Metric: score.MetricRate, Of: toolOurs, To: toolReader, AtLeast: 0.99},
			{Metric: score.MetricP99, Of: toolOurs, To: toolReader, AtMost: 1},
		},
	}
	for _, tool := range []string{toolOurs, toolReader} {
		r.Entries = append(r.Entries, entry{Name: tool, Tool: tool, Work: w, Links: []int{vethPair}, Rate: rate})
	}
	return r
}

// sessionRow compares v4.1 with our own v3. With a least of 0 only the CPU time has
// a bound.
func sessionRow(w work, least float64) row {
	r := plainRow("", "loopback", v41, w)
	v3 := entry{Name: "nfsbench, NFSv3", Tool: toolOurs, Work: w}
	r.Entries = append(r.Entries, v3)
	if least > 0 {
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricRate, Of: toolOurs, To: v3.Name, AtLeast: least})
	}
	r.Checks = append(r.Checks, score.Check{Metric: score.MetricCPU, Of: toolOurs, To: v3.Name, AtMost: 1.25})
	return r
}

// floorRow compares us with the same bytes over a bare socket, always with NFSv3: from the same server,
// and with one outstanding I/O also from a server without files, which would answer many at once.
func floorRow(version string, w work) row {
	r := plainRow("floor-", "floor", version, w)
	r.Entries = append(r.Entries, entry{Name: toolSocket, Tool: toolSocket, Work: w})
	if w.Depth == 1 {
		r.Entries = append(r.Entries, entry{Name: "bare socket, no files", Tool: toolSocket, Work: w, How: noFiles})
	}
	for _, e := range r.Entries[1:] {
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricCPU, Of: toolOurs, To: e.Name, AtMost: 1.3})
	}
	return r
}

// noFiles lets a bare socket lead to a server that answers without files.
const noFiles = "no files"

// kernelRow compares the Kernel engine with fio on the same folder.
func kernelRow(w work) row {
	r := plainRow("kernel-", "directory", "", w)
	for _, engine := range []string{"libaio", "io_uring"} {
		e := entry{Name: "fio, " + engine, Tool: toolFio, Work: w, How: engine}
		r.Entries = append(r.Entries, e)
		r.Checks = append(
			r.Checks,
			score.Check{Metric: score.MetricRate, Of: toolOurs, To: e.Name, AtLeast: 0.97},
			score.Check{Metric: score.MetricCPU, Of: toolOurs, To: e.Name, AtMost: 1.2},
		)
	}
	for i := range r.Entries {
		r.Entries[i].Place = placeDirectory
	}
	return r
}

func (r row) score() score.Row {
	out := score.Row{Name: r.Name, Title: r.Title, Unit: score.UnitBytes, Checks: r.Checks}
	subject := r.Entries[0].Work
	if subject.random() {
		out.Unit = score.UnitOps
	}
	if r.Unit != "" {
		out.Unit = r.Unit
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

// quick lists the rows that together use every program, and most places.
const quick = "quick"

// others are all rows but those that search for a capacity. Those take half an hour and have a record of their own.
const others = "others"

func quickRows() []string {
	return []string{
		"1gbe-read", "links-2", "read-j1-d1", "random-j1-d16", "v4.0-random-j1-d16", "v4.1-random-j1-d16",
		"floor-random-j1-d1", "kernel-random-j1-d16", "kernel-read-j1-d1", "capacity-relay",
	}
}

// chosen picks rows by name; a name may be the beginning of several ones, such
// as "read" or "1gbe", or quick. Others stands alone. No names mean all rows.
func chosen(rows []row, names []string) ([]row, error) {
	if len(names) == 0 {
		return rows, nil
	}
	if slices.Equal(names, []string{others}) {
		return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return strings.HasPrefix(r.Name, capacityPrefix) }), nil
	}
	wanted := make([]bool, len(rows))
	if i := slices.Index(names, quick); i >= 0 {
		names = slices.Concat(names[:i], quickRows(), names[i+1:])
	}
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
		another := subject
		another.Name, another.Tool = "other build", toolOther
		entries = append(entries, another)
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

func hasVersion(e entry) bool { return e.NFS != "" }

func isPNFS(e entry) bool { return e.Place == placePNFS }

func isLocal(e entry) bool { return e.Place == placeDirectory }

// possible keeps the rows whose NFS version and place are available, and explains why the others are left out.
func possible(rows []row, versions, array bool) (keep []row, left []string) {
	for _, r := range rows {
		switch {
		case slices.ContainsFunc(r.Entries, hasVersion) && !versions:
			left = append(left, r.Name+": this nfsbench speaks NFSv3 only")
		case slices.ContainsFunc(r.Entries, isPNFS) && !array:
			left = append(left, r.Name+": there is no pNFS array")
		default:
			keep = append(keep, r)
		}
	}
	return keep, left
}

type turn struct {
	Row, Entry int // indexes
	Repeat     int // from 1
}

// turnsOf orders the measurements by row, repeat and contender. Every other repeat is backwards, so
// that no contender always follows the same other one.
func turnsOf(rows []row, repeats int) []turn {
	var turns []turn
	for i, r := range rows {
		most := repeats
		if r.Once {
			most = 1
		}
		for repeat := 1; repeat <= most; repeat++ {
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

// needs reports whether any of the rows has a contender of this kind.
func needs(rows []row, is func(entry) bool) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return slices.ContainsFunc(r.Entries, is) })
}

func (e entry) fileBytes() int {
	if e.Place == placePNFS {
		return pnfsFileBytes
	}
	return fileBytes
}

func (r row) window(seconds int) int { return seconds * max(1, r.Stretch) }

// lasts is about how long a measurement takes, start and end included.
func (r row) lasts(e entry, seconds int) time.Duration {
	const around = 500 * time.Millisecond
	if e.Bound > 0 {
		return e.search(max(r.window(seconds), leastLongest))
	}
	return time.Duration(r.Warmup+r.window(seconds))*time.Second + around + e.verification(r.window(seconds))
}

// typicalLevels of the longest length take about as long as a search.
const typicalLevels = 4

// search returns roughly how long a contender of a capacity row takes, if the longest level has
// longest seconds.
func (e entry) search(longest int) time.Duration {
	levels := typicalLevels
	switch e.How {
	case howSweep:
		levels = len(sweepRates(relayRate))
	case howTarget:
		return targetMost * time.Second
	}
	return time.Duration(levels*(longest+sweepWarmup)) * time.Second
}

// patience is when a measurement that has not ended never will.
func (r row) patience(e entry, seconds int) time.Duration {
	patience := r.lasts(e, seconds) + 2*e.verification(r.window(seconds)) + 10*time.Second
	if e.How == howSearch { // it may measure many levels on a server that changes
		patience *= runfile.MaxCapacityLevels / typicalLevels
	}
	return patience
}

// verification is how long nfsbench reads back after a window of so many seconds: what it wrote, for as long as the
// window or 10 s at most, or 64 blocks of each file over the links.
func (e entry) verification(window int) time.Duration {
	switch {
	case e.Tool != toolOurs && e.Tool != toolOther:
		return 0
	case !strings.HasSuffix(e.Work.Pattern, "read"):
		return time.Duration(max(window, 10)) * time.Second
	case len(e.Links) == 0 || e.Links[0] == vethPair:
		return 0
	}
	const blocks, gigabitBytes, slowBytes = 64, 116e6, 23e6
	rate := gigabitBytes
	if e.Links[0] >= slowOne || e.Place == placePNFS {
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
