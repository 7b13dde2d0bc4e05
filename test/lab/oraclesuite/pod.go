package oraclesuite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// PodReport writes the report of benchmarks in a database that the operator started. Of each one, the
// directory has NAME.doctor.json and NAME.json, and NAME.result.gz if there is a result.
func PodReport(w io.Writer, dir, program, image string, names []string) error {
	fmt.Fprintf(w, "# Report of make test-oracle-pod\n\n%s\n| what | value |\n|---|---|\n| nfsbench | %s |\n| image | %s |\n", nothingOfYours,
		plain(program), publicImage(image))
	var errs []error
	for _, name := range names {
		errs = append(errs, podSection(w, filepath.Join(dir, name), name))
	}
	return errors.Join(errs...)
}

func podSection(w io.Writer, path, name string) error {
	r := &report{}
	var doctor struct{ Checks []runfile.Check }
	var b v1alpha1.NFSBenchmark
	if err := readJSON(path+".json", &b); err != nil {
		return err
	}
	if readJSON(path+".doctor.json", &doctor) != nil {
		r.fact("doctor", "FAILED") // before it has begun
	}
	for _, c := range doctor.Checks {
		said := ""
		if c.Check == "image" || c.Check == "start command" || c.Check == "Direct NFS" { // which are of the image
			said = ": " + strings.ReplaceAll(ofTheUser.ReplaceAllString(c.Message, "..."), "|", " ")
		}
		r.facts = append(r.facts, outcome{"doctor, " + c.Check, c.Result + said})
	}
	r.fact("phase", string(b.Status.Phase))
	r.fact("validity", string(b.Status.Validity))
	for _, c := range b.Status.Conditions {
		r.fact(c.Type, string(c.Status)+", "+c.Reason)
	}
	if errorNumber.MatchString(b.Status.Message) {
		r.fact("errors", numbers(errors.New(b.Status.Message)))
	}
	for _, f := range b.Status.Findings {
		r.fact("finding", f.Code)
	}
	if err := r.addResult(path + ".result.gz"); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n## %s\n\n| what | value |\n|---|---|\n", name)
	for _, f := range r.facts {
		fmt.Fprintf(w, "| %s | %s |\n", f.name, f.result)
	}
	return nil
}

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	return err
}

// addResult adds what a result file says of the database. No file is no error.
func (r *report) addResult(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	result, err := runfile.ReadResult(f)
	if err != nil {
		return err
	}
	for _, c := range result.Clients {
		if o := c.Load.Oracle; o != nil {
			r.fact("banner", o.Banner)
			r.fact("version", o.Version)
			r.fact("restarted", fmt.Sprint(o.Restarted))
			r.addLibrary(o.Library)
		}
		for _, rep := range c.Load.Repetitions {
			if rep.Oracle != nil {
				r.accessOf(rep.Oracle)
				r.fact("times of V$IOSTAT_FILE", cmp.Or(rep.Oracle.ServiceTimeUnit, "unknown"))
			}
		}
	}
	return nil
}

// ofTheUser are quoted texts, words with a path, an address or the name of a host, and long numbers.
var ofTheUser = regexp.MustCompile(`"[^"]*"|\S*(?:[/@]|\w\.\w|\d{4}|:\w*:)\S*`)

func (r *report) addLibrary(l *runfile.DirectNFSLibrary) {
	if l == nil {
		return
	}
	r.fact("method of switching", cmp.Or(l.Method, "none was needed"))
	for _, m := range l.Mounts {
		r.fact("Direct NFS mounts", "an export that is defined in "+m.DefinedIn)
	}
	for _, line := range append([]string{l.AlertLine}, l.Warnings...) {
		if strings.HasPrefix(line, "Oracle instance running with ODM") {
			r.fact("alert log", line) // with the version of the library
		} else if line != "" {
			r.fact("alert log", ofTheUser.ReplaceAllString(line, "..."))
		}
	}
}
