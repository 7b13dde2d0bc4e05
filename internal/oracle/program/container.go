package program

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// container is the database container of this pod, accessed through files in
// the run directory of this name. It implements run.Database.
type container string

// State returns what the container reports about itself.
func (c container) State(context.Context) (runfile.DatabaseState, error) {
	var s runfile.DatabaseState
	raw, err := shareddir.Read(string(c), runfile.DatabaseFile, shareddir.SmallFile)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, oracle.Failf(runfile.FailureDatabaseNotReady,
			"the container of the database has not said how it is: %w", err)
	}
	return s, nil
}

// Restart asks the supervisor for the start after the current one, by its number, so that a repeated request is
// harmless.
func (c container) Restart(ctx context.Context) error {
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	next := strconv.Itoa(int(s.Generation)+1) + "\n"
	if err := shareddir.Replace(string(c), runfile.DatabaseGenerationFile, []byte(next), shareddir.ForAll); err != nil {
		return fmt.Errorf("ask the database to restart: %w", err)
	}
	return nil
}
