package supervise

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
)

// The bounds of what is kept of a log.
const (
	keptLines   = 12
	keptBytes   = 300 // of one line
	maxLine     = 64 << 10
	shortSecret = 3 // shorter ones would black out half of every log
)

// redactor takes secrets out of text.
type redactor struct {
	secrets  []string
	patterns []*regexp.Regexp
}

const redacted = "***"

func newRedactor(secrets []string) *redactor {
	r := &redactor{patterns: []*regexp.Regexp{
		// The images print the password that they made up or were given.
		regexp.MustCompile(`(?i)(passwords?\b[^:=\n]{0,60}[:=]\s*)("[^"]*"|\S+)`),
		regexp.MustCompile(`(?i)(\b[a-z_]*(?:pwd|passwd)[a-z_]*\s*[:=]\s*)("[^"]*"|\S+)`),
		regexp.MustCompile(`(?i)(\bidentified\s+by\s+)("[^"]*"|\S+)`),
		regexp.MustCompile(`(?i)(\b(?:connect|conn|sqlplus(?:\s+-\w+)*)\s+[\w$#]+/)("[^"]*"|[^\s@]+)`),
	}}
	for _, s := range secrets {
		s = strings.TrimRight(s, "\r\n") // lines are cleaned, which have no end
		if len(s) >= shortSecret {
			r.secrets = append(r.secrets, s)
		}
	}
	return r
}

// clean returns the line without what looks like a password or is one.
func (r *redactor) clean(line string) string {
	for _, s := range r.secrets {
		line = strings.ReplaceAll(line, s, redacted)
	}
	for _, p := range r.patterns {
		line = p.ReplaceAllString(line, "${1}"+redacted)
	}
	return line
}

// tail keeps the last lines of a log. It is safe for several goroutines.
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

// text is all of it on one line, as it stands in a sentence.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, " | ")
}

// clip makes one line short and printable.
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

// eachLine calls fn for every line of r until it ends. A line that is longer
// than maxLine comes in parts.
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
