package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The phases of a start, as health scripts tell them apart.
const (
	phaseStarting = "starting"
	phaseSetup    = "setup"
	phaseStartup  = "startup"
	phaseReady    = "ready"
)

// state is what the start leaves for the health script.
type state struct {
	PID   int    `json:"pid"`
	Phase string `json:"phase"`
}

// stateFile lies where Oracle's images keep theirs.
func (e environment) stateFile() string {
	return filepath.Join(e.or("STANDIN_STATE", "/dev/shm"), ".db_started")
}

// mark says which phase has begun.
func (e environment) mark(phase string) error {
	text, err := json.Marshal(state{PID: os.Getpid(), Phase: phase})
	if err != nil {
		return err
	}
	file := e.stateFile()
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return fmt.Errorf("%w: /dev/shm must be writable", err)
	}
	return os.Rename(file+".new", file)
}

// unmark takes the file away when the database has ended.
func unmark(e environment) { _ = os.Remove(e.stateFile()) }

// health is the exit code of the health script.
//
// Oracle: 0 = ready, 1 = not started. gvenzl: 0 = ready, 1 = not ready,
// 2 = starting, 4 = setup scripts, 5 = startup scripts.
func health(e environment) int {
	text, err := os.ReadFile(e.stateFile())
	if err != nil {
		fmt.Fprintln(os.Stdout, "The database is not started")
		return 1
	}
	var s state
	if json.Unmarshal(text, &s) != nil || !alive(s.PID) {
		return 1
	}
	if s.Phase == phaseReady {
		if !listening(e.or("STANDIN_LISTEN", ":1521")) {
			fmt.Fprintln(os.Stdout, "ORA-12541: TNS:no listener")
			return 3
		}
		return 0
	}
	if !e.gvenzl {
		return 1
	}
	return map[string]int{phaseStarting: 2, phaseSetup: 4, phaseStartup: 5}[s.Phase]
}

// alive says whether a process is there, whoever's it is.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM //nolint:errorlint // a bare errno
}

func listening(address string) bool {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
