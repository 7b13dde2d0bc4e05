// Package metrictable reads the tables of docs/observability.md, which what
// exports metrics and what asks for them are both held against.
package metrictable

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nfsbench/nfsbench/test/kit/repository"
)

// Row is a metric with its labels, sorted, and its help.
type Row struct {
	Labels []string
	Help   string
}

// Read gives the rows of all metrics whose names begin so.
func Read(tb testing.TB, prefix string) map[string]Row {
	tb.Helper()
	path, err := repository.Path("docs/observability.md")
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]Row{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `nfsbench_") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		if strings.HasPrefix(name, prefix) {
			labels := regexp.MustCompile("[a-z_]+").FindAllString(cells[2], -1)
			slices.Sort(labels)
			out[name] = Row{Labels: labels, Help: strings.TrimSpace(cells[3])}
		}
	}
	if len(out) == 0 {
		tb.Fatalf("docs/observability.md has no metric that begins with %s: has its form changed?", prefix)
	}
	return out
}

// Described gives the same of what a collector announces.
func Described(tb testing.TB, c prometheus.Collector) map[string]Row {
	tb.Helper()
	form := regexp.MustCompile(`fqName: "([^"]+)", help: "([^"]*)", unit: "[^"]*", constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)
	ch := make(chan *prometheus.Desc, 1000)
	c.Describe(ch)
	close(ch)
	out := map[string]Row{}
	for d := range ch {
		found := form.FindStringSubmatch(d.String())
		if found == nil {
			tb.Fatalf("%s: has its form changed?", d)
		}
		labels := regexp.MustCompile("[a-z_]+").FindAllString(regexp.MustCompile(`="[^"]*"`).ReplaceAllString(found[3], "")+","+found[4], -1)
		slices.Sort(labels)
		out[found[1]] = Row{Labels: labels, Help: found[2]}
	}
	return out
}
