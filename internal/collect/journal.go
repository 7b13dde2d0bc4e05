package collect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// The sources of problems that are the collector's own.
const (
	problemRestart = "collector"
	problemJournal = "collector journal"
)

// maxJournalBytes is how much of a journal is read: other containers of the pod can write
// to its directory.
const maxJournalBytes = 64 << 20

// maxEntryBytes is above what a reading of all counters of an array takes.
const maxEntryBytes = 4 << 20

// journal keeps what a session has sampled in a file, so that the successor of
// a collector that was killed goes on from there. It holds what the series
// hold, one entry a line, and is written anew when they are thinned: it never
// grows beyond them. A nil journal keeps nothing. One goroutine at a time uses
// it.
type journal struct {
	dir, name string
	file      *os.File
}

// entry is one line: one of its first three members.
type entry struct {
	Host    *runfile.HostSample      `json:"host,omitempty"`
	Reading *Reading                 `json:"reading,omitempty"`
	Problem *runfile.CollectionError `json:"problem,omitempty"`
	Edge    bool                     `json:"edge,omitempty"`
}

// openJournal opens or makes the journal, and returns what is in it. A line
// that is no entry is left out: its writer was killed inside it.
func openJournal(path string) (*journal, []entry, error) {
	j := &journal{dir: filepath.Dir(path), name: filepath.Base(path)}
	entries, err := j.read()
	if err != nil {
		return nil, nil, err
	}
	// What was read is written again, so that a half line at the end is gone.
	return j, entries, j.rewrite(entries)
}

func (j *journal) read() ([]entry, error) {
	f, err := shareddir.Open(j.dir, j.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var entries []entry
	lines := bufio.NewScanner(io.LimitReader(f, maxJournalBytes))
	lines.Buffer(nil, maxEntryBytes)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e != (entry{}) {
			entries = append(entries, e)
		}
	}
	return entries, lines.Err()
}

// add appends one entry. Each line is one write.
func (j *journal) add(e entry) error {
	if j == nil || j.file == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep a sample: %w", err)
	}
	return nil
}

// rewrite replaces all entries at once.
func (j *journal) rewrite(entries []entry) error {
	if j == nil {
		return nil
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, e := range entries {
		if err := lines.Encode(e); err != nil {
			return fmt.Errorf("keep the samples: %w", err)
		}
	}
	j.close()
	var err error
	if j.file, err = shareddir.New(j.dir, j.name, text.Bytes(), shareddir.ForAll); err != nil {
		return fmt.Errorf("keep the samples: %w", err)
	}
	return nil
}

func (j *journal) close() {
	if j != nil && j.file != nil {
		_ = j.file.Close() // every line was written already
		j.file = nil
	}
}

// restore takes over what a collector that was killed had sampled, and keeps
// what this one will. It is called before sampling begins.
func (s *Session) restore() {
	if s.opt.Journal == "" {
		return
	}
	j, entries, err := openJournal(s.opt.Journal)
	if err != nil {
		s.problem(problemJournal, err)
	}
	for _, e := range entries {
		switch {
		case e.Host != nil:
			s.hosts.add(*e.Host, e.Edge)
			s.resumed = e.Host.Time
		case e.Reading != nil:
			n := slices.IndexFunc(s.opt.Sources, func(source storage.Source) bool {
				return source.Name() == e.Reading.Sample.Source
			})
			if n >= 0 {
				s.readings[n].add(*e.Reading, e.Edge)
			}
		case e.Problem != nil:
			s.problems.restore(*e.Problem)
		}
	}
	s.journal = j
}

// keep writes an entry down; s.mu is held. Where that fails once, a successor
// would find gaps that are not marked, so nothing more is kept.
func (s *Session) keep(e entry, thinned bool) {
	if s.journal == nil || s.finished {
		return
	}
	err := s.journal.add(e)
	if thinned {
		err = s.journal.rewrite(s.entries())
	}
	if err != nil {
		s.problems.add(problemJournal, err, s.wallTime())
		s.journal.close()
		s.journal = nil
	}
}

// entries are all that is known; s.mu is held.
func (s *Session) entries() []entry {
	var out []entry
	for _, p := range s.problems.snapshot() {
		out = append(out, entry{Problem: &p})
	}
	for _, i := range s.hosts.items {
		out = append(out, entry{Host: &i.value, Edge: i.edge})
	}
	for _, series := range s.readings {
		for _, i := range series.items {
			out = append(out, entry{Reading: &i.value, Edge: i.edge})
		}
	}
	return out
}

// gap says what a restart has cost.
func (s *Session) gap() error {
	if s.resumed.IsZero() {
		return errors.New("the collector was restarted: what it had sampled before is lost")
	}
	now := s.wallTime()
	return fmt.Errorf("the collector was restarted: nothing was sampled for %.1f s from %s on",
		now.Sub(s.resumed).Seconds(), s.resumed.UTC().Format(time.RFC3339))
}
