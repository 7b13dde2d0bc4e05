package awr

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxLineBytes is far above any line of a report, and maxRows above the number
// of wait events that there are.
const (
	maxLineBytes = 1 << 16
	maxRows      = 4096
)

// ErrNoEvents says that a text has no table of wait events.
var ErrNoEvents = errors.New("there is no table of wait events in it, so it is no AWR or Statspack report in text form")

// Parse reads the foreground wait events of a report, in its order, each once.
// Events of background processes are left out.
func Parse(in io.Reader) ([]runfile.AWRRow, error) {
	p := parser{found: map[string]bool{}}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLineBytes)
	for line := 1; scan.Scan(); line++ {
		if err := p.line(strings.TrimRight(scan.Text(), " \r\f")); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(p.rows) == 0 {
		return nil, ErrNoEvents
	}
	return p.rows, nil
}

// AverageMilliseconds is the average of one wait: total time divided by waits,
// as everybody computes it from these reports. It is 0 without waits.
func AverageMilliseconds(r runfile.AWRRow) float64 {
	if r.Waits == 0 {
		return 0
	}
	return r.Seconds / float64(r.Waits) * 1000
}

// ParseLine reads one line of the table of top events by itself, as grep finds
// it, with or without the name of its file: event, waits, seconds, and what else
// follows. False means that it is none.
func ParseLine(line string) (runfile.AWRRow, bool) {
	if file, rest, ok := strings.Cut(line, ".txt:"); ok && !strings.Contains(file, " ") {
		line = rest
	}
	words := strings.Fields(line)
	first := slices.IndexFunc(words, func(w string) bool {
		_, ok := number(w)
		return ok
	})
	if first < 1 || len(words) < first+4 { // waits, seconds, average, percent
		return runfile.AWRRow{}, false
	}
	return row(strings.Join(words[:first], " "), words[first], words[first+1])
}

func row(event, waits, seconds string) (runfile.AWRRow, bool) {
	w, okWaits := number(waits)
	s, okSeconds := number(seconds)
	if event == "" || !okWaits || !okSeconds {
		return runfile.AWRRow{}, false
	}
	return runfile.AWRRow{Event: event, Waits: int64(w), Seconds: s}, true
}

// number reads 32,032 and 823.4, and the short forms of recent releases, 12.3K.
func number(word string) (float64, bool) {
	factor := 1.0
	if n := len(word); n > 1 {
		switch word[n-1] {
		case 'K':
			factor = 1e3
		case 'M':
			factor = 1e6
		case 'G':
			factor = 1e9
		}
		if factor > 1 {
			word = word[:n-1]
		}
	}
	if strings.Trim(word, "0123456789,.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(word, ",", ""), 64)
	if err != nil || v > 1e15 {
		return 0, false
	}
	return v * factor, true
}
