package slobconf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// YAML writes the configuration as a fragment of the spec of an NFSBenchmark.
// It fails on a value that SLOB itself would refuse.
func (c Conf) YAML() (string, error) {
	w := writer{conf: c}
	w.line("# From a slob.conf. Put it below spec of an NFSBenchmark.")
	for _, n := range c.skipped {
		w.line("# Line %d is no plain assignment and was left out.", n)
	}
	w.line("workload:")
	w.line("  slob:")
	w.access()
	w.sizes()
	w.statements()
	w.think()
	w.toggles()
	seconds, note := w.number("RUN_TIME", 30, 1<<31-1)
	w.line("run:")
	w.line("  durationSeconds: %d # %s", seconds, note)
	w.without()
	if len(w.problems) > 0 {
		return "", errors.New(strings.Join(w.problems, "\n"))
	}
	return w.out.String(), nil
}

type writer struct {
	conf     Conf
	out      strings.Builder
	problems []string // what SLOB would refuse
	scan     bool     // FullTableScan
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *writer) fail(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// value returns what holds for SLOB, and what to note about it.
func (w *writer) value(name string) (value, note string) {
	if v, ok := w.conf.values[name]; ok && v != "" {
		return v, name
	}
	for _, k := range keys() {
		if k.name == name {
			return k.fallback, name + " is not set: SLOB takes " + k.fallback
		}
	}
	return "", ""
}

// number reads a parameter that is a whole number within bounds.
func (w *writer) number(name string, lowest, highest int64) (n int64, note string) {
	v, note := w.value(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lowest || n > highest {
		w.fail("%s is %q; write a number from %d to %d", name, v, lowest, highest)
	}
	return n, note
}

func (w *writer) access() {
	pct, note := w.number("SCAN_PCT", 0, 100)
	w.scan = pct == 100
	switch {
	case w.scan:
		w.line("    access: FullTableScan # %s", note)
	case pct == 0:
		w.line("    access: RandomRead # %s", note)
	default:
		w.line("    access: RandomRead # SCAN_PCT is %d: a load does not mix accesses; make a second benchmark with "+
			"FullTableScan", pct)
	}
	w.line("    schemas: 1 # the first argument of runit.sh; slob.conf does not say")
	threads, note := w.number("THREADS_PER_SCHEMA", 1, 16384)
	if threads > maxThreads {
		note = fmt.Sprintf("THREADS_PER_SCHEMA is %d: take more schemas", threads)
	}
	w.line("    threadsPerSchema: %d # %s; or users, a list, for a ramp", min(threads, maxThreads), note)
}

// maxThreads is what workload.slob.threadsPerSchema takes.
const maxThreads = 128

func (w *writer) sizes() {
	block, _ := w.number("BLOCK_SZ", 2048, 32768)
	for _, s := range []struct{ name, field string }{{"SCALE", "scale"}, {"SCAN_TABLE_SZ", "scanTableSize"}} {
		v, note := w.value(s.name)
		bytes, err := size(v, block)
		if err != nil {
			w.fail("%s: %v", s.name, err)
			continue
		}
		if v == strings.Trim(v, "KMGTkmgt") {
			note += fmt.Sprintf(", %s blocks of %d bytes", v, block)
		}
		mebi := max(1, (bytes+1<<20-1)>>20)
		if mebi<<20 != bytes {
			note += ", rounded up"
		}
		quantity := fmt.Sprintf("%dMi", mebi)
		if mebi%1024 == 0 {
			quantity = fmt.Sprintf("%dGi", mebi/1024)
		}
		w.line("    %s: %s # %s", s.field, quantity, note)
	}
}

func (w *writer) statements() {
	unit, note := w.number("WORK_UNIT", 3, 1024)
	w.line("    workUnit: %d # %s", unit, note)
	update, note := w.number("UPDATE_PCT", 0, 100)
	switch {
	case update > 50 && update < 100:
		w.fail("UPDATE_PCT is %d; write 0 to 50, or 100", update)
	case w.scan && update > 0:
		w.line("    # UPDATE_PCT is %d: FullTableScan only reads", update)
	default:
		w.line("    updatePercent: %d # %s", update, note)
	}
	stress, note := w.value("REDO_STRESS")
	switch strings.ToUpper(stress) {
	case "LITE":
		w.line("    redoStress: Lite # %s", note)
	case "HEAVY":
		w.line("    redoStress: Heavy # %s", note)
	default:
		w.fail("REDO_STRESS is %q; write LITE or HEAVY", stress)
	}
	degree, note := w.number("LOAD_PARALLEL_DEGREE", 1, 4096)
	if degree > 64 {
		note = fmt.Sprintf("LOAD_PARALLEL_DEGREE is %d: at most 64", degree)
	}
	w.line("    loadParallelDegree: %d # %s", min(degree, 64), note)
}

func (w *writer) think() {
	frequency, _ := w.number("THINK_TM_FREQUENCY", 0, 1_000_000)
	least, most := w.milliseconds("THINK_TM_MIN"), w.milliseconds("THINK_TM_MAX")
	if frequency == 0 {
		return
	}
	if most < least {
		w.fail("THINK_TM_MAX is less than THINK_TM_MIN; swap them")
	}
	w.line("    think: # THINK_TM_*")
	w.line("      frequency: %d", frequency)
	w.line("      minimumMilliseconds: %d", least)
	w.line("      maximumMilliseconds: %d", max(most, 1))
}

func (w *writer) milliseconds(name string) int64 {
	v, _ := w.value(name)
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || !(s >= 0 && s <= 60) {
		w.fail("%s is %q; write seconds from 0 to 60", name, v)
		return 0
	}
	return int64(s*1000 + 0.5)
}

func (w *writer) toggles() {
	obfuscate, note := w.value("OBFUSCATE_COLUMNS")
	toggle := map[string]string{"TRUE": "Enabled", "FALSE": "Disabled"}[strings.ToUpper(obfuscate)]
	if toggle == "" {
		w.fail("OBFUSCATE_COLUMNS is %q; write TRUE or FALSE", obfuscate)
	}
	w.line("    obfuscateColumns: %s # %s", toggle, note)
	statistics, note := w.value("DATABASE_STATISTICS_TYPE")
	switch strings.ToLower(statistics) {
	case "awr":
		w.line("    awr: Enabled # %s; it needs the Diagnostics Pack", note)
	case "statspack":
		w.line("    awr: Disabled # %s; the V$ views are always read", note)
	default:
		w.fail("DATABASE_STATISTICS_TYPE is %q; write statspack or awr", statistics)
	}
}

// without says what has no counterpart, where SLOB would do something.
func (w *writer) without() {
	known := map[string]bool{}
	for _, k := range keys() {
		known[k.name] = true
		v, set := w.conf.values[k.name]
		if !set || k.none == "" || slices.Contains(k.off, strings.ToUpper(v)) {
			continue
		}
		if k.secret {
			w.line("# %s was left out: %s.", k.name, k.none)
		} else {
			w.line("# %s=%s was left out: %s.", k.name, v, k.none)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.conf.values)) {
		if !known[name] {
			w.line("# %s was left out: it is no parameter of SLOB 2.5.", name)
		}
	}
}
