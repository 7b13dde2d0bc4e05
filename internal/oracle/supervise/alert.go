package supervise

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// The beginnings of what the alert log reports about Direct NFS. The first proves
	// that the library is loaded, and no more.
	odmLine    = "Oracle instance running with ODM:"
	directLine = "Direct NFS"

	keptWarnings = 24
	maxAlertRead = 1 << 20 // of one file in one look
)

// alert keeps the line if it is about Direct NFS. Images print the alert log
// too, so a line may come twice.
func (s *supervisor) alert(line string) {
	line = clip(strings.TrimSpace(line))
	odm := strings.Contains(line, odmLine) && strings.Contains(line, directLine)
	if !odm && !strings.HasPrefix(line, directLine+":") {
		return
	}
	news := false
	err := s.journal.change(func(d *runfile.DatabaseState) {
		switch l := &d.Library; {
		case odm:
			news = l.AlertLine != line
			l.AlertLine = line
		case len(l.Warnings) < keptWarnings && !slices.Contains(l.Warnings, line):
			news = true
			// A new slice: the old one may be on its way out.
			l.Warnings = append(slices.Clone(l.Warnings), line)
		}
	})
	if err != nil {
		s.log.Warn("The state of the database was not written", "error", err)
	}
	if news {
		s.log.Info("The alert log speaks of Direct NFS", "line", line)
	}
}

// alertLogs reads what is appended to the alert logs of an instance. What stood
// there before belongs to an earlier start.
type alertLogs struct {
	pattern string
	read    map[string]int64  // bytes of each file
	partial map[string]string // a line without its end
}

func openAlertLogs(base string) *alertLogs {
	a := &alertLogs{
		pattern: filepath.Join(base, "diag", "rdbms", "*", "*", "trace", "alert_*.log"),
		read:    map[string]int64{}, partial: map[string]string{},
	}
	for _, path := range a.files() {
		if info, err := os.Stat(path); err == nil {
			a.read[path] = info.Size()
		}
	}
	return a
}

func (a *alertLogs) files() []string {
	found, err := filepath.Glob(a.pattern)
	if err != nil {
		return nil // a base whose name is a bad pattern
	}
	return found
}

// look calls each for each new whole line.
func (a *alertLogs) look(each func(string)) {
	for _, path := range a.files() {
		text := a.partial[path] + a.more(path)
		lines := strings.Split(text, "\n")
		for _, line := range lines[:len(lines)-1] {
			each(line)
		}
		// A line without end that grows forever is no line of a log.
		if rest := lines[len(lines)-1]; len(rest) <= maxLine {
			a.partial[path] = rest
		} else {
			a.partial[path] = ""
		}
	}
}

// more reads what was appended to a file; one that has become shorter is new.
func (a *alertLogs) more(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if info.Size() < a.read[path] {
		a.read[path], a.partial[path] = 0, ""
	}
	raw := make([]byte, min(info.Size()-a.read[path], maxAlertRead))
	n, err := f.ReadAt(raw, a.read[path])
	if err != nil && err != io.EOF { //nolint:errorlint // ReaderAt returns it bare
		return ""
	}
	a.read[path] += int64(n)
	return string(raw[:n])
}

// followAlertLogs listens until ctx ends, and once more then.
func (s *supervisor) followAlertLogs(ctx context.Context, logs *alertLogs) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	each := func(line string) { s.alert(s.redact.clean(line)) }
	for {
		select {
		case <-tick.C:
			logs.look(each)
		case <-ctx.Done():
			logs.look(each)
			return
		}
	}
}
