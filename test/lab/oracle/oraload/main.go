// Command oraload is the Oracle loader of test builds: the same program as
// cmd/oraload, with the driver of the stand-in in place of godror.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/oracle/program"
	"github.com/nfsbench/nfsbench/test/lab/oracle/driver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := program.Main(ctx, os.Args[1:], driver.Open, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
