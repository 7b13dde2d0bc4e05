package program

import (
	"encoding/json"
	"io"

	"github.com/nfsbench/nfsbench/internal/rundir"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// sink tells the run directory, and shows every event as one line of JSON.
type sink struct {
	dir *rundir.Dir
	out io.Writer
}

// Event implements rundir.Sink. Progress that cannot be shown ends no run.
func (s *sink) Event(e runfile.Event) {
	s.dir.Event(e)
	if line, err := json.Marshal(e); err == nil {
		_, _ = s.out.Write(append(line, '\n'))
	}
}

// Load implements rundir.Sink.
func (s *sink) Load(l *runfile.Load) error { return s.dir.Load(l) }
