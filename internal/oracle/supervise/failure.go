package supervise

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// failf makes an error with one of the codes of runfile. Its text is one
// sentence: what, where, what to do.
func failf(code, format string, args ...any) error {
	return oracle.Fail(code, fmt.Sprintf(format, args...), nil)
}

// asFailure is how an error stands in the state.
func asFailure(err error) *runfile.Failure {
	code := oracle.CodeOf(err)
	if code == "" {
		code = runfile.FailureInternal
	}
	return &runfile.Failure{Code: code, Message: err.Error()}
}
