package supervise

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options say what to supervise.
type Options struct {
	RunDir        string   // shared with loader and collector
	DirectNFS     bool     // Oracle's own NFS client on, or off
	Distribution  string   // who made the image: Oracle or Gvenzl, as in runfile
	SID           string   // told to those who read the state
	DataDirectory string   // the volume
	UseExisting   bool     // open a database there that was not created for a benchmark
	OracleHome    string   // empty = $ORACLE_HOME, else the one below ProductRoot
	ProductRoot   string   // where images install; empty = /opt/oracle/product
	StartCommand  []string // empty = that of the distribution
	HealthCommand []string // empty = that of the distribution; 0 means ready

	StartupTimeout  time.Duration // until ready, counted from each start
	ShutdownTimeout time.Duration // of SHUTDOWN IMMEDIATE, before the processes are killed
	HealthInterval  time.Duration // between two health checks; 0 = 5 s
	MinFreeBytes    int64         // of the volume before anything is started

	Env     []string // of the container; the database gets it as it is
	Secrets []string // words that must not come out
	ProcDir string   // empty = /proc
	// Reap says that this process inherits orphans and buries them: it is the
	// first of its container, or a subreaper.
	Reap bool

	Out io.Writer // what the database prints, without secrets
	Log *slog.Logger
	Now func() time.Time
}

// The times between two looks.
const (
	healthInterval = 5 * time.Second
	healthPatience = time.Minute // with one run of the health script
	pollInterval   = 500 * time.Millisecond
	// surrenderChecks is how many intervals a database has to become healthy after
	// its image gave up: a pluggable database may open late.
	surrenderChecks = 12
)

func (o Options) withDefaults() Options {
	if o.ProductRoot == "" {
		o.ProductRoot = "/opt/oracle/product"
	}
	if o.ProcDir == "" {
		o.ProcDir = "/proc"
	}
	if o.HealthInterval <= 0 {
		o.HealthInterval = healthInterval
	}
	return o
}

// lookup returns a variable of the container; of several, the last counts.
func (o Options) lookup(name string) string {
	value := ""
	for _, v := range o.Env {
		if len(v) > len(name) && v[:len(name)] == name && v[len(name)] == '=' {
			value = v[len(name)+1:]
		}
	}
	return value
}

// base is ORACLE_BASE, which all images have at the same place.
func (o Options) base() string {
	if b := o.lookup("ORACLE_BASE"); b != "" {
		return b
	}
	return "/opt/oracle"
}

// startCommand is what the image itself would run.
func (o Options) startCommand() []string {
	switch {
	case len(o.StartCommand) > 0:
		return o.StartCommand
	case o.Distribution == runfile.DistributionGvenzl:
		return []string{o.program("container-entrypoint.sh")}
	}
	file := o.lookup("RUN_FILE")
	if file == "" {
		file = "runOracle.sh"
	}
	return []string{filepath.Join(o.base(), file)}
}

// healthCommand is the script by which the image itself tells whether it is ready.
func (o Options) healthCommand() []string {
	switch {
	case len(o.HealthCommand) > 0:
		return o.HealthCommand
	case o.Distribution == runfile.DistributionGvenzl:
		return []string{o.program("healthcheck.sh")}
	}
	file := o.lookup("CHECK_DB_FILE")
	if file == "" {
		file = "checkDBStatus.sh"
	}
	return []string{filepath.Join(o.base(), file)}
}

// program looks for a file in the PATH of the container, and in ORACLE_BASE,
// where the images keep what they link there.
func (o Options) program(name string) string {
	for _, dir := range append(filepath.SplitList(o.lookup("PATH")), o.base()) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return name
}
