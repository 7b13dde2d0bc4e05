package oracle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// alertLog is alert_SID.log, and the standard output of the container, which
// follows it.
type alertLog struct {
	mu   sync.Mutex
	file *os.File // nil = none
	out  io.Writer
	now  func() time.Time
}

// AlertLog is where an instance keeps its alert log below an ORACLE_BASE.
func AlertLog(base, sid string) string {
	return filepath.Join(base, "diag", "rdbms", strings.ToLower(sid), sid, "trace", "alert_"+sid+".log")
}

func openAlert(base, sid string, out io.Writer, now func() time.Time) (*alertLog, error) {
	l := &alertLog{out: out, now: now}
	if base == "" {
		return l, nil
	}
	path := AlertLog(base, sid)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	l.file = f
	return l, err
}

// linef writes a line under a time stamp, as Oracle does.
func (l *alertLog) linef(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(l.out, text)
	if l.file != nil {
		fmt.Fprintf(l.file, "%s\n%s\n", l.now().Format("2006-01-02T15:04:05.000000-07:00"), text)
	}
}

func (l *alertLog) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
