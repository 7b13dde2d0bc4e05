package report

import "fmt"

// Rate writes bytes per second as megabytes of 10^6 per second.
func Rate(bytesPerSecond int64) string {
	v := float64(bytesPerSecond) / 1e6
	if v >= 10_000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Tenths writes permille as percent.
func Tenths(permille int32) string { return fmt.Sprintf("%.1f", float64(permille)/10) }

// Gibibytes writes bytes as GiB.
func Gibibytes(b int64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }

// LatencyParts scales microseconds to three significant digits or so.
func LatencyParts(us int64) (value, unit string) {
	switch {
	case us < 1000:
		return fmt.Sprint(us), "µs"
	case us < 10_000:
		return fmt.Sprintf("%.2f", float64(us)/1e3), "ms"
	case us < 1_000_000:
		return fmt.Sprintf("%.1f", float64(us)/1e3), "ms"
	default:
		return fmt.Sprintf("%.2f", float64(us)/1e6), "s"
	}
}

// Latency writes microseconds with their unit.
func Latency(us int64) string {
	value, unit := LatencyParts(us)
	return value + " " + unit
}

// BinarySize writes a size as people write it in a spec: 1Mi, 4Gi.
func BinarySize(b int64) string {
	units := []struct {
		shift int
		name  string
	}{{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}}
	for _, u := range units {
		if b > 0 && b%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d%s", b>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d", b)
}

// Count writes a number and its noun: 1 user, 2 users.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
