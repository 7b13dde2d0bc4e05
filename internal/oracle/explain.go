package oracle

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Explain turns an error of the driver into a sentence that names the fix, with
// a code of runfile (see CodeOf), by the ORA- or DPI- numbers in it; where there
// are several, by the most telling. What has a number that is not known gets the
// code SQLFailed and keeps its text, on one line. What has none, and what has
// been explained before, comes back unchanged. Explain(nil) is nil.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if known := new(failure); errors.As(err, &known) {
		return err
	}
	text := oneLine(err.Error())
	numbers := numbersIn(text)
	if len(numbers) == 0 {
		return err
	}
	if full := regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`); full.MatchString(text) {
		return Fail(runfile.FailureNoSpace, "the storage of the database is full ("+numbers[0]+"): make the volume or the quota larger, or the load smaller", err)
	}
	all := explanations()
	var general string
	for _, n := range numbers {
		e, ok := all[n]
		switch {
		case !ok:
		case !e.general:
			return Fail(e.code, e.sentence(n), err)
		case general == "":
			general = n
		}
	}
	if general != "" {
		return Fail(all[general].code, all[general].sentence(general)+"; the database said: "+text, err)
	}
	return Fail(runfile.FailureSQL, "the database refused what it was asked: "+text, err)
}

// CodeOf returns the code of runfile that an error carries: that of Fail, or
// what Explain makes of it; Cancelled and Timeout for the errors of a context.
// It is empty for nil, and for what has nothing to do with a database.
func CodeOf(err error) string {
	if f := new(failure); errors.As(Explain(err), &f) {
		return f.code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return runfile.FailureCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return runfile.FailureTimeout
	default:
		return ""
	}
}

// numbersIn returns the numbers of errors in a text, as ORA-01017 and DPI-1047.
// ORA-00000 is what the driver puts before errors of its own, and ORA-06512 is a
// line of a call stack.
func numbersIn(text string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`\b(ORA|DPI)-([0-9]{1,5})\b`).FindAllStringSubmatch(text, -1) {
		n := m[1] + "-" + strings.Repeat("0", max(0, width(m[1])-len(m[2]))) + m[2]
		if n != "ORA-00000" && n != "ORA-06512" {
			list = append(list, n)
		}
	}
	return list
}

func width(prefix string) int {
	if prefix == "ORA" {
		return len("01017")
	}
	return len("1047")
}

// oneLine joins the lines of an error, which Oracle stacks, and bounds it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 500 {
		text = string(runes[:500]) + "..."
	}
	return text
}
