// Package supervise runs first in the container of a database: it switches
// Direct NFS on or off, checks for problems that Oracle only mentions in its
// alert log, runs the image's own start command and watches it.
//
// A container goes through
//
//	Preparing ─▶ Starting ─▶ Ready ─▶ Stopped
//	    │            │         │ ▲
//	    ▼            ▼         ▼ │ (the loader asks)
//	  Failed ◀───────┴───── Restarting
//
// and writes its state to one file of the run directory
// (runfile.DatabaseState), which it replaces atomically. Every failure is one
// sentence in that file, in the log and in the error that ends the program.
//
// The package changes only two parts of the image: the library of Direct NFS in
// $ORACLE_HOME/rdbms/lib/odm, like `make -f ins_rdbms.mk dnfs_on`, and files of
// Oracle Net that name another host.
package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// supervisor watches one container.
type supervisor struct {
	o       Options
	log     *slog.Logger
	home    string // ORACLE_HOME; empty = not found
	family  *family
	journal *journal
	redact  *redactor
	// suspicion is the reason why NFS servers refused the probe; empty = none did, or a start became ready.
	suspicion string
	creates   bool // there was no database on the volume
	// unfinished reports that the database on the volume is ours, but that the marker does not record the end of its
	// creation. The last DBIDs in its files are in seen.
	unfinished bool
	seen       []uint32
	heard      atomic.Int64 // time of the last output of the database or its alert log, in Unix nanoseconds
}

// Run prepares the image, starts the database and watches it until ctx ends. It
// then shuts the database down and returns no error. Any other end is an error:
// a sentence with one of the codes of runfile.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	s := &supervisor{o: o, log: o.Log, redact: newRedactor(o.Secrets), family: newFamily(o.ProcDir)}
	j, err := openJournal(o.RunDir, runfile.DatabaseState{
		State: runfile.DatabasePreparing, SID: o.SID, StartedAt: o.Now(),
		Library: runfile.DirectNFSLibrary{Wanted: o.DirectNFS},
	})
	if err != nil {
		return fmt.Errorf("%w: --run-dir must be a directory that this container can write to", err)
	}
	s.journal = j
	if err := s.run(ctx); err != nil {
		f, werr := s.failed(err)
		if werr != nil {
			s.log.Warn("The state of the database was not written", "error", werr)
		}
		return fmt.Errorf("%s: %s", f.Code, f.Message)
	}
	return s.journal.change(func(d *runfile.DatabaseState) { d.State = runfile.DatabaseStopped })
}

// Check is the startup probe: it returns nil when the database with this run directory is ready.
func Check(runDir string) error {
	var s runfile.DatabaseState
	raw, err := shareddir.Read(runDir, runfile.DatabaseFile, shareddir.SmallFile)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return err
	}
	if s.State != runfile.DatabaseReady {
		return fmt.Errorf("the database is %s", s.State)
	}
	return nil
}

// failed writes the failure into the state.
func (s *supervisor) failed(err error) (*runfile.Failure, error) {
	f := &runfile.Failure{Code: cmp.Or(oracle.CodeOf(err), runfile.FailureInternal), Message: err.Error()}
	return f, s.journal.change(func(d *runfile.DatabaseState) { d.State, d.Failure = runfile.DatabaseFailed, f })
}

func (s *supervisor) run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ctx, release, err := s.o.holdVolume(ctx)
	if err != nil && ctx.Err() != nil {
		return nil // the container is told to end before the start
	}
	if err != nil {
		return err
	}
	defer release()
	if err := s.claimVolumes(); err != nil {
		return err
	}
	s.undoParameters()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if s.o.Reap {
		// Continue after the end of ctx, to reap processes that the shutdown orphans.
		burying, rest := context.WithCancel(context.WithoutCancel(ctx))
		defer rest()
		if err := s.family.adopt(burying); err != nil {
			s.log.Warn("Orphans of the database will not be buried", "error", err)
		}
	}
	go s.followAlertLogs(watching, openAlertLogs(s.o.base()))

	again, err := s.once(ctx, runfile.DatabaseStarting)
	for again && err == nil {
		again, err = s.once(ctx, runfile.DatabaseRestarting)
	}
	if lost := context.Cause(ctx); err == nil && oracle.CodeOf(lost) == runfile.FailureVolumeInUse {
		return lost
	}
	return err
}

// once runs the database once, from its start until all its processes have
// ended. It reports whether another start is requested.
func (s *supervisor) once(ctx context.Context, state string) (again bool, err error) {
	err = s.journal.change(func(d *runfile.DatabaseState) {
		// Drop the alert log lines of the previous start.
		d.State, d.Library.AlertLine, d.Library.Mounts, d.Library.Warnings = state, "", nil, nil
	})
	if err != nil {
		return false, err
	}
	c, err := s.start()
	if err != nil {
		return false, err
	}
	defer s.keepClaim() // when the image has ended, which earlier looks missed
	defer s.stop(c)
	if err := s.putBackParameters(ctx, c, state, s.serve(ctx, c)); err != nil {
		// Write the failure at once: stopping may take long, and Run reports write errors.
		_, _ = s.failed(err)
		return false, err
	}
	if ctx.Err() != nil {
		return false, nil
	}
	s.log.Info("The loader asks for a restart", "generation", s.journal.asked())
	s.saveParameters() // before the database stops, which may take long
	return true, s.journal.change(func(d *runfile.DatabaseState) { d.State = runfile.DatabaseRestarting })
}

// mendNetFiles corrects the files of Oracle Net, and records the corrections.
func (s *supervisor) mendNetFiles() error {
	mended, err := s.o.mendNetFiles(s.home)
	return errors.Join(err, s.journal.change(func(d *runfile.DatabaseState) {
		all := append(slices.Clone(d.Host.Mended), mended...)
		d.Host.Mended = all[:min(len(all), keptWarnings)]
	}))
}

// prepare does all work before the first start.
func (s *supervisor) prepare(ctx context.Context) error {
	limits, err := s.o.limitProcesses()
	if err != nil {
		s.log.Warn("The limits of the database are not known", "error", err)
	}
	if err := s.journal.change(func(d *runfile.DatabaseState) { d.Host.Limits = limits }); err != nil {
		return err
	}
	s.home = s.o.findHome()
	library, err := s.o.prepareDirectNFS(ctx, s.home)
	werr := s.journal.change(func(d *runfile.DatabaseState) { d.OracleHome, d.Library = s.home, library })
	if err = cmp.Or(werr, err); err != nil {
		return err
	}
	s.log.Info("Direct NFS is switched", "on", s.o.DirectNFS, "method", library.Method, "library", library.Path, "oradism",
		library.OradismMode)
	_, err = os.Lstat(filepath.Join(s.o.DataDirectory, configFolder, s.o.SID))
	s.creates = errors.Is(err, fs.ErrNotExist)
	for _, check := range []func() error{
		func() error { return s.o.checkKit(1) },
		func() error { return s.o.eachVolume(Options.checkVolume) },
		s.o.refuseForeignVolumes,
		s.o.checkRedo,
		func() error { return s.probeServers(ctx) },
		s.o.checkStart,
		s.o.checkHealth,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// probeServers probes the servers before Direct NFS uses them, and records the answers.
func (s *supervisor) probeServers(ctx context.Context) error {
	probes, skipped, err := s.o.probeServers(ctx)
	if ctx.Err() != nil { // the container ends, so the answers mean nothing
		probes, err = nil, nil
	}
	if skipped != "" {
		s.log.Warn("The NFS servers are not probed", "reason", skipped)
	}
	if s.suspicion = problems(probes); s.suspicion != "" && err == nil {
		s.log.Warn("The NFS server refuses what Direct NFS may need", "problem", s.suspicion, "advice", probeAdvice)
	}
	buffers := s.warnOfNode(probes)
	return cmp.Or(err, s.journal.change(func(d *runfile.DatabaseState) {
		d.Host.Servers, d.Host.ServersNotProbed, d.Host.SocketBuffers = probes, skipped, buffers
	}))
}

// warnOfNode reports properties of the node and of the servers that slow down or limit the database. It returns the
// buffers of Direct NFS.
func (s *supervisor) warnOfNode(probes []runfile.ServerProbe) *runfile.SocketBuffers {
	warnings := []string{s.o.fewProcesses(), s.o.smallWrites(probes)}
	var buffers *runfile.SocketBuffers
	if s.o.DirectNFS {
		if b, err := s.o.buffers(); err == nil {
			buffers, warnings = &b, append(warnings, smallBuffers(b))
		}
	}
	for _, w := range warnings {
		if w != "" {
			s.log.Warn("The database may be slower or smaller than it could be", "problem", w)
		}
	}
	return buffers
}

// serve follows one start until ctx ends or a restart is requested, which both
// return nil, or until the database fails.
func (s *supervisor) serve(ctx context.Context, c *child) error {
	if err := s.awaitReady(ctx, c); err != nil || ctx.Err() != nil {
		return err
	}
	c.wasReady = true
	if err := s.o.keepRedo(); err != nil { // before the loader is told
		return err
	}
	s.keepParameters(c) // before the loader may change them
	s.keepClaim()
	monitor := &instance{seen: s.hasProcessMonitor()}
	s.suspicion = "" // the server did not refuse this start, so a slow restart is no hang
	now, asked := s.o.Now(), s.journal.asked()
	s.log.Info("The database is ready", "after", now.Sub(c.began).Round(time.Millisecond))
	err := s.journal.change(func(d *runfile.DatabaseState) {
		d.State, d.Failure = runfile.DatabaseReady, nil
		d.Generation = max(d.Generation+1, asked) // answers all requests so far
		if d.ReadyAt.IsZero() {
			d.ReadyAt = now
		}
	})
	if err != nil {
		return err
	}
	return s.watch(ctx, c, monitor)
}

// watch follows a ready database, like serve.
func (s *supervisor) watch(ctx context.Context, c *child, monitor *instance) error {
	tick, look := time.NewTicker(pollInterval), time.NewTicker(2*s.o.HealthInterval)
	defer tick.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.done:
			if ctx.Err() != nil {
				return nil
			}
			return s.hasEnded(c)
		case <-look.C:
			if err := s.look(monitor, c); err != nil && ctx.Err() == nil {
				return err
			}
		case <-tick.C:
			s.keepParameters(c)
			s.keepCreated()
			if s.journal.asks() {
				return nil
			}
		}
	}
}

// refused returns why further waiting is useless: the image gave up, or the listener does not start. It returns nil
// while neither is certain.
func (s *supervisor) refused(c *child, last health) error {
	if c.deaf++; last.deaf == nil {
		c.deaf = 0
	}
	if c.deaf > listenerChecks {
		return oracle.Failf(runfile.FailureDatabaseNotReady, "%s: see HOST in listener.ora in %s, and the log of the "+
			"listener%s", last.explain(), filepath.Join(s.o.DataDirectory, "dbconfig", s.o.SID), s.lastWords(c))
	}
	silent := s.o.Now().Sub(time.Unix(0, s.heard.Load()))
	if s.suspicion != "" && silent > s.hangPatience() {
		return oracle.Failf(runfile.FailureAccessDenied, "the start of the database hangs, without a line in its log for "+
			"%s, and before it the NFS server refused its pod: %s; %s", silent.Round(time.Second), s.suspicion, probeAdvice)
	}
	g := c.gaveUp.Load()
	if g == nil || s.o.Now().Sub(g.at) <= surrenderChecks*s.o.HealthInterval {
		return nil
	}
	return s.unlessFull(g.words, oracle.Failf(runfile.FailureDatabaseNotReady,
		"the image could not create or start the database: %s%s; look there for the reason, an init parameter for "+
			"example, or an earlier start on this volume that was interrupted", last.explain(), g.words))
}

// hangPatience returns how long a start may be silent if the server has refused the probe. The creation of a database
// copies files and prints little.
func (s *supervisor) hangPatience() time.Duration {
	patience := hangChecks * s.o.HealthInterval
	if s.creates {
		patience *= 5
	}
	return patience
}

// hasEnded reports how the start command ended, which it should not do.
func (s *supervisor) hasEnded(c *child) error {
	how := "exit status 0"
	if c.err != nil {
		how = c.err.Error()
	}
	return s.unlessFull(s.lastWords(c), oracle.Failf(runfile.FailureDatabaseEnded,
		"the database's start command ended with %s after %s%s",
		how, s.o.Now().Sub(c.began).Round(time.Millisecond), s.lastWords(c)))
}

// unlessFull returns err, or the advice for a full volume or too little shared memory if the last lines of Oracle or
// its tools mention one.
func (s *supervisor) unlessFull(lastWords string, err error) error {
	if ora := oracle.SharedMemory(lastWords); ora != "" {
		return oracle.Failf(oracle.CodeOf(err), "%w; the instance gets no shared memory for its SGA (%s): lower sga_target, "+
			"or raise kernel.shmall and kernel.shmmax of the node, and the memory of the container", err, ora)
	}
	text := strings.ToLower(lastWords)
	for _, words := range []string{
		"no space left on device", "disk quota exceeded", "error: 28: ", "dbt-06604", "insufficient free space",
	} {
		if strings.Contains(text, words) {
			return oracle.Failf(runfile.FailureNoSpace, "the database ran out of space, on the volume at %s if nowhere else "+
				"is named%s; make the volume larger", s.o.DataDirectory, lastWords)
		}
	}
	return err
}

// lastWords returns the end of the log, for use in a sentence.
func (s *supervisor) lastWords(c *child) string {
	if text := c.tail.text(); text != "" {
		return "; the last lines of its log: " + text
	}
	return "; it printed nothing"
}

// journal holds the state and writes its file. It is safe for concurrent use.
type journal struct {
	mu    sync.Mutex
	dir   string
	state runfile.DatabaseState
}

// openJournal begins a state. Generations continue from an earlier container of
// the same pod, so that a process that waits for a generation does not see an
// old one.
func openJournal(dir string, first runfile.DatabaseState) (*journal, error) {
	j := &journal{dir: dir, state: first}
	raw, err := shareddir.Read(dir, runfile.DatabaseFile, shareddir.SmallFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("use run directory: %w", err)
	default:
		var old runfile.DatabaseState
		// An unreadable state comes from no earlier container.
		if json.Unmarshal(raw, &old) == nil {
			j.state.Generation = old.Generation
		}
	}
	return j, j.change(func(*runfile.DatabaseState) {})
}

// change changes the state and writes it atomically.
func (j *journal) change(alter func(*runfile.DatabaseState)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	alter(&j.state)
	data, err := json.Marshal(j.state)
	if err == nil {
		err = shareddir.Replace(j.dir, runfile.DatabaseFile, append(data, '\n'), shareddir.ForAll)
	}
	if err != nil {
		err = fmt.Errorf("write state of the database: %w", err)
	}
	return err
}

// asks reports whether the loader requests another start than the last one that became ready.
func (j *journal) asks() bool {
	asked := j.asked()
	j.mu.Lock()
	defer j.mu.Unlock()
	return asked > j.state.Generation
}

// asked returns the generation that the loader requests; 0 = none, or an invalid
// one.
func (j *journal) asked() int32 {
	raw, _ := shareddir.Read(j.dir, runfile.DatabaseGenerationFile, shareddir.SmallFile)
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 32)
	if err != nil {
		return 0
	}
	return max(0, int32(n))
}
