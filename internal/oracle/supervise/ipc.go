package supervise

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// The kinds of System V objects, by their files in /proc/sysvipc.
const (
	sharedMemory = "shm"
	semaphores   = "sem"
)

// removeLeftIPC removes the shared memory and the semaphores of a killed instance, also of an earlier container of
// the pod. The start scripts remove them only before a creation, and STARTUP takes them for a running instance
// (ORA-01081). Semaphores do not show their users: they count as unused if no shared memory is in use.
func (s *supervisor) removeLeftIPC() {
	if s.o.removeIPC == nil {
		return
	}
	memory, used := s.ownIPC(sharedMemory)
	left := map[string][]int{sharedMemory: memory}
	if !used {
		left[semaphores], _ = s.ownIPC(semaphores)
	}
	for kind, ids := range left {
		for _, id := range ids {
			if err := s.o.removeIPC(kind, id); err != nil {
				s.log.Warn("What the database left in memory was not removed", "kind", kind, "id", id, "error", err)
				continue
			}
			s.log.Info("Removed what the database left in memory", "kind", kind, "id", id)
		}
	}
}

// ownIPC returns the objects of a kind that belong to this user and have no attached process. used reports whether
// the user has any with an attached process.
func (s *supervisor) ownIPC(kind string) (ids []int, used bool) {
	// If the file cannot be read, there are none.
	raw, _ := shareddir.Read(filepath.Join(s.o.ProcDir, "sysvipc"), kind, shareddir.SmallFile)
	lines := bytes.Split(raw, []byte("\n"))
	columns := bytes.Fields(lines[0])
	for _, line := range lines[1:] {
		row := map[string]int{}
		for i, field := range bytes.Fields(line)[:min(len(columns), len(bytes.Fields(line)))] {
			row[string(columns[i])], _ = strconv.Atoi(string(field))
		}
		id, whole := row[kind+"id"]
		switch {
		case !whole || row["uid"] != os.Getuid():
		case row["nattch"] > 0:
			used = true
		default:
			ids = append(ids, id)
		}
	}
	return ids, used
}

// removeIPC removes one object.
func removeIPC(kind string, id int) error {
	if kind == sharedMemory {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SEMCTL, uintptr(id), 0, unix.IPC_RMID); errno != 0 {
		return fmt.Errorf("semctl: %w", errno)
	}
	return nil
}
