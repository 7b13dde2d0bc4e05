package supervise

import (
	"bytes"
	"path/filepath"
	"strconv"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// instance watches the process monitor of an instance; without it there is no instance. The start scripts of the
// images do not notice its end: they follow the alert log forever.
type instance struct {
	seen bool // an image may use another process name
	gone int  // successive looks without it
}

// missedLooks is more than one, because a user's script may restart the instance.
const missedLooks = 2

// look returns an error when the instance has ended.
func (s *supervisor) look(i *instance, c *child) error {
	switch {
	case s.hasProcessMonitor():
		i.seen, i.gone = true, 0
	case i.seen:
		i.gone++
	}
	if i.gone < missedLooks {
		return nil
	}
	return s.unlessFull(s.lastWords(c), oracle.Failf(runfile.FailureDatabaseEnded,
		"the instance has ended, although the start command goes on: its process monitor (ora_pmon_%s) is gone%s",
		s.o.imageSID(), s.lastWords(c)))
}

// hasProcessMonitor looks for ora_pmon_<SID>. Oracle Free calls it db_pmon_FREE, Express xe_pmon_XE.
func (s *supervisor) hasProcessMonitor() bool {
	for _, p := range s.family.processes() {
		line, err := shareddir.ReadStart(filepath.Join(s.family.proc, strconv.Itoa(p.pid)), "cmdline", maxProcFile)
		name, _, _ := bytes.Cut(line, []byte{0})
		if err == nil && p.state != 'Z' && bytes.HasSuffix(bytes.TrimSpace(name), []byte("_pmon_"+s.o.imageSID())) {
			return true
		}
	}
	return false
}
