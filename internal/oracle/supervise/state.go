package supervise

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// journal keeps the state and its file. It is safe for several goroutines.
type journal struct {
	mu    sync.Mutex
	dir   string
	state runfile.DatabaseState
}

// openJournal begins a state. Generations go on where an earlier container of
// the same pod has left off, so that who waits for one is not told of an old one.
func openJournal(dir string, first runfile.DatabaseState) (*journal, error) {
	j := &journal{dir: dir, state: first}
	raw, err := os.ReadFile(filepath.Join(dir, runfile.DatabaseFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("use run directory: %w", err)
	default:
		var old runfile.DatabaseState
		// What is no state was written by nobody who waits for us.
		if json.Unmarshal(raw, &old) == nil {
			j.state.Generation = old.Generation
		}
	}
	return j, j.change(func(*runfile.DatabaseState) {})
}

// change alters the state and writes it, as a whole or not at all.
func (j *journal) change(alter func(*runfile.DatabaseState)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	alter(&j.state)
	data, err := json.Marshal(j.state)
	if err == nil {
		err = course.ReplaceFile(filepath.Join(j.dir, runfile.DatabaseFile), append(data, '\n'))
	}
	if err != nil {
		err = fmt.Errorf("write state of the database: %w", err)
	}
	return err
}

// generation is that of the last start that became ready.
func (j *journal) generation() int32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.Generation
}

// wish is the generation that the loader asks for; 0 if it asks for none, or
// for something that is no number.
func (j *journal) wish() int32 {
	raw, err := os.ReadFile(filepath.Join(j.dir, runfile.DatabaseWishFile))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// failf makes an error with one of the codes of runfile. Its text is one
// sentence: what, where, what to do.
func failf(code, format string, args ...any) error {
	return oracle.Fail(code, fmt.Sprintf(format, args...), nil)
}

// asFailure is how an error stands in the state.
func asFailure(err error) *runfile.Failure {
	return &runfile.Failure{Code: cmp.Or(oracle.CodeOf(err), runfile.FailureInternal), Message: err.Error()}
}
