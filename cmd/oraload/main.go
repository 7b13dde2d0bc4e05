// Command oraload puts load on an Oracle database and reads what the database
// counts. It runs inside the user's own database image, or one with Oracle's
// client, and takes the client library from there: it needs cgo, and is linked
// against a glibc that is older than that of any such image.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/oracle/driver"
	"github.com/nfsbench/nfsbench/internal/oracle/program"
)

// version is set by the linker for releases: -X main.version=v1.2.3.
var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("oraload", version)
		return
	}
	if env, again := withLibraryPath(os.Environ()); again {
		if err := execAgain(env); err != nil {
			fmt.Fprintf(os.Stderr, "oraload: start again with the library path of $ORACLE_HOME: %v\n", err)
		}
	}
	os.Exit(run(os.Args[1:]))
}

// run executes the command line and returns the exit code. The first SIGINT or
// SIGTERM ends the run in order; after it a second one ends the process.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return program.Main(ctx, args, driver.Open, os.Stdout, os.Stderr)
}

// execAgain replaces this process by one with the environment env. It returns
// only when that fails.
func execAgain(env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, env)
}
