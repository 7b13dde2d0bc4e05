package oraclesql

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/kit/golden"
	"github.com/nfsbench/nfsbench/test/kit/sqlname"
	"github.com/nfsbench/nfsbench/test/lab/oraclesql/catalog"
)

// rendered returns every text as a database would get it, by a name of its own.
// A new place needs a value here.
func rendered(t *testing.T) map[string]string {
	t.Helper()
	samples := map[string]any{
		"Column": "c2", "Columns": "c2", "File": sqltext.Literal("/opt/oracle/oradata/x.dbf"), "Megabytes": 512, "Group": 4,
		"Password": sqltext.Password("correct horse"), "Schema": "nfsbench1", "Table": "nfsbench_scan", "Tablespace": "nfsbench",
		"Name": sqltext.Parameter("sga_target"), "Value": sqltext.Value("2G"),
	}
	texts := map[string]string{}
	for _, name := range sqltext.Names() {
		values := map[string]any{}
		for _, m := range regexp.MustCompile(`\{\{\.([A-Za-z]+)\}\}`).FindAllStringSubmatch(sqltext.Raw(name), -1) {
			value, ok := samples[m[1]]
			if !ok {
				t.Fatalf("%s has a place %s: give it a value in this test", name, m[1])
			}
			values[m[1]] = value
		}
		text, err := sqltext.Render(name, values)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	for i, p := range [][2]string{{"_db_block_prefetch_limit", "0"}, {"filesystemio_options", "setall"}, {"x", "-1"}, {"y", "it's"}, {"z", "TRUE"}} {
		text, err := sqltext.Render("set_parameter", map[string]any{"Name": sqltext.Parameter(p[0]), "Value": sqltext.Value(p[1])})
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprintf("set_parameter %d", i)] = text
	}
	return texts
}

func TestEveryTextIsOraclesSQL(t *testing.T) {
	out, err := lint(t, rendered(t))
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWhatIsNotOraclesSQLIsSeen(t *testing.T) {
	wrong := map[string]string{
		"where":      "SELECT a FROM WHERE b",
		"argument":   "BEGIN\n    foo(a => );\nEND;",
		"sort":       "SELECT name FROM v$datafile ORDER name",
		"value":      "ALTER SYSTEM SET x SCOPE = SPFILE",
		"order":      "ALTER SYSTEM SET x = 1 SID = '*' SCOPE = SPFILE",
		"block":      "BEGIN\n    SELECT 1 INTO x FROM dual;",
		"tablespace": "CREATE TABLESPACE x DATAFILE SIZE",
		"user":       "ALTER USER x IDENTIFIED",
		"string":     "SELECT 'a FROM dual",
		"backticks":  "SELECT `name` FROM v$datafile",
	}
	out, err := lint(t, wrong)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the parser ended with %v, want 1:\n%s", err, out)
	}
	for name := range wrong {
		if !strings.Contains(out, "/"+name+".sql:") {
			t.Errorf("%s is taken for SQL: %q", name, wrong[name])
		}
	}
}

// lint runs the parser over texts, and returns what it printed.
func lint(t *testing.T, texts map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	args := make([]string, 0, len(texts))
	for name, text := range texts {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".sql")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	cmd := exec.CommandContext(t.Context(), "../../../hack/oracle/sqllint.sh", args...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestEveryTextNamesOnlyWhatItsReleasesHave(t *testing.T) {
	for name, text := range rendered(t) {
		releases, err := Covers(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, r := range releases {
			if err := catalog.Check(text, r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A new column or argument needs a page of Oracle's reference in catalog/pages.go, or is
// listed as one that no page confirms.
func TestTheDocumentSaysWhichPagesConfirmOurNames(t *testing.T) {
	used, err := catalog.Used(slices.Collect(maps.Values(rendered(t))), sqltext.Release23)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "references.md", []byte(Report(used)))
}

func TestEveryTextBeginsWithItsName(t *testing.T) {
	for _, name := range sqltext.Names() {
		if got, ok := sqlname.Of(sqltext.Raw(name)); !ok || got != name {
			t.Errorf("%s.sql calls itself %q", name, got)
		}
		if !regexp.MustCompile(`\A[^\n]+\n-- releases: `).MatchString(sqltext.Raw(name)) {
			t.Errorf("%s.sql does not say in its second line for which releases it is", name)
		}
	}
}

// A SELECT with a semicolon is ORA-00933, and a block without one does not end.
func TestOnlyBlocksEndWithASemicolon(t *testing.T) {
	for name, text := range rendered(t) {
		block := regexp.MustCompile(`(?m)^(BEGIN|DECLARE)\b`).MatchString(text)
		if got := strings.HasSuffix(strings.TrimSpace(text), ";"); got != block {
			t.Errorf("%s: ends with a semicolon: %v, is a block: %v", name, got, block)
		}
	}
}
