package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/simulation"
)

// recordedFiles are two results and the records of two runs of a suite, plain or
// gzip.
func recordedFiles(t *testing.T) (a, b, before, after string) {
	t.Helper()
	folder := t.TempDir()
	save := func(name string, write func(*bytes.Buffer) error) string {
		var data bytes.Buffer
		if err := write(&data); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	a = save("kernel.json.gz", func(w *bytes.Buffer) error {
		_, err := runfile.WriteResultGzip(w, experiments.Kit("NFS"))
		return err
	})
	b = save("direct.json", func(w *bytes.Buffer) error { return runfile.WriteResult(w, experiments.Kit("DNFS")) })
	before = save("before.json.gz", func(w *bytes.Buffer) error { return runfile.WriteSuiteRunGzip(w, simulation.Suite("before", 1, 0)) })
	after = save("after.json", func(w *bytes.Buffer) error { return runfile.WriteSuiteRunGzip(w, simulation.Suite("after", 2, .1)) })
	return a, b, before, after
}

// says runs the program and wants an exit code and texts on the stream of it.
func says(t *testing.T, code int, args []string, texts ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("%v: exit code %d, want %d: %s", args, got, code, errs.String())
	}
	text := strings.Join(strings.Fields(out.String()+errs.String()), " ")
	for _, s := range texts {
		if !strings.Contains(text, s) {
			t.Errorf("%v does not say %q:\n%s%s", args, s, out.String(), errs.String())
		}
	}
}

// TestTextOfAFileDoesNotActOnATerminal: the file of a result or a record may come from a stranger.
func TestTextOfAFileDoesNotActOnATerminal(t *testing.T) {
	t.Parallel()
	folder, evil := t.TempDir(), "\x1b]0;pwned\x07\r\u009b2J\u202e"
	var files []string
	for _, name := range []string{"before", "after"} {
		r := simulation.Suite(name, 1, 0)
		gen.Texts(&r, func(s string) string { return s + evil })
		var data bytes.Buffer
		if err := runfile.WriteSuiteRunGzip(&data, r); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(folder, name))
		if err := os.WriteFile(files[len(files)-1], data.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"report", files[0]}, {"compare", files[0]}, append([]string{"compare"}, files...)} {
		var out, errs bytes.Buffer
		run(args, strings.NewReader(""), &out, &errs)
		if text := out.String() + errs.String(); strings.ContainsAny(text, "\x1b\x07\r\u009b\u202e") || !strings.Contains(text, "]0;pwned") {
			t.Errorf("%v shows %q", args, text)
		}
	}
}

func TestTwoFilesAreCompared(t *testing.T) {
	t.Parallel()
	a, b, before, after := recordedFiles(t)
	page := filepath.Join(t.TempDir(), "page.html")
	says(t, cli.ExitOK, []string{"compare", a, b}, "Throughput against kernel", "Mean latency against kernel", "direct Users=8", "?")
	says(t, cli.ExitOK, []string{"compare", a, b, "--metric", "throughput", "-o", "json"}, `"metric": "Throughput"`)
	says(t, cli.ExitOK, []string{"compare", before, after}, "worse", "accepted run before")
	says(t, cli.ExitOK, []string{"compare", a, b, "--minimum-effect", "5", "-o", page})
	contains(t, page, "direct against kernel", "What differs between the two", "Grey: within 5 %")
	says(t, cli.ExitOK, []string{"compare", before, after, "-o", page})
	contains(t, page, "Regressed", "Against the accepted run")
}

func contains(t *testing.T, file string, texts ...string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range texts {
		if !strings.Contains(string(data), s) {
			t.Errorf("%s does not say %q", filepath.Base(file), s)
		}
	}
}

func TestWhatCannotBeComparedIsSaidWithTheFix(t *testing.T) {
	t.Parallel()
	a, b, before, _ := recordedFiles(t)
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{a}, "is a single result"},
		{[]string{a, before}, "not of one kind"},
		{[]string{a, a}, "is compared with itself"},
		{[]string{a, empty}, "empty.json: the file is empty"},
		{[]string{a, filepath.Join(t.TempDir(), "none")}, "no such file"},
		{[]string{"-", "-"}, "only one of the two"},
		{[]string{a, b, "--metric", "Speed"}, `--metric is "Speed"; use Throughput`},
		{[]string{a, b, "--alpha", "5"}, "--alpha is 5"},
		{[]string{a, b, "--minimum-effect", "-1"}, "--minimum-effect is -1"},
		{[]string{a, b, "--correction", "Bonferroni"}, "use Holm, None"},
		{[]string{a, b, "-o", "page"}, "use text, json or html, or a file that ends in .html, .txt or .json"},
	} {
		says(t, cli.ExitBadInput, append([]string{"compare"}, c.args...), c.want)
	}
}

func TestAReportIsWrittenAsItsNameSays(t *testing.T) {
	t.Parallel()
	a, _, before, _ := recordedFiles(t)
	folder := t.TempDir()
	for name, want := range map[string]string{"r.html": "<!DOCTYPE html>", "r.txt": "verdict", "r.json": `"verdict": "NotEvaluated"`} {
		says(t, cli.ExitOK, []string{"report", a, "-o", filepath.Join(folder, name)})
		contains(t, filepath.Join(folder, name), want)
	}
	says(t, cli.ExitOK, []string{"report", before}, "Throughput against the baseline of each")
	says(t, cli.ExitOK, []string{"report", before, "-o", "html"}, "benchmarks/protocols")
	says(t, cli.ExitBadInput, []string{"report", before, a}, "give it alone")
	says(t, cli.ExitBadInput, []string{"report", a, "-o", filepath.Join(folder, "none", "r.html")}, "none")
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
