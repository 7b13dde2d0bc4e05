package supervise

import (
	"bytes"
	"cmp"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/slobconf"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options configures a supervisor.
type Options struct {
	RunDir        string // shared with loader and collector
	DirectNFS     bool   // Oracle's own NFS client on, or off
	SID           string // reported in the state
	DataDirectory string // the volume
	Export        string // mounted at DataDirectory; empty = unknown
	// RedoDirectory is the mount point of RedoExport for the redo logs; empty = they are on the data volume.
	RedoDirectory, RedoExport string
	UseExisting               bool   // open a database that was not created for a benchmark
	Owner                     string // identifies this benchmark to other databases on the volume
	Hostname                  string // of this container
	// Listener is the address at which a ready database accepts connections; empty = only the health script decides
	// whether it is ready.
	Listener      string
	ProductRoot   string   // where images install; empty = /opt/oracle/product
	StartCommand  []string // empty = the command of Oracle's images
	HealthCommand []string // empty = the command of Oracle's images; exit code 0 means ready

	StartupTimeout  time.Duration // until ready, counted from each start
	ShutdownTimeout time.Duration // of SHUTDOWN IMMEDIATE, before the processes are killed
	HealthInterval  time.Duration // between two health checks; 0 = 5 s
	// HeartbeatInterval is the time between two heartbeats on the volume; 0 = 10 s.
	HeartbeatInterval time.Duration
	// Engine describes how Direct NFS reaches the servers, which are probed before the first start; nil = no probes.
	Engine       *runfile.Engine
	MinFreeBytes int64 // required on the volume before the start
	// Kit is the directory of the user's SLOB kit; empty = there is none.
	Kit string
	// Processes is the init parameter that a run sets; 0 = the image decides.
	Processes int64
	// MaxOpenFiles is the hard limit of open files of the database; 0 = 65536.
	MaxOpenFiles uint64

	Env     []string // of the container; passed to the database
	Secrets []string // words to remove from all output
	ProcDir string   // empty = /proc
	// Root is the file tree of an image that is examined but not run; empty = /. Owners are the owners of its files, by
	// path, if they differ from those in Root.
	Root   string
	Owners map[string]int64
	// MountTable is where Oracle looks for its mounts; empty = /etc/mtab.
	MountTable string
	// Reap reports that this process inherits orphans and must reap them: it is
	// the first process of its container, or a subreaper.
	Reap bool

	// removeIPC and buffers replace calls of the kernel in tests. Without removeIPC nothing is removed.
	removeIPC func(kind string, id int) error
	buffers   func() (runfile.SocketBuffers, error)

	Out io.Writer // output of the database, without secrets
	Log *slog.Logger
	Now func() time.Time
}

// Intervals and timeouts.
const (
	healthInterval = 5 * time.Second
	healthPatience = time.Minute // for one run of the health script
	pollInterval   = 500 * time.Millisecond
	// surrenderChecks is the number of intervals in which a database may become
	// healthy after its image gave up: a pluggable database may open late.
	surrenderChecks = 12
	// listenerChecks is the number of intervals in which a listener must answer after the health script succeeds.
	listenerChecks = 24
	// hangChecks is the number of intervals in which a starting database may be silent if the server has refused the
	// probe.
	hangChecks       = 24
	listenerPatience = 5 * time.Second // for one connection
)

func (o Options) withDefaults() Options {
	o.ProductRoot, o.ProcDir = cmp.Or(o.ProductRoot, o.Root+"/opt/oracle/product"), cmp.Or(o.ProcDir, o.Root+"/proc")
	o.MountTable = cmp.Or(o.MountTable, o.Root+"/etc/mtab")
	if o.removeIPC == nil && os.Getpid() == 1 { // then the objects belong to the pod
		o.removeIPC = removeIPC
	}
	if o.buffers == nil {
		o.buffers = grantedBuffers
	}
	o.HealthInterval = cmp.Or(max(0, o.HealthInterval), healthInterval)
	return o
}

// lookup returns an environment variable of the container. If it is set several times, the last value counts.
func (o Options) lookup(name string) string {
	value := ""
	for _, v := range o.Env {
		if found, ok := strings.CutPrefix(v, name+"="); ok {
			value = found
		}
	}
	return value
}

// base returns ORACLE_BASE, which has the same default in all images.
func (o Options) base() string { return o.Root + cmp.Or(o.lookup("ORACLE_BASE"), "/opt/oracle") }

// startCommand returns the start command of the image.
func (o Options) startCommand() []string {
	return o.command(o.StartCommand, "RUN_FILE", "runOracle.sh")
}

// healthCommand returns the image's own health script.
func (o Options) healthCommand() []string {
	return o.command(o.HealthCommand, "CHECK_DB_FILE", "checkDBStatus.sh")
}

// command returns the given command, or else the file that a variable of Oracle's images names.
func (o Options) command(given []string, variable, file string) []string {
	if len(given) > 0 {
		return given
	}
	return []string{filepath.Join(o.base(), cmp.Or(o.lookup(variable), file))}
}

// program looks for a program in the PATH of the container, and in ORACLE_BASE,
// where the images keep links.
func (o Options) program(name string) string {
	for _, dir := range append(filepath.SplitList(o.lookup("PATH")), strings.TrimPrefix(o.base(), o.Root)) {
		path := o.Root + filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return name
}

// findHome returns the Oracle home: the image's variable, or else the newest home below the folder where images
// install.
func (o Options) findHome() string {
	if home := o.lookup("ORACLE_HOME"); home != "" {
		return o.Root + home
	}
	homes, _ := filepath.Glob(filepath.Join(o.ProductRoot, "*", "*", "bin", "oracle"))
	if len(homes) == 0 {
		return ""
	}
	slices.Sort(homes)
	return filepath.Dir(filepath.Dir(homes[len(homes)-1]))
}

const bash = "/bin/bash"

// argv returns the arguments for executing a command of the image. The start command of Oracle's images is executed
// like their CMD: some have no interpreter in their first line, and the kernel does not execute such files.
func (o Options) argv(command []string) []string {
	if len(o.StartCommand) == 0 && slices.Equal(command, o.startCommand()) {
		return append([]string{bash, "-c", `exec "$0"`}, command...)
	}
	path := o.path(command[0])
	if _, script := interpreterOf(path); !script {
		return command
	}
	shell := "/bin/sh"
	if _, err := os.Stat(o.Root + bash); err == nil {
		shell = bash
	}
	return append([]string{shell, path}, command[1:]...)
}

func (o Options) path(program string) string {
	if strings.Contains(program, "/") {
		return program
	}
	return o.program(program)
}

// interpreterOf returns the interpreter in the first line of a file. A file without one that is not a system
// executable is a script that only a shell can execute.
func interpreterOf(path string) (name string, script bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, 256) // as much as the kernel reads
	n, _ := io.ReadFull(f, begin)
	begin = begin[:n]
	if line, ok := bytes.CutPrefix(begin, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		name, _, _ = strings.Cut(strings.Trim(string(line), " \t"), " ")
		return name, false
	}
	return "", !bytes.HasPrefix(begin, []byte("\x7fELF"))
}

// checkStart checks whether the image can be started.
func (o Options) checkStart() error {
	return cmp.Or(o.checkCommand(checkStart, "command", o.startCommand()), o.checkSu())
}

// checkHealth checks whether the image has a health script that can be executed.
func (o Options) checkHealth() error {
	return o.checkCommand(checkHealth, "healthCommand", o.healthCommand())
}

// checkKit checks whether the kit can run with this number of services.
func (o Options) checkKit(services int) error {
	if o.Kit == "" {
		return nil
	}
	if err := slobconf.CheckKit(os.DirFS(o.Kit), services); err != nil {
		return oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit cannot be used: %w", err)
	}
	return nil
}

// checkCommand reports a command of the image that is missing or cannot be executed; a shell's message would be less
// clear.
func (o Options) checkCommand(what, field string, command []string) error {
	path := o.path(command[0])
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return oracle.Failf(runfile.FailureDatabaseNotReady,
			"the image has no %s %q: use an image of Oracle, or set database.container.%s", what, command[0], field)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return oracle.Failf(runfile.FailureDatabaseNotReady,
			"the %s %q of the image is no program that can be run: set database.container.%s", what, command[0], field)
	}
	interpreter, _ := interpreterOf(path)
	for _, program := range []string{interpreter, strings.TrimPrefix(o.argv(command)[0], o.Root)} {
		if _, err := os.Stat(o.Root + program); strings.HasPrefix(program, "/") && err != nil {
			return oracle.Failf(runfile.FailureDatabaseNotReady, "the %s %q needs %q, which the image does not have: use an "+
				"image of Oracle, or set database.container.%s", what, command[0], program, field)
		}
	}
	return nil
}
