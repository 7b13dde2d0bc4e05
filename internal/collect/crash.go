package collect

import (
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// crashedLoad is the result of a loader that left no last word: what it told
// until then, and a failure that says how far it came.
func crashedLoad(load runfile.Load, last *runfile.Event) runfile.Load {
	load.Partial = true
	load.Failure = &runfile.Failure{Code: runfile.FailureLoaderCrashed, Message: crashMessage(last)}
	return load
}

const crashAdvice = "see the log of its container, and whether it was killed for its memory limit"

func crashMessage(last *runfile.Event) string {
	if last == nil {
		return "the loader ended without a last word and before it reported anything: " + crashAdvice
	}
	where := last.Span
	if last.Repetition > 0 {
		where = fmt.Sprintf("%s of repetition %d", last.Span, last.Repetition)
	}
	return fmt.Sprintf("the loader ended without a last word, last seen in %s with %d percent of the run done at %s: %s",
		where, last.Percent, last.Time.UTC().Format(time.RFC3339), crashAdvice)
}

// closedAt returns the spans with the open one ended at the last event, so
// that what was observed of it can be told.
func closedAt(spans []runfile.Span, last *runfile.Event) []runfile.Span {
	out := slices.Clone(spans)
	if n := len(out); n > 0 && last != nil && out[n-1].End.IsZero() && last.Time.After(out[n-1].Start) {
		out[n-1].End = last.Time
	}
	return out
}
