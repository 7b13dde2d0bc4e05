// Package human writes numbers for people. Statuses, findings, reports and the output of the programs
// all write a latency, a size, a rate or a share in the same way.
//
// The rounded number decides the unit and the decimals. So the bounds in the code lie half of the last digit below
// the round number.
package human

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Digits writes about three significant digits, and no decimals of whole numbers.
func Digits(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a >= 99.95 || a == math.Trunc(a):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// Latency writes microseconds: 850 µs, 1.20 ms.
func Latency[T int64 | float64](microseconds T) string {
	value, unit := LatencyParts(microseconds)
	return value + " " + unit
}

// LatencyParts returns the number and the unit of Latency.
func LatencyParts[T int64 | float64](microseconds T) (value, unit string) {
	switch us := float64(microseconds); {
	case us < 999.5:
		return Digits(us), "µs"
	case us < 999.5e3:
		return Digits(us / 1e3), "ms"
	default:
		return Digits(us / 1e6), "s"
	}
}

// Throughput writes bytes per second in units of 10^6 bytes: 117.6 MB/s.
func Throughput[T int64 | float64](bytesPerSecond T) string {
	return Megabytes(bytesPerSecond) + " MB/s"
}

// Megabytes writes Throughput without its unit.
func Megabytes[T int64 | float64](bytesPerSecond T) string {
	v := float64(bytesPerSecond) / 1e6
	if v >= 9999.95 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Operations writes a rate: 950, 41.2k.
func Operations(perSecond float64) string {
	switch a := math.Abs(perSecond); {
	case a < 9999.5:
		return Digits(perSecond)
	case a < 999.5e3:
		return Digits(perSecond/1e3) + "k"
	default:
		return Digits(perSecond/1e6) + "M"
	}
}

// Share writes permille as percent: 98.5 %.
func Share[T ~int32 | int64 | float64](permille T) string { return Percent(permille) + " %" }

// Percent writes Share without its unit.
func Percent[T ~int32 | int64 | float64](permille T) string {
	return fmt.Sprintf("%.1f", float64(permille)/10)
}

// Bytes writes a number of bytes, rounded: 1.50 GiB.
func Bytes[T int64 | float64](b T) string {
	const step = 1024
	value, units := float64(b), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= step-0.5 && len(units) > 1 {
		value, units = value/step, units[1:]
	}
	return Digits(value) + " " + units[0]
}

// Size writes a number of bytes exactly, as a spec does: 8Ki.
func Size(b int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	for b != 0 && b%1024 == 0 && len(units) > 1 {
		b, units = b/1024, units[1:]
	}
	if units[0] == "" {
		return fmt.Sprintf("%d bytes", b)
	}
	return strconv.FormatInt(b, 10) + units[0]
}

// Seconds writes a number of milliseconds as seconds: 29.4 s.
func Seconds(milliseconds int64) string { return fmt.Sprintf("%.1f s", float64(milliseconds)/1000) }

// Count writes a number and its noun: 1 user, 2 users.
func Count[T int | int32 | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Beyond writes a value that lies above or below a limit. If both have the same text, it says in words which is larger.
func Beyond[T int64 | float64](value, limit T, format func(T) string) string {
	text, bound := format(value), format(limit)
	if decimals.ReplaceAllString(text, "$1$2") != decimals.ReplaceAllString(bound, "$1$2") {
		return text
	}
	if value < limit {
		return "a little less than " + bound
	}
	return "a little more than " + bound
}

// decimals matches decimals that are all zero: 10.0 ms equals 10 ms.
var decimals = regexp.MustCompile(`^(-?\d+)\.0+(\D|$)`)
