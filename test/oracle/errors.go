package oracle

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/test/oracle/wire"
)

// ora makes an Oracle error. Texts are those of Oracle's error messages.
func ora(code int, format string, args ...any) *wire.Failure {
	return &wire.Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// failure makes an Oracle error of any error.
func failure(err error) *wire.Failure {
	var f *wire.Failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ora(1013, "user requested cancel of current operation")
	case isNoSpace(err):
		return ora(27072, "File I/O error\nLinux-x86_64 Error: 28: No space left on device")
	default:
		return ora(27072, "File I/O error\n%v", err)
	}
}

func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || nfs.IsNoSpace(err)
}
