package oraclesuite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/lab/oraclesql/catalog"
)

// report is what a run of the suite found, for those who make nfsbench. It has names of our own
// tests, texts and catalogue, the banner, the numbers of errors, and names of Oracle's columns:
// nothing of the user's, and no figure of performance.
type report struct {
	program, image  string
	banner, version string
	instances       int
	tests           []outcome
	texts           []outcome // that were refused
	columns         []string  // of Oracle's views that differ from the catalogue
	facts           []outcome // what the views say of the I/O, in words

	mu     sync.Mutex // loads connect at the same time
	errors []string   // numbers of those of connections and loads
}

type outcome struct{ name, result string }

// errorNumber is that of Oracle or of its client. The words beside it may name things of the user.
var errorNumber = regexp.MustCompile(`\b(ORA|DPI|PLS|SP2|TNS)-[0-9]{3,5}\b`)

// numbers are those in an error, each once.
func numbers(err error) string {
	found := errorNumber.FindAllString(err.Error(), 8)
	slices.Sort(found)
	return cmp.Or(strings.Join(slices.Compact(found), " "), "without a number")
}

// plain keeps of a text of a stranger what a banner, a version or the name of an image is made of.
func plain(text string) string {
	const most = 200
	text = regexp.MustCompile(`[^A-Za-z0-9 .,:()/_-]+`).ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(text[:min(len(text), most)]), " ")
}

// publicImage is the name of an image that everybody may know; others are the user's.
func publicImage(image string) string {
	if strings.HasPrefix(image, "container-registry.oracle.com/database/") {
		return plain(image)
	}
	if image == "" {
		return "none: a database that runs elsewhere"
	}
	return "one of the user"
}

// add keeps whether a test passed.
func (r *report) add(name string, passed bool) {
	result := "passed"
	if !passed {
		result = "FAILED"
	}
	r.tests = append(r.tests, outcome{name, result})
}

// fact keeps a word that a view says, each once.
func (r *report) fact(name, word string) {
	if f := (outcome{name, plain(word)}); !slices.Contains(r.facts, f) {
		r.facts = append(r.facts, f)
	}
}

// note keeps the numbers of an error, if it is one.
func (r *report) note(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := numbers(err); !slices.Contains(r.errors, n) && len(r.errors) < maxErrors {
		r.errors = append(r.errors, n)
	}
}

const maxErrors = 32

// compareColumns compares the views of a database with the catalogue.
func (s *suite) compareColumns(t *testing.T) {
	db, release := s.released(t)
	s.report.columns = differences(release, func(view string) ([]string, error) { return columnsOf(t.Context(), db, view) })
	for _, d := range s.report.columns {
		t.Log(d)
	}
}

func columnsOf(ctx context.Context, db *sql.DB, view string) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+view+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	return columns, cmp.Or(err, rows.Err(), rows.Close())
}

// differences are the columns of the catalogue that views have not. More columns than those are
// no difference: the catalogue has only those that there is a use for.
func differences(r sqltext.Release, columns func(view string) ([]string, error)) (out []string) {
	for _, view := range catalog.Views() {
		have, err := columns(view)
		if err != nil {
			out = append(out, fmt.Sprintf("%s: %s", view, numbers(err)))
			continue
		}
		for _, c := range catalog.Columns(view, r) {
			if !slices.Contains(have, c) {
				out = append(out, fmt.Sprintf("%s has no column %s", view, c))
			}
		}
	}
	return out
}

const nothingOfYours = `It has no address, no name, no password and no performance figure of yours. Read it before you
send it.
`

// write makes the file.
func (r *report) write(path string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# Report of make test-oracle

%s
| what | value |
|---|---|
| nfsbench | %s |
| image | %s |
| banner | %s |
| version | %s |
| instances | %d |
`, nothingOfYours, plain(r.program), publicImage(r.image), plain(r.banner), plain(r.version), r.instances)
	for _, f := range r.facts {
		fmt.Fprintf(&b, "| %s | %s |\n", f.name, f.result)
	}
	b.WriteString("\n## Tests\n\n| test | result |\n|---|---|\n")
	for _, o := range r.tests {
		fmt.Fprintf(&b, "| %s | %s |\n", o.name, o.result)
	}
	b.WriteString("\n## SQL texts that were refused\n\n")
	for _, o := range r.texts {
		fmt.Fprintf(&b, "- %s: %s\n", o.name, o.result)
	}
	if len(r.texts) == 0 {
		b.WriteString("None.\n")
	}
	b.WriteString("\n## Views that differ from the catalogue\n\n")
	for _, c := range r.columns {
		fmt.Fprintf(&b, "- %s\n", c)
	}
	if len(r.columns) == 0 {
		b.WriteString("None.\n")
	}
	fmt.Fprintf(&b, "\n## Errors of connections and loads\n\nORA-01017 is one that the suite provokes: %s.\n",
		cmp.Or(strings.Join(r.errors, ", "), "none"))
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
