// Package supervise is what runs first in the container of a database: it
// switches Direct NFS on or off, checks what Oracle would only hint at in its
// alert log, starts the image's own start command and watches over it.
//
// A container goes through
//
//	Preparing ─▶ Starting ─▶ Ready ─▶ Stopped
//	    │            │         │ ▲
//	    ▼            ▼         ▼ │ (the loader asks)
//	  Failed ◀───────┴───── Restarting
//
// and says so in one file of the run directory (runfile.DatabaseState), which is
// replaced as a whole each time. Everything that goes wrong is one sentence
// there, in the log and in the error that ends the program.
//
// The image stays as its maker built it: nothing but the library of Direct NFS
// in $ORACLE_HOME/rdbms/lib/odm is changed, and that as `make -f ins_rdbms.mk
// dnfs_on` does.
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// supervisor watches over one container.
type supervisor struct {
	o       Options
	log     *slog.Logger
	home    string // ORACLE_HOME; empty = not found
	family  *family
	journal *journal
	redact  *redactor
}

// Run prepares the image, starts the database and watches over it until ctx
// ends, which shuts it down and is no error. Everything else that ends it is
// one: a sentence that begins with one of the codes of runfile.
func Run(ctx context.Context, o Options) error {
	s := &supervisor{o: o.withDefaults(), log: o.Log, redact: newRedactor(o.Secrets)}
	s.family = newFamily(s.o.ProcDir)
	j, err := openJournal(o.RunDir, runfile.DatabaseState{
		State: runfile.DatabasePreparing, SID: o.SID, StartedAt: o.Now(),
		Library: runfile.DirectNFSLibrary{Wanted: o.DirectNFS},
	})
	if err != nil {
		return fmt.Errorf("%w: --run-dir must be a directory that this container can write to", err)
	}
	s.journal = j
	if err := s.run(ctx); err != nil {
		f := asFailure(err)
		if werr := s.failed(err); werr != nil {
			s.log.Warn("The state of the database was not written", "error", werr)
		}
		return fmt.Errorf("%s: %s", f.Code, f.Message)
	}
	return s.journal.change(func(d *runfile.DatabaseState) { d.State = runfile.DatabaseStopped })
}

func (s *supervisor) failed(err error) error {
	return s.journal.change(func(d *runfile.DatabaseState) { d.State, d.Failure = runfile.DatabaseFailed, asFailure(err) })
}

func (s *supervisor) run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if s.o.Reap {
		// Not ended by ctx: those that a shutdown orphans are buried too.
		burying, rest := context.WithCancel(context.WithoutCancel(ctx))
		defer rest()
		if err := s.family.adopt(burying); err != nil {
			s.log.Warn("Orphans of the database will not be buried", "error", err)
		}
	}
	logs := openAlertLogs(s.o.base())
	go s.followAlertLogs(watching, logs)

	again, err := s.once(ctx, runfile.DatabaseStarting)
	for again && err == nil {
		again, err = s.once(ctx, runfile.DatabaseRestarting)
	}
	return err
}

// once is one start, from its beginning until everything of it has ended. It
// says whether another one is asked for.
func (s *supervisor) once(ctx context.Context, state string) (again bool, err error) {
	err = s.journal.change(func(d *runfile.DatabaseState) {
		// What the alert log said of the start before is forgotten.
		d.State, d.Library.AlertLine, d.Library.Warnings = state, "", nil
	})
	if err != nil {
		return false, err
	}
	c, err := s.start()
	if err != nil {
		return false, err
	}
	defer s.stop(c)
	if err := s.serve(ctx, c); err != nil {
		// At once: stopping may take long, and Run tells what could not be written.
		_ = s.failed(err)
		return false, err
	}
	if ctx.Err() != nil {
		return false, nil
	}
	s.log.Info("The loader asks for a restart", "generation", s.journal.wish())
	return true, s.journal.change(func(d *runfile.DatabaseState) { d.State = runfile.DatabaseRestarting })
}

// prepare does everything that comes before the first start.
func (s *supervisor) prepare(ctx context.Context) error {
	s.home = s.o.findHome()
	library := runfile.DirectNFSLibrary{Wanted: s.o.DirectNFS}
	var err error
	switch {
	case s.home != "":
		library, err = s.o.switchDirectNFS(ctx, s.home)
		if err == nil && s.o.DirectNFS {
			err = s.o.checkOradism(s.home, &library)
		}
	case s.o.DirectNFS:
		err = failf(runfile.FailureDirectNFSMissing,
			"the image sets no ORACLE_HOME and has no Oracle home below %s, so Direct NFS cannot be switched on: use an "+
				"image of the database, or set protocol.client to Kernel", s.o.ProductRoot)
	default:
		s.log.Warn("No Oracle home was found: whether Direct NFS is off is unknown", "looked", s.o.ProductRoot)
	}
	if werr := s.journal.change(func(d *runfile.DatabaseState) {
		d.OracleHome, d.Library = s.home,
			library
	}); werr != nil {
		return werr
	}
	if err != nil {
		return err
	}
	s.log.Info("Direct NFS is switched", "on", s.o.DirectNFS, "method", library.Method, "library", library.Path, "oradism",
		library.OradismMode)
	if err := s.o.checkVolume(); err != nil {
		return err
	}
	if err := s.o.claimVolume(); err != nil {
		return err
	}
	if err := s.o.checkCommand("start command", "command", s.o.startCommand()); err != nil {
		return err
	}
	return s.o.checkCommand("health script", "healthCommand", s.o.healthCommand())
}

// serve follows one start until ctx ends or a restart is asked for, both nil,
// or until the database fails.
func (s *supervisor) serve(ctx context.Context, c *child) error {
	if err := s.awaitReady(ctx, c); err != nil || ctx.Err() != nil {
		return err
	}
	if err := s.ready(c); err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.done:
			if ctx.Err() != nil {
				return nil
			}
			return s.hasEnded(c)
		case <-tick.C:
			if s.journal.wish() > s.journal.generation() {
				return nil
			}
		}
	}
}

// ready counts the start. It fulfils whatever was wished for until now.
func (s *supervisor) ready(c *child) error {
	now := s.o.Now()
	s.log.Info("The database is ready", "after", now.Sub(c.began).Round(time.Millisecond))
	wish := s.journal.wish()
	return s.journal.change(func(d *runfile.DatabaseState) {
		d.State, d.Failure = runfile.DatabaseReady, nil
		d.Generation = max(d.Generation+1, wish)
		if d.ReadyAt.IsZero() {
			d.ReadyAt = now
		}
	})
}

// notReady says why the database is given up.
func (s *supervisor) notReady(c *child, last health) error {
	if err := s.outOfSpace(c); err != nil {
		return err
	}
	return failf(runfile.FailureDatabaseNotReady,
		"the database was not ready after %s: %s%s; raise database.container.startupTimeoutSeconds if it only needs longer",
		s.o.StartupTimeout, last.explain(s.o.Distribution), s.lastWords(c))
}

// refused says what the image said when it gave up, which waiting does not fix;
// nil where it did not, or just now.
func (s *supervisor) refused(c *child, last health) error {
	g := c.gaveUp.Load()
	if g == nil || s.o.Now().Sub(g.at) <= surrenderChecks*s.o.HealthInterval {
		return nil
	}
	if speaksOfSpace(g.words) {
		return s.noSpace(g.words)
	}
	return failf(runfile.FailureDatabaseNotReady,
		"the image could not create or start the database: %s%s; look there for the reason, an init parameter for "+
			"example, or an earlier start on this volume that was interrupted",
		last.explain(s.o.Distribution), g.words)
}

// hasEnded says how the start command ended, which it should not have.
func (s *supervisor) hasEnded(c *child) error {
	if err := s.outOfSpace(c); err != nil {
		return err
	}
	return failf(runfile.FailureDatabaseEnded, "the database's start command ended with %s after %s%s",
		c.how(), s.o.Now().Sub(c.began).Round(time.Millisecond), s.lastWords(c))
}

// outOfSpace finds in the last lines what Oracle and its tools say of a full
// volume.
func (s *supervisor) outOfSpace(c *child) error {
	if !speaksOfSpace(c.tail.text()) {
		return nil
	}
	return s.noSpace(s.lastWords(c))
}

func speaksOfSpace(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{
		"no space left on device", "disk quota exceeded", "error: 28: ", "dbt-06604",
		"insufficient free space",
	},
		func(words string) bool { return strings.Contains(text, words) })
}

func (s *supervisor) noSpace(words string) error {
	return failf(runfile.FailureNoSpace, "the database ran out of space, on the volume at %s if nowhere else is "+
		"named%s; make the volume larger", s.o.DataDirectory, words)
}

// lastWords is the end of the log, as it stands in a sentence.
func (s *supervisor) lastWords(c *child) string {
	if text := c.tail.text(); text != "" {
		return "; the last lines of its log: " + text
	}
	return "; it printed nothing"
}
