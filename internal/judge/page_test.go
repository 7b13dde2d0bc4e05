package judge

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

// With -update this test writes docs/findings.md from findings.md.tmpl; hack/generate.sh does so.
func TestTheDocsHaveTheThresholds(t *testing.T) {
	t.Parallel()
	short := func(v float64, unit string) string { return strconv.FormatFloat(v, 'f', -1, 64) + unit }
	scaled := func(by float64, unit string) func(float64) string {
		return func(v float64) string { return short(v*by, unit) }
	}
	page, err := template.New("findings.md.tmpl").Option("missingkey=error").Funcs(template.FuncMap{
		"percent": scaled(0.1, " %"), "rest": func(permille float64) string { return short(100-permille/10, " %") },
		"points": scaled(0.1, ""), "percentOf": scaled(100, " %"), "times": scaled(0.001, ""),
		"seconds": scaled(0.001, " s"), "latency": human.Latency[float64],
		"megabytes": scaled(1e-6, " MB/s"), "kilobytes": scaled(1e-3, " kB/s"), "size": human.Bytes[float64],
	}).ParseFiles("findings.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	values := thresholds(t)
	values["invalid"] = effectWords(func(e effect) int { return e.invalid })
	values["suspect"] = effectWords(func(e effect) int {
		if e.invalid == rank(bench.SeverityInfo) {
			return never // such a finding always makes the run Invalid
		}
		return e.suspect
	})
	var out bytes.Buffer
	if err := page.Execute(&out, values); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../docs/findings.md", out.Bytes())
}

// thresholds returns the constants of thresholds.go, and those of measure that findings.md names.
func thresholds(t *testing.T) map[string]any {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "thresholds.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("judge", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"ForeignCPU": float64(measure.ForeignCPU), "PausedMilliseconds": float64(measure.PausedMilliseconds)}
	for _, name := range pkg.Scope().Names() {
		values[name], _ = constant.Float64Val(pkg.Scope().Lookup(name).(*types.Const).Val())
	}
	return values
}

// effectWords lists the codes that have an effect, by the least severity that has it.
func effectWords(least func(effect) int) string {
	var words []string
	for _, severities := range []struct {
		rank  int
		words string
	}{
		{rank(bench.SeverityInfo), ""}, {rank(bench.SeverityWarning), " as Warning or Error"}, {rank(bench.SeverityError), " as Error"},
	} {
		var codes []string
		for _, e := range effects() {
			if least(e) == severities.rank {
				codes = append(codes, e.codes...)
			}
		}
		if len(codes) > 0 {
			words = append(words, "any `"+strings.Join(codes, "`, `")+"`"+severities.words)
		}
	}
	return strings.Join(words, "; ")
}
