package oracle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/oracle/driver"
)

// World is a stand-in in this process, with all that it needs around it. It can
// be restarted as the container of a database is, and keeps its address then.
type World struct {
	tb   testing.TB
	cfg  Config
	Home string // ORACLE_HOME
	Redo string // where the export of Options.Redo is mounted

	mu         sync.Mutex
	instance   *Instance
	generation int32
	startedAt  time.Time
	readyAt    time.Time
}

// Options say what is around a stand-in. Zero values mean the kernel's mount
// alone, which is a folder.
type Options struct {
	Config Config
	// Paths are addresses of this machine at which the embedded NFS server shows
	// the data directory; with one or more Direct NFS is set up.
	Paths []string
	// Oranfstab replaces the one that is written for Paths; it may name the port
	// of nobody, for ports come from Config.
	Oranfstab string
	// Redo is a second export, for redo logs, whose directory is World.Redo.
	Redo bool
	// NoOranfstab leaves Direct NFS with the mount table, which names the first of Paths.
	NoOranfstab bool
}

// Password is that of a World's SYS and SYSTEM.
const Password = "Stand-In_1"

// NewWorld starts a stand-in that ends with the test.
func NewWorld(tb testing.TB, o Options) *World {
	tb.Helper()
	w := &World{tb: tb, cfg: o.Config, Home: tb.TempDir()}
	w.cfg.Data, w.cfg.Base = cmp.Or(w.cfg.Data, tb.TempDir()), cmp.Or(w.cfg.Base, tb.TempDir())
	w.cfg.Direct.Etc = cmp.Or(w.cfg.Direct.Etc, tb.TempDir())
	w.cfg.Password = cmp.Or(w.cfg.Password, Password)
	w.cfg.DatafilePercent = cmp.Or(w.cfg.DatafilePercent, 5)
	w.cfg.Calibrate = cmp.Or(w.cfg.Calibrate, 600*time.Millisecond)
	if w.cfg.Now == nil {
		w.cfg.Now = time.Now
	}
	if o.Redo {
		top := tb.TempDir()
		w.cfg.Data, w.Redo = filepath.Join(top, "data"), filepath.Join(top, "redo")
		for _, dir := range []string{w.cfg.Data, w.Redo} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if len(o.Paths) > 0 {
		w.export(o)
	}
	w.cfg.Home = w.Home
	if err := w.open(tb.Context()); err != nil {
		tb.Fatalf("start the stand-in: %v", err)
	}
	w.cfg.Listen = w.instance.Address()
	tb.Cleanup(func() { _ = w.Instance().Shutdown(context.Background()) }) //nolint:usetesting // the test's context has ended by then
	return w
}

// export serves the data directory over NFS and sets up Direct NFS for it.
func (w *World) export(o Options) {
	w.tb.Helper()
	free, err := net.Listen("tcp", net.JoinHostPort(o.Paths[0], "0")) //nolint:noctx // ends at once
	if err != nil {
		w.tb.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close() // all paths need the same port
	var listen []string
	for _, p := range o.Paths {
		listen = append(listen, net.JoinHostPort(p, strconv.Itoa(port)))
	}
	dir := w.cfg.Data
	if o.Redo {
		dir = filepath.Dir(dir)
	}
	srv, err := server.New(server.Options{Dir: dir, Listen: listen, Now: time.Now})
	if err != nil {
		w.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it outlives the instance, which ends in a clean-up
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx) }()
	w.tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.tb.Errorf("the NFS server: %v", err)
		}
	})
	w.cfg.Direct.NFSPort, w.cfg.Direct.MountPort = port, port
	w.cfg.Direct.Privileged = func() bool { return true }
	table := filepath.Join(w.tb.TempDir(), "mounts")
	w.cfg.Direct.MountTable = table
	var lines strings.Builder
	for export, mount := range w.mounts() {
		fmt.Fprintf(&lines, "%s:%s %s nfs rw,vers=3 0 0\n", o.Paths[0], export, mount)
	}
	w.file(table, lines.String())
	w.file(filepath.Join(w.Home, "rdbms/lib/odm/libnfsodm.so"), "")
	if o.NoOranfstab {
		return
	}
	text := o.Oranfstab
	if text == "" {
		text = w.Oranfstab(o.Paths...)
	}
	w.file(filepath.Join(w.cfg.Direct.Etc, "oranfstab"), text)
}

// Oranfstab is one for the data directory over the given paths.
func (w *World) Oranfstab(paths ...string) string {
	var text strings.Builder
	text.WriteString("server: flashblade\n")
	for _, p := range paths {
		fmt.Fprintf(&text, "path: %s\n", p)
	}
	text.WriteString("nfs_version: nfsv3\n")
	mounts := w.mounts()
	for _, export := range slices.Sorted(maps.Keys(mounts)) {
		fmt.Fprintf(&text, "export: %s mount: %s\n", export, mounts[export])
	}
	return text.String()
}

// mounts are the directories of the exports.
func (w *World) mounts() map[string]string {
	if w.Redo == "" {
		return map[string]string{"/export": w.cfg.Data}
	}
	return map[string]string{"/export/data": w.cfg.Data, "/export/redo": w.Redo}
}

func (w *World) file(path, text string) {
	w.tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.tb.Fatal(err)
	}
}

func (w *World) open(ctx context.Context) error {
	started := time.Now()
	i, err := Open(ctx, w.cfg)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instance = i
	w.generation++
	if w.generation == 1 {
		w.startedAt, w.readyAt = started, time.Now()
	}
	return nil
}

// Instance is the one that runs now.
func (w *World) Instance() *Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.instance
}

// Config is what the next start takes; a test may change it before a Restart.
func (w *World) Config() *Config { return &w.cfg }

// Admin and Load are EZConnect strings of the root container and of the
// pluggable database.
func (w *World) Admin() string { return w.Instance().Address() + "/" + w.Instance().cfg.SID }

// Load is that of the pluggable database.
func (w *World) Load() string { return w.Instance().Address() + "/" + w.Instance().cfg.PDB }

// Opener connects to stand-ins.
func (w *World) Opener() oracle.Opener { return driver.Open }

// AlertLog is the text of the alert log.
func (w *World) AlertLog() string {
	text, err := os.ReadFile(AlertLog(w.cfg.Base, w.Instance().cfg.SID))
	if err != nil {
		w.tb.Error(err)
	}
	return string(text)
}

// Restart ends the instance and starts it again on the same data: what the
// container of a database does on request.
func (w *World) Restart(ctx context.Context) error {
	if err := w.Instance().Shutdown(ctx); err != nil {
		return err
	}
	return w.open(ctx)
}

// State is what the container of a database reports about itself.
func (w *World) State(context.Context) (runfile.DatabaseState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := runfile.DatabaseState{
		State: runfile.DatabaseReady, Generation: w.generation, OracleHome: w.Home, SID: w.instance.cfg.SID,
		StartedAt: w.startedAt, ReadyAt: w.readyAt,
	}
	library, _ := filepath.Glob(filepath.Join(w.Home, "rdbms/lib/odm/libnfsodm*.so"))
	if state.Library.Wanted = len(library) > 0; state.Library.Wanted {
		state.Library.Path = library[0]
		state.Library.AlertLine = "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0"
	}
	return state, nil
}
