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

// Sources of problems of the collector itself.
const (
	problemRestart = "collector"
	problemJournal = "collector journal"
)

// maxJournalBytes bounds the reading of a journal, because other containers of the pod can write to its
// directory.
const maxJournalBytes = 64 << 20

// maxEntryBytes is above the size of a reading of all counters of an array.
const maxEntryBytes = 4 << 20

// journal keeps the samples of a session in a file, so that the successor of a killed collector continues
// from them. It has the same samples as the series, one entry per line. The session rewrites it when it thins
// a series, so that the journal never grows beyond the series. A nil journal keeps nothing. One goroutine at
// a time uses it.
type journal struct {
	dir, name string
	file      *os.File
}

// entry is one line of the journal: one of its first three members.
type entry struct {
	Host    *runfile.HostSample      `json:"host,omitempty"`
	Reading *Reading                 `json:"reading,omitempty"`
	Problem *runfile.CollectionError `json:"problem,omitempty"`
	Edge    bool                     `json:"edge,omitempty"`
}

// openJournal opens or creates the journal, and returns its entries. It skips a line that is not an entry,
// because a collector may have been killed while it wrote the line.
func openJournal(path string) (*journal, []entry, error) {
	j := &journal{dir: filepath.Dir(path), name: filepath.Base(path)}
	entries, err := j.read()
	if err != nil {
		return nil, nil, err
	}
	// Write the entries again, which removes an incomplete line at the end.
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

// add appends one entry with a single write.
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

// restore takes over the samples of a killed collector, and starts the journal of this one. Start calls it
// before sampling begins.
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

// keep writes an entry to the journal; s.mu is held. After an error it closes the journal, because a
// successor would find gaps that are not marked.
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

// entries returns all samples and problems; s.mu is held.
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

// gap returns an error that describes the loss by a restart.
func (s *Session) gap() error {
	if s.resumed.IsZero() {
		return errors.New("the collector was restarted: what it had sampled before is lost")
	}
	now := s.wallTime()
	return fmt.Errorf("the collector was restarted: nothing was sampled for %.1f s from %s on",
		now.Sub(s.resumed).Seconds(), s.resumed.UTC().Format(time.RFC3339))
}
