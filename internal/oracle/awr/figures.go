package awr

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// event holds the numbers of one event from the tables of a report.
type event struct {
	name                 string
	full                 bool  // the name fills its column
	tables               []int // the tables that contain it
	waits, seconds, mean figure
}

// figure is a number and its rounding error.
type figure struct{ value, off float64 }

var (
	numeral  = regexp.MustCompile(`^([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})?(?:\.([0-9]{0,6}))?([KMGT]?)$`)
	duration = regexp.MustCompile(`^([0-9.,]+) ?(ns|us|ms|s)$`)
)

// figures reads the numbers. NLS_NUMERIC_CHARACTERS determines whether point or comma groups digits, but no report
// contains it. Groups have three digits and waits have no fraction, so most reports can be read in only one way.
func figures(rows []row) ([]event, error) {
	events, err := read(rows, false)
	swapped, errSwapped := read(rows, true)
	switch {
	case errSwapped != nil:
		return events, err
	case err != nil: // then only the other way is possible
		return swapped, errSwapped
	}
	for _, r := range rows {
		if strings.Contains(r.waits+r.seconds+r.average, ".") {
			return nil, r.errorf("where a point may group digits or begin a fraction, and no number of the report tells which")
		}
	}
	return events, nil
}

// read reads the numbers with a point as the decimal character or, if swapped, with a comma.
func read(rows []row, swapped bool) ([]event, error) {
	var events []event
	for _, r := range rows {
		waits, okWaits := number(r.waits, swapped)
		seconds, okSeconds := number(r.seconds, swapped)
		mean, okMean := average(r.average, swapped)
		if !okWaits || !okSeconds || !okMean || waits.off < .5 {
			return nil, r.errorf("of which one is no number, or the waits have a fraction")
		}
		waits.off = math.Floor(waits.off)
		events = append(events, event{r.event, r.full, []int{r.table}, waits, seconds, mean})
	}
	return events, nil
}

func (r row) errorf(what string) error {
	return fmt.Errorf("line %d: event %q has %q waits, %q seconds and %q on average, %s: make the report anew with "+
		"NLS_NUMERIC_CHARACTERS = '.,' and wider columns, or of a shorter time",
		r.line, r.event, r.waits, r.seconds, r.average, what)
}

// each merges the rows of an event: the tables of one report cut its name at different lengths, and round
// differently.
func each(all []event) []runfile.AWRRow {
	var events []event
	for _, e := range all {
		if i := slices.IndexFunc(events, e.is); i >= 0 {
			events[i].refine(e)
		} else {
			events = append(events, e)
		}
	}
	rows := make([]runfile.AWRRow, 0, len(events))
	for _, e := range events {
		rows = append(rows, e.row())
	}
	return rows
}

// is reports whether o, from another table, is the same event. Two events may have the same name once their names are
// cut.
func (e event) is(o event) bool {
	if slices.Contains(e.tables, o.tables[0]) {
		return false
	}
	cut := e.full && strings.HasPrefix(o.name, e.name) || o.full && strings.HasPrefix(e.name, o.name)
	return e.name == o.name && !cut || cut && e.agrees(o)
}

// agrees reports whether the waits may be the same number, which one table rounds or cuts.
func (e event) agrees(o event) bool {
	return math.Abs(e.waits.value-o.waits.value) <= 2*(e.waits.off+o.waits.off)
}

// refine takes the longer name, and the more precise of each two numbers.
func (e *event) refine(o event) {
	e.tables = append(e.tables, o.tables...)
	if len(o.name) > len(e.name) {
		e.name, e.full = o.name, o.full
	}
	if e.agrees(o) {
		e.waits, e.seconds, e.mean = finer(e.waits, o.waits), finer(e.seconds, o.seconds), finer(e.mean, o.mean)
	}
}

// finer returns the more precise number, or the first of two equal ones.
func finer(a, b figure) figure {
	if b.off < a.off {
		return b
	}
	return a
}

// row computes the total from the average if that is more precise than the seconds, and the seconds are coarse.
func (e event) row() runfile.AWRRow {
	n, total := e.waits.value, e.seconds
	off := e.mean.off*n + e.mean.value*e.waits.off
	if off < total.off && total.off > total.value/100 {
		total = figure{e.mean.value * n, off}
	}
	return runfile.AWRRow{
		Event: e.name, Waits: int64(n), WaitsRounding: int64(e.waits.off), Seconds: total.value, SecondsRounding: total.off,
	}
}

// number reads 32,032 and 823.4, and the short forms of recent releases, 12.3K. Its error is half of the last digit.
func number(word string, swapped bool) (figure, bool) {
	if swapped {
		word = strings.NewReplacer(".", ",", ",", ".").Replace(word)
	}
	m := numeral.FindStringSubmatch(word)
	if m == nil || m[1]+m[2] == "" {
		return figure{}, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", "")+"."+m[2], 64)
	factor := map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[m[3]]
	return figure{v * factor, 0.5 * math.Pow10(-len(m[2])) * factor}, err == nil && v*factor <= 1e15
}

// average reads 450.00us and 10.25 ms, in seconds. Without a unit the error is infinite.
func average(word string, swapped bool) (figure, bool) {
	m := duration.FindStringSubmatch(word)
	if m == nil {
		return figure{off: math.Inf(1)}, true
	}
	f, ok := number(m[1], swapped)
	unit := map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[m[2]]
	return figure{f.value * unit, f.off * unit}, ok
}
