package loadgen

import (
	"context"
	"errors"
	"strings"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// errTimeout is the cause of a context whose run took longer than its plan
// allows.
var errTimeout = errors.New("the run took longer than schedule.timeoutSeconds allows")

// failureOf says in the words of the result file why a run ended early. Without
// a code of its own an error gets the given one, which fits the span it came
// from.
func failureOf(ctx context.Context, err error, code string) *runfile.Failure {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTimeout), errors.Is(context.Cause(ctx), errTimeout):
		code = runfile.FailureTimeout
	case ctx.Err() != nil:
		return &runfile.Failure{Code: runfile.FailureCancelled, Message: "the run was stopped before its end: " + oneLine(context.Cause(ctx))}
	case target.CodeOf(err) != "":
		code = target.CodeOf(err)
	case errors.Is(err, errNotAnswered):
		code = runfile.FailureTimeout
	}
	return &runfile.Failure{Code: code, Message: oneLine(err)}
}

// oneLine writes an error as the one sentence that a Failure holds: of joined
// errors each has a line.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
