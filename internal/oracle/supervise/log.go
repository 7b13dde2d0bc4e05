package supervise

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// Bounds of a kept log.
const (
	keptLines   = 12
	keptBytes   = 300 // of one line
	maxLine     = 64 << 10
	shortSecret = 3 // shorter secrets would black out half of every log
)

// redactor removes secrets from text.
type redactor struct {
	secrets  []string
	patterns []*regexp.Regexp
}

const redacted = "***"

func newRedactor(secrets []string) *redactor {
	r := &redactor{patterns: []*regexp.Regexp{
		// The images print the password that they generate or get.
		regexp.MustCompile(`(?i)(passwords?\b[^:=\n]{0,60}[:=]\s*)("[^"]*"|\S+)`),
		regexp.MustCompile(`(?i)(\b[a-z_]*(?:pwd|passwd)[a-z_]*\s*[:=]\s*)("[^"]*"|\S+)`),
		regexp.MustCompile(`(?i)(\bidentified\s+by\s+)("[^"]*"|\S+)`),
		regexp.MustCompile(`(?i)(\b(?:connect|conn|sqlplus(?:\s+-\w+)*)\s+[\w$#]+/)("[^"]*"|[^\s@]+)`),
	}}
	for _, s := range secrets {
		s = strings.TrimRight(s, "\r\n") // cleaned lines have no line end
		if len(s) >= shortSecret {
			r.secrets = append(r.secrets, s)
		}
	}
	return r
}

// clean returns the line without secrets, and without text that looks like a password.
func (r *redactor) clean(line string) string {
	for _, s := range r.secrets {
		line = strings.ReplaceAll(line, s, redacted)
	}
	for _, p := range r.patterns {
		line = p.ReplaceAllString(line, "${1}"+redacted)
	}
	return line
}

// tail keeps the last lines of a log. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, clip(line))
	if len(t.lines) > keptLines {
		t.lines = t.lines[len(t.lines)-keptLines:]
	}
}

// text returns the whole log on one line, for use in a sentence.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, " | ")
}

// clip shortens a line and makes it printable.
func clip(line string) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
	if len(line) > keptBytes {
		line = strings.ToValidUTF8(line[:keptBytes], "") + "..."
	}
	return line
}

// eachLine calls fn for every line of r. It splits a line that is longer than
// maxLine.
func eachLine(r io.Reader, fn func(string)) error {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			fn(strings.TrimRight(string(line), "\r\n"))
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

const (
	// Prefixes of alert log lines about Direct NFS. The first proves only that the library is loaded.
	odmLine    = "Oracle instance running with ODM:"
	directLine = "Direct NFS"

	keptWarnings = 24
	maxAlertRead = 1 << 20 // of one file in one look
)

// Lines of the alert log: about a mount, and about a problem. All others are information, and their words vary by
// release.
var (
	//nolint:gochecknoglobals // a constant in all but name
	ofPluggable = regexp.MustCompile(`^[A-Za-z][\w$#]*\([0-9]+\):`) // the name and the number of a pluggable database
	//nolint:gochecknoglobals // a constant in all but name
	mountAttempt = regexp.MustCompile(`attempting to mount (\S+) on filer (\S+) defined in (\w+)`)
	//nolint:gochecknoglobals // a constant in all but name
	directProblem = regexp.MustCompile(
		`(?i:failed|could not|unable|invalid|please check|error|timed out|denied|\bdown\b)|ERR`)
)

// alert keeps the line if it is about Direct NFS. Images print the alert log
// too, so a line may come twice.
func (s *supervisor) alert(line string) {
	line = clip(ofPluggable.ReplaceAllString(strings.TrimSpace(line), ""))
	odm := strings.Contains(line, odmLine) && strings.Contains(line, directLine)
	if !odm && !strings.HasPrefix(line, directLine+":") {
		return
	}
	news := false
	attempt := mountAttempt.FindStringSubmatch(line)
	err := s.journal.change(func(d *runfile.DatabaseState) {
		switch l := &d.Library; {
		case odm:
			news = l.AlertLine != line
			l.AlertLine = line
		case attempt != nil:
			m := runfile.DNFSMount{Export: attempt[1], Server: attempt[2], DefinedIn: attempt[3]}
			if news = len(l.Mounts) < keptWarnings && !slices.Contains(l.Mounts, m); news {
				l.Mounts = append(slices.Clone(l.Mounts), m)
			}
		case directProblem.MatchString(line) && len(l.Warnings) < keptWarnings && !slices.Contains(l.Warnings, line):
			news = true
			// Clone the slice: the journal may be writing the old one.
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

// alertLogs reads the lines that are appended to the alert logs of an instance.
// Earlier lines belong to an earlier start.
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
	found, _ := filepath.Glob(a.pattern) // none where the name of the base is a bad pattern
	for _, path := range found {
		if info, err := os.Stat(path); err == nil {
			a.read[path] = info.Size()
		}
	}
	return a
}

// look calls each for each new whole line.
func (a *alertLogs) look(each func(string)) {
	found, _ := filepath.Glob(a.pattern)
	for _, path := range found {
		text := a.partial[path] + a.more(path)
		lines := strings.Split(text, "\n")
		for _, line := range lines[:len(lines)-1] {
			each(line)
		}
		// An endless line without a line end does not belong to a log.
		if rest := lines[len(lines)-1]; len(rest) <= maxLine {
			a.partial[path] = rest
		} else {
			a.partial[path] = ""
		}
	}
}

// more returns the text appended to a file. A file that has become shorter is new.
func (a *alertLogs) more(path string) string {
	f, err := shareddir.Open(filepath.Dir(path), filepath.Base(path))
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

// followAlertLogs reads the logs until ctx ends, and once more after that.
func (s *supervisor) followAlertLogs(ctx context.Context, logs *alertLogs) {
	each := func(line string) {
		s.heard.Store(s.o.Now().UnixNano())
		s.alert(s.redact.clean(line))
	}
	for runloop.Wait(ctx, pollInterval) == nil {
		logs.look(each)
	}
	logs.look(each)
}
