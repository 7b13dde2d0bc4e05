package program

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	statePoll = 200 * time.Millisecond
	// defaultStartup is how long a start may take when the plan does not say.
	defaultStartup = 45 * time.Minute
	// restartMargin comes on top for shutting down. The container watches its own
	// times and says what failed; this is for one that has vanished.
	restartMargin = 65 * time.Minute
)

// container is the database's container of this pod, as the files of the run
// directory show it. It implements run.Database.
type container struct {
	dir      string
	patience time.Duration // with a restart
}

func newContainer(dir string, d runfile.Database) *container {
	startup := cmp.Or(time.Duration(d.StartupTimeoutSeconds)*time.Second, defaultStartup)
	return &container{dir: dir, patience: startup + restartMargin}
}

// State returns what the container reports about itself.
func (c *container) State(context.Context) (runfile.DatabaseState, error) {
	var s runfile.DatabaseState
	raw, err := course.ReadFile(filepath.Join(c.dir, runfile.DatabaseFile))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, oracle.Failf(runfile.FailureDatabaseNotReady,
			"the container of the database has not said how it is: %w", err)
	}
	return s, nil
}

// Restart asks for one start more than there was and waits until the database is
// ready again, has failed, or ctx ends. Asking again after an error is harmless.
func (c *container) Restart(ctx context.Context) error {
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	wish := s.Generation + 1
	err = course.ReplaceFile(filepath.Join(c.dir, runfile.DatabaseWishFile), []byte(strconv.Itoa(int(wish))+"\n"))
	if err != nil {
		return fmt.Errorf("ask the database to restart: %w", err)
	}
	deadline := time.NewTimer(c.patience)
	defer deadline.Stop()
	tick := time.NewTicker(statePoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-deadline.C:
			return oracle.Failf(runfile.FailureDatabaseNotReady,
				"the database was asked to restart and was not ready after %s; its container said %s last", c.patience, s.State)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if s, err = c.State(ctx); err != nil {
			return err
		}
		switch {
		case s.State == runfile.DatabaseFailed && s.Failure != nil:
			return oracle.Fail(s.Failure.Code, s.Failure.Message, nil)
		case s.State == runfile.DatabaseReady && s.Generation >= wish:
			return nil
		}
	}
}
