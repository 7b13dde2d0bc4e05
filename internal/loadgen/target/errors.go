package target

import (
	"errors"
	"io/fs"
	"syscall"
)

// Error is a failure with a code of package runfile and one sentence for the
// person who has to act on it. Err is the cause, and may be nil.
type Error struct {
	Code    string // one of runfile.Failure*
	Message string // what, where, and what to check; without a final stop
	Err     error
}

// Error returns the sentence, with the cause behind it.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail makes an Error.
func Fail(code, message string, cause error) error {
	return &Error{Code: code, Message: message, Err: cause}
}

// CodeOf returns the failure code that err carries, or "".
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// IsNotExist reports whether err says that a name is not there. Targets wrap
// fs.ErrNotExist.
func IsNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// IsExist reports whether err says that a name is there already. Targets wrap
// fs.ErrExist.
func IsExist(err error) bool { return errors.Is(err, fs.ErrExist) && !IsNotEmpty(err) }

// IsNotEmpty reports whether err says that a directory has entries. Targets
// wrap syscall.ENOTEMPTY.
func IsNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
