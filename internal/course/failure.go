package course

import (
	"context"
	"errors"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ErrTimeout is the cause of a context whose run took longer than its plan
// allows.
var ErrTimeout = errors.New("the run took longer than schedule.timeoutSeconds allows")

// FailureOf says in the words of the result file why a run ended early, or nil
// where err is nil. codeOf gives the code that an error carries, or nothing;
// without one it is an internal error.
func FailureOf(ctx context.Context, err error, codeOf func(error) string) *runfile.Failure {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, ErrTimeout), errors.Is(context.Cause(ctx), ErrTimeout):
		return &runfile.Failure{Code: runfile.FailureTimeout, Message: OneLine(ErrTimeout)}
	case ctx.Err() != nil:
		return &runfile.Failure{
			Code: runfile.FailureCancelled, Message: "the run was stopped before its end: " + OneLine(context.Cause(ctx)),
		}
	}
	code := codeOf(err)
	if code == "" {
		code = runfile.FailureInternal
	}
	return &runfile.Failure{Code: code, Message: OneLine(err)}
}

// OneLine writes an error as the one sentence that a Failure holds: of joined
// errors each has a line.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
