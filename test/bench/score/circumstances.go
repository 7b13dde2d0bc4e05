package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func circumstances(b *strings.Builder, d Document) {
	m := d.Machine
	fmt.Fprintf(b, "%s. %d repeats of %d s, contenders in turns. Median; the ratio is taken within each repeat.\n", d.Started, d.Repeats, d.Seconds)
	fmt.Fprintf(b, "Machine: %d cores", m.Cores)
	for _, fact := range []string{m.CPU, gibibytes(m.MemoryBytes), m.System, "Linux " + m.Kernel, m.Congestion} {
		if fact != "" {
			b.WriteString(", " + fact)
		}
	}
	fmt.Fprintf(b, "; load average before: %.2f.\n", m.LoadBefore)
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		fmt.Fprintf(b, "- %s: %s\n", name, m.Versions[name])
	}
	for _, text := range d.Reminders {
		fmt.Fprintf(b, "- %s\n", text)
	}
}

func gibibytes(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", float64(bytes)/(1<<30))
}

// Screen is a document for a terminal: each contender of each row, and which
// checks were met.
func Screen(d Document) string {
	var b strings.Builder
	for _, row := range d.Rows {
		fmt.Fprintf(&b, "\n%s  (%s)\n", row.Title, row.Name)
		for i, c := range row.Contenders {
			b.WriteString(contender(d, row, c))
			if i > 0 {
				b.WriteString(beside(d, row, row.Contenders[0].Name, c.Name))
			}
		}
		b.WriteString(verdicts(d, row))
	}
	return b.String()
}

func contender(d Document, row Row, c Contender) string {
	line := fmt.Sprintf("  %-28s %12s", label(c), cell(d, row, c.Name, MetricRate, row.Unit))
	if s, ok := d.Of(row, c.Name, MetricRate); ok {
		line += fmt.Sprintf("  %s..%s", threeDigits(s.Min), threeDigits(s.Max))
	}
	return line + fmt.Sprintf("  CPU %s  p99 %s  %s\n",
		cell(d, row, c.Name, MetricCPU, "s"), cell(d, row, c.Name, MetricP99, "ms"), cell(d, row, c.Name, MetricMemory, "MiB"))
}

func beside(d Document, row Row, subject, peer string) string {
	rate, ok := d.Ratio(row, subject, peer, MetricRate)
	if !ok {
		return ""
	}
	line := fmt.Sprintf("      %s/%s  %.3f (%.3f..%.3f, CV %s)", subject, peer, rate.Median, rate.Min, rate.Max, percent(rate.CV))
	if cpu, ok := d.Ratio(row, subject, peer, MetricCPU); ok {
		line += fmt.Sprintf(", CPU %.2f (%.2f..%.2f)", cpu.Median, cpu.Min, cpu.Max)
	}
	return line + "\n"
}

func verdicts(d Document, row Row) string {
	var b strings.Builder
	for _, c := range row.Checks {
		spread, outcome := d.Judge(row, c)
		what := c.Metric
		if c.To != "" {
			what += " to " + c.To
		}
		fmt.Fprintf(&b, "  %-7s %s %s %s", outcome, c.Of, what, c.bound())
		if spread.Repeats > 0 {
			fmt.Fprintf(&b, ": %.3f", spread.Median)
		}
		b.WriteString("\n")
	}
	return b.String()
}
