// Command server is the program of the container that stands for Oracle's. It is
// one static binary that acts by the name under which it is called, as the
// scripts of the images do:
//
//	runOracle.sh       start the database, and stay
//	checkDBStatus.sh   say how it is, by exit code
//	bash               execute the start file, and source what it names
//	make               -f ins_rdbms.mk dnfs_on | dnfs_off
//
// The environment is that of Oracle's images. Besides, for tests:
//
//	STANDIN_ANY_MOUNT=true         the data directory need not be an NFS mount:
//	                               it is the folder behind the export
//	STANDIN_DATAFILE_PERCENT=N     size of the first datafiles; 100 = 152 MiB
//	STANDIN_CREATE_SECONDS=N       how long a creation takes beyond its files (0)
//	STANDIN_CALIBRATE_SECONDS=N    how long CALIBRATE_IO loads (4)
//	STANDIN_NO_CACHE=true          the buffer cache keeps nothing
//	STANDIN_FALLBACK=true          Direct NFS is set up, and silently not used
//	STANDIN_NEVER_READY=true       the start never ends
//	STANDIN_LISTEN=ADDRESS         of the listener (:1521)
//	STANDIN_NODE_CPUS=N            CPUs of the node (those of this one)
//	STANDIN_HOST=NAME              of the host, in place of the system's
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	os.Exit(act(filepath.Base(os.Args[0]), os.Args[1:]))
}

func act(name string, args []string) int {
	e := environment{get: os.Getenv}
	switch name {
	case "checkDBStatus.sh":
		return health(e)
	case "bash":
		return bash(args)
	case "runOracle.sh.k8s": // as the extension of the Enterprise images, which waits for its lock
		fmt.Fprintln(os.Stdout, "Acquiring lock .create_lck with heartbeat 30 secs")
		return 0
	case "make":
		return dnfs(e, args, os.Stderr)
	case "runOracle.sh", "runOracle.sh.orig":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		if err := start(ctx, e, os.Stdout); err != nil {
			fmt.Fprintf(os.Stdout, "[FATAL] %v\n", err)
			return 1
		}
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: not a name of the stand-in; see the comment of its package\n", name)
	return 2
}

// bash is `bash -c 'exec "$0"' FILE`, for a file that has no interpreter in its first line and sources
// others. It is one process, as with bash.
func bash(args []string) int {
	if len(args) != 3 || args[0] != "-c" || args[1] != `exec "$0"` {
		fmt.Fprintln(os.Stderr, "bash: the stand-in executes a start file only")
		return 2
	}
	text, err := os.ReadFile(args[2])
	if err != nil {
		fmt.Fprintf(os.Stderr, "bash: %v\n", err)
		return 126
	}
	for line := range strings.Lines(string(text)) {
		name, sourced := strings.CutPrefix(strings.TrimSpace(line), ". ")
		if !sourced {
			fmt.Fprintf(os.Stderr, "bash: %q: the stand-in knows only files that are sourced\n", line)
			return 127
		}
		if code := act(filepath.Base(name), nil); code != 0 {
			return code
		}
	}
	return 0
}

// dnfs is `make -f ins_rdbms.mk dnfs_on` in $ORACLE_HOME/rdbms/lib: it copies the
// library of Direct NFS into rdbms/lib/odm, and dnfs_off removes it.
func dnfs(e environment, args []string, stderr io.Writer) int {
	if len(args) != 3 || args[0] != "-f" || filepath.Base(args[1]) != "ins_rdbms.mk" {
		fmt.Fprintln(stderr, "make: *** No targets specified and no makefile found.  Stop.")
		return 2
	}
	home := e.get("ORACLE_HOME")
	to := filepath.Join(home, "rdbms/lib/odm/libnfsodm.so")
	var err error
	switch args[2] {
	case "dnfs_on":
		var text []byte
		if text, err = os.ReadFile(filepath.Join(home, "lib/libnfsodm.so")); err == nil {
			err = os.WriteFile(to, text, 0o755)
		}
	case "dnfs_off":
		if err = os.Remove(to); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	default:
		err = fmt.Errorf("no rule to make target '%s'", args[2])
	}
	if err != nil {
		fmt.Fprintf(stderr, "make: *** %v.  Stop.\n", err)
		return 2
	}
	return 0
}

// The phases of a start, as health scripts tell them apart.
const (
	phaseStarting = "starting"
	phaseReady    = "ready"
)

// stateFile lies where Oracle's images keep theirs.
func (e environment) stateFile() string {
	return filepath.Join(e.or("STANDIN_STATE", "/dev/shm"), ".db_started")
}

// mark leaves the phase that has begun for the health script.
func (e environment) mark(phase string) error {
	file := e.stateFile()
	if err := os.WriteFile(file+".new", fmt.Appendf(nil, "%d %s", os.Getpid(), phase), 0o644); err != nil {
		return fmt.Errorf("%w: /dev/shm must be writable", err)
	}
	return os.Rename(file+".new", file)
}

// health is the exit code of the health script: 0 = ready, 1 = not started.
func health(e environment) int {
	text, err := os.ReadFile(e.stateFile())
	if err != nil {
		fmt.Fprintln(os.Stdout, "The database is not started")
		return 1
	}
	var pid int
	var phase string
	if _, err := fmt.Sscan(string(text), &pid, &phase); err != nil || !alive(pid) {
		return 1
	}
	if phase == phaseReady {
		return 0 // over bequeath: whether there is a listener is not seen
	}
	return 1
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM //nolint:errorlint // a bare errno
}
