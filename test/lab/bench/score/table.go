package score

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// The lines in a page around the tables.
const (
	BeginMarker         = "<!-- bench:begin (written by make bench) -->"
	BeginCapacityMarker = "<!-- bench:begin capacity (written by make bench, or hack/bench.sh --rows capacity) -->"
	EndMarker           = "<!-- bench:end -->"
)

// Between puts a text between two lines of a document.
func Between(document, text, begin, end string) (string, error) {
	before, rest, ok := strings.Cut(document, begin)
	if !ok {
		return "", fmt.Errorf("no line %q", begin)
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("no line %q after %q", end, begin)
	}
	return before + begin + "\n\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}

// Markdown formats a document as tables: speed, cost, capacities, and circumstances.
func Markdown(d Document) string {
	var b strings.Builder
	if !d.Complete {
		fmt.Fprintf(&b, "**Interrupted**: %d measurements.\n\n", len(d.Samples))
	}
	var rows, capacities []Row
	for _, row := range d.Rows {
		if row.Unit == UnitCapacity {
			capacities = append(capacities, row)
		} else {
			rows = append(rows, row)
		}
	}
	if len(rows) > 0 {
		speed(&b, d, rows)
		cost(&b, d, rows)
		fmt.Fprintf(&b, "%d repeats of %d s, contenders in turns. Median; the ratio is taken within each repeat.\n\n", d.Repeats, d.Seconds)
	}
	capacity(&b, d, capacities)
	circumstances(&b, d)
	return b.String()
}

func speed(b *strings.Builder, d Document, rows []Row) {
	b.WriteString("| row | nfsbench | beside it | reached | ratio | from..to | CV ours, theirs | asked | |\n")
	b.WriteString("|---|--:|---|--:|--:|--:|--:|--:|---|\n")
	for _, row := range rows {
		subject := row.Contenders[0]
		ours, measured := d.Of(row, subject.Name, MetricRate)
		for _, peer := range row.Contenders[1:] {
			theirs, _ := d.Of(row, peer.Name, MetricRate)
			ratio, both := d.Ratio(row, subject.Name, peer.Name, MetricRate)
			line := []string{
				row.Title, value(ours, measured, row.Unit), label(peer), cell(d, row, peer.Name, MetricRate, row.Unit),
				dash(both, "**%.3f**", ratio.Median), dash(both, "%.3f..%.3f", ratio.Min, ratio.Max),
				percent(ours.CV) + ", " + percent(theirs.CV),
			}
			line = append(line, asked(d, row, MetricRate, peer.Name)...)
			b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		}
	}
	b.WriteString("\n")
}

func cost(b *strings.Builder, d Document, rows []Row) {
	b.WriteString("CPU is user and system time of the client for 1 GiB, or for 10^6 operations.\n\n")
	b.WriteString("| row | client | CPU | ratio ours to theirs | asked | | p99 | peak memory | asked | |\n")
	b.WriteString("|---|---|--:|--:|--:|---|--:|--:|--:|---|\n")
	for _, row := range rows {
		subject := row.Contenders[0].Name
		for i, c := range row.Contenders {
			ratio, both := d.Ratio(row, subject, c.Name, MetricCPU)
			line := []string{
				row.Title, label(c), cell(d, row, c.Name, MetricCPU, "s"),
				dash(both && i > 0, "**%.2f** (%.2f..%.2f)", ratio.Median, ratio.Min, ratio.Max),
			}
			line = append(line, asked(d, row, MetricCPU, c.Name)...)
			p99 := cell(d, row, c.Name, MetricP99, "ms")
			if ask := asked(d, row, MetricP99, c.Name); ask[0] != "" {
				p99 += fmt.Sprintf(", ratio %s: %s", ask[0], ask[1])
			}
			line = append(line, p99, cell(d, row, c.Name, MetricMemory, "MiB"))
			memory := []string{"", ""}
			if i == 0 {
				memory = asked(d, row, MetricMemory, "")
			}
			b.WriteString("| " + strings.Join(append(line, memory...), " | ") + " |\n")
		}
	}
	b.WriteString("\n")
}

func label(c Contender) string {
	if c.Work == "" {
		return c.Name
	}
	return c.Name + ", " + c.Work
}

// asked finds the check of a row on one metric against one contender, and returns its requirement and result.
func asked(d Document, row Row, metric, to string) []string {
	for _, c := range row.Checks {
		if c.Metric != metric || c.To != to {
			continue
		}
		_, outcome := d.Judge(row, c)
		unit := ""
		if to == "" && metric == MetricMemory {
			unit = " MiB"
		}
		return []string{c.bound() + unit, string(outcome)}
	}
	return []string{"", ""}
}

func (c Check) bound() string {
	if c.AtLeast > 0 && c.AtMost > 0 {
		return fmt.Sprintf("%g to %g", c.AtLeast, c.AtMost)
	}
	if c.AtLeast > 0 {
		return fmt.Sprintf(">= %g", c.AtLeast)
	}
	return fmt.Sprintf("<= %g", c.AtMost)
}

// cell is the median of a metric; where no rate is known, why there is none.
func cell(d Document, row Row, contender, metric, unit string) string {
	spread, ok := d.Of(row, contender, metric)
	switch {
	case ok && spread.Failures > 0:
		return value(spread, true, unit) + fmt.Sprintf(" (%d of %d failed)", spread.Failures, spread.Failures+spread.Repeats)
	case ok:
		return value(spread, true, unit)
	}
	for _, s := range d.SamplesOf(row.Name, contender) {
		if (metric == MetricRate || metric == MetricCapacity) && s.State != StateDone {
			return s.State
		}
	}
	return "-"
}

func value(s Spread, ok bool, unit string) string {
	return dash(ok, "%s %s", threeDigits(s.Median), unit)
}

// threeDigits writes what can be told apart on a machine and no more.
func threeDigits(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	if v >= 1000 { // of integers four digits
		scale *= 10
	}
	return fmt.Sprintf("%.*f", digits, math.Round(v*scale)/scale)
}

func percent(cv *float64) string {
	if cv == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", *cv*100)
}

func dash(ok bool, format string, values ...any) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf(format, values...)
}

func circumstances(b *strings.Builder, d Document) {
	m := d.Machine
	fmt.Fprintf(b, "%s.\nMachine: %d cores", d.Started, m.Cores)
	memory := ""
	if m.MemoryBytes > 0 {
		memory = fmt.Sprintf("%.0f GiB", float64(m.MemoryBytes)/(1<<30))
	}
	for _, fact := range []string{m.CPU, memory, m.System, "Linux " + m.Kernel, m.Congestion} {
		if fact != "" {
			b.WriteString(", " + fact)
		}
	}
	fmt.Fprintf(b, "; load average before: %.2f.\n", m.LoadBefore)
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		fmt.Fprintf(b, "- %s: %s\n", name, m.Versions[name])
	}
	for _, text := range slices.Concat(d.Reminders, d.CapacityReminders) {
		fmt.Fprintf(b, "- %s\n", text)
	}
}
