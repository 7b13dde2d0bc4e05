package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// known writes a value that may be unknown.
func known[T any](v *T, text func(T) string) string {
	if v == nil {
		return doc.Unknown
	}
	return text(*v)
}

// number writes a count that may be unknown.
func number(v *int64) string { return known(v, func(v int64) string { return fmt.Sprint(v) }) }

// nonZero writes a count; zero means unknown.
func nonZero(v int64) string {
	if v == 0 {
		return doc.Unknown
	}
	return fmt.Sprint(v)
}

// pathName returns a path with its local address, if that is known.
func pathName(local, path string) string {
	if local == "" {
		return path
	}
	return local + " → " + path
}

// joined joins parts with commas.
func joined(parts []string) string { return strings.Join(parts, ", ") }

// upperFirst begins s with a capital.
func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// capital makes s a sentence, with a capital and a full stop.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return upperFirst(strings.TrimSuffix(s, ".")) + "."
}

// firstLines joins the first of many lines, and says how many more there are.
func firstLines(lines []string) string {
	const most = 8
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// percent writes a share as percent with its sign, in two decimals.
func percent(share float64) string { return fmt.Sprintf("%+.2f", share*100) }

// changeInterval writes the confidence interval of the shift of a line in percent, positive where the value is higher.
// It is a dash if the interval is unknown.
func changeInterval(l compare.Line, to string) string {
	if l.ShiftLow == nil || l.ShiftHigh == nil {
		return doc.Unknown
	}
	low, high := l.Change(*l.ShiftLow), l.Change(*l.ShiftHigh)
	return fmt.Sprintf("%+.1f%s%+.1f", min(low, high)*100, to, max(low, high)*100)
}

// change writes the shift of a line in percent, positive where the value is higher; the mean impact if there is no
// shift.
func change(l compare.Line) string {
	return fmt.Sprintf("%+.1f", l.Change(*cmp.Or(l.Shift, &l.Impact))*100)
}

// probability writes p, after the correction if there is one.
func probability(l compare.Line) string {
	switch p := cmp.Or(l.AdjustedP, l.P); {
	case p == nil:
		return doc.Unknown
	case *p < 0.0001:
		return "<0.0001"
	case *p < 0.1:
		return fmt.Sprintf("%.4f", *p)
	default:
		return fmt.Sprintf("%.2f", *p)
	}
}

// The sentences of a page that involves a stand-in, and of one with numbers of Oracle.
const (
	SimulatedDatabaseNote = "The database was a stand-in for Oracle: no number here is one of Oracle."
	SimulatedStorageNote  = "The storage was a stand-in: no number here is one of real storage."
	DisclosureNote        = "This page shows numbers of Oracle software. Oracle's licences have forbidden to publish " +
		"benchmark results without consent: check your licence, or ask Oracle, before you give this page away."
)
