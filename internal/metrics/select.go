package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// omission counts what is not exported.
type omission struct{ byLimit, byAge int }

// chooseBenchmarks gives the newest that have ended and the newest that have
// not, at most as many of each as the limit, and none that ended too long ago.
func chooseBenchmarks(items []v1alpha1.NFSBenchmark, limits Limits,
	now time.Time,
) ([]*v1alpha1.NFSBenchmark, omission) {
	var (
		ended, other []*v1alpha1.NFSBenchmark
		left         omission
	)
	for i := range items {
		b := &items[i]
		switch {
		case !b.Status.Phase.IsFinished():
			other = append(other, b)
		case now.Sub(endOf(b)) > limits.MaxAge:
			left.byAge++
		default:
			ended = append(ended, b)
		}
	}
	newest(ended, endOf)
	newest(other, func(b *v1alpha1.NFSBenchmark) time.Time { return b.CreationTimestamp.Time })
	left.byLimit = max(0, len(ended)-limits.Benchmarks) + max(0, len(other)-limits.Benchmarks)
	return slices.Concat(upTo(ended, limits.Benchmarks), upTo(other, limits.Benchmarks)), left
}

// endOf is when a benchmark ended; one that never began ended when it was made.
func endOf(b *v1alpha1.NFSBenchmark) time.Time {
	if t := b.Status.CompletionTime; t != nil {
		return t.Time
	}
	return b.CreationTimestamp.Time
}

func chooseSuites(items []v1alpha1.NFSBenchmarkSuite, limit int) []*v1alpha1.NFSBenchmarkSuite {
	out := make([]*v1alpha1.NFSBenchmarkSuite, 0, len(items))
	for i := range items {
		out = append(out, &items[i])
	}
	newest(out, func(s *v1alpha1.NFSBenchmarkSuite) time.Time {
		if r := s.Status.Run; r != nil && r.StartTime != nil {
			return r.StartTime.Time
		}
		return s.CreationTimestamp.Time
	})
	return upTo(out, limit)
}

// named is what orders those of the same time, so that each scrape chooses alike.
type named interface {
	GetNamespace() string
	GetName() string
}

func newest[T named](items []T, at func(T) time.Time) {
	slices.SortFunc(items, func(a, b T) int {
		return cmp.Or(
			at(b).Compare(at(a)),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()),
		)
	})
}

func upTo[T any](items []T, limit int) []T { return items[:min(len(items), limit)] }
