// Command server is the program of the container that stands for Oracle's. It is
// one static binary that acts by the name under which it is called, as the
// scripts of the images do:
//
//	runOracle.sh, container-entrypoint.sh   start the database, and stay
//	checkDBStatus.sh, healthcheck.sh        say how it is, by exit code
//	make                                    -f ins_rdbms.mk dnfs_on | dnfs_off
//
// The environment is that of Oracle's images or of gvenzl's, by the name of the
// start. Besides, for tests:
//
//	STANDIN_ANY_MOUNT=true         the data directory need not be an NFS mount:
//	                               it is the folder behind the export
//	STANDIN_DATAFILE_PERCENT=N     size of the first datafiles; 100 = 152 MiB
//	STANDIN_CALIBRATE_SECONDS=N    how long CALIBRATE_IO loads (4)
//	STANDIN_MILLISECONDS=true      V$IOSTAT_FILE counts milliseconds
//	STANDIN_MEMORY_CHECK=true      refuse a memory limit below 2 GiB
//	STANDIN_FIXTURE=FILE           declared answers
//	STANDIN_FALLBACK=true          Direct NFS is set up, and silently not used
//	STANDIN_ORADISM=true           oradism counts as not setuid
//	STANDIN_HANG=true              an oranfstab that Oracle refuses hangs the start
//	STANDIN_ASYNC_OFF=true         ASYNCH_IO is ASYNC_OFF
//	STANDIN_FULL_AFTER=BYTES       no datafile grows beyond
//	STANDIN_DELAY=DURATION         of each I/O
//	STANDIN_NEVER_READY=true       the start never ends
//	STANDIN_READY_AFTER=DURATION   the start lasts so much longer
//	STANDIN_CRASH_AFTER=DURATION   the instance dies so long after it was ready
//	STANDIN_NFS_PORT, STANDIN_MOUNT_PORT, STANDIN_PORTMAP_PORT
//	STANDIN_LISTEN=ADDRESS         of the listener (:1521)
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	os.Exit(act(filepath.Base(os.Args[0]), os.Args[1:]))
}

// act does what the name stands for and returns the exit code.
func act(name string, args []string) int {
	e := environment{get: os.Getenv, gvenzl: name == "container-entrypoint.sh" || name == "healthcheck.sh"}
	switch name {
	case "checkDBStatus.sh", "healthcheck.sh":
		return health(e)
	case "make":
		return dnfs(e, args, os.Stderr)
	case "runOracle.sh", "container-entrypoint.sh":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		if err := start(ctx, e, os.Stdout); err != nil {
			fmt.Fprintf(os.Stdout, "[FATAL] %v\n", err)
			return 1
		}
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: not a name of the stand-in; see %s\n", name, strings.Join([]string{"runOracle.sh", "container-entrypoint.sh", "checkDBStatus.sh", "healthcheck.sh", "make"}, ", "))
	return 2
}
