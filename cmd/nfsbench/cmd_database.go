package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/oracle/supervise"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// databaseFlags are the flags of database.
type databaseFlags struct {
	options      supervise.Options
	startCommand string
	healthCheck  string
	plan         string
	minFree      cli.Size
	check        bool
	examine      string
	connects     []string
}

// newDatabaseCommand returns the database command, the first process in the container of a database.
func newDatabaseCommand(a *app) *cobra.Command {
	f := databaseFlags{minFree: 64 << 20}
	cmd := &cobra.Command{
		Use:   "database --run-dir DIR --data DIR [--direct-nfs]",
		Short: "Start the database of an Oracle image with Direct NFS on or off, and supervise it",
		Long: `database runs inside an Oracle image, in place of the image's start command. It

  1. switches Direct NFS on or off, by Oracle's make or by placing the library,
     and checks that $ORACLE_HOME/bin/oradism is owned by root and setuid;
  2. checks that the data directory can be written to, has space, and holds no
     files that were not created for a benchmark (--use-existing); and the same of
     the directory of the redo logs, where they have their own (--redo);
  3. with --direct-nfs and --plan, mounts the export as Direct NFS will, and says
     what the NFS servers refuse;
  4. corrects listener.ora and tnsnames.ora where they name another host;
  5. starts the image's own start command and passes its output on;
  6. runs the image's own health script until it says ready, and connects to the
     listener (--listener);
  7. keeps what the alert log reports about Direct NFS;
  8. restarts the database when the loader asks for it;
  9. on SIGTERM lets it shut down, and kills it after --shutdown-timeout.

The state is in database.json of --run-dir. The exit code is 0 after SIGTERM and
1 when the database failed; the last line of the log then says why.

With --examine it only checks what comes before the start, writes all answers as JSON to
that file, and exits with 0. With --connect too, it checks what a loader needs to reach
databases that exist.`,
		Example: `  # In a container of container-registry.oracle.com/database/free
  nfsbench database --run-dir /run/nfsbench --data /opt/oracle/oradata --direct-nfs

  # In an image with a start command of its own
  nfsbench database --run-dir /run/nfsbench --data /u02/oradata \
    --start-command '["/u01/start.sh"]' --health-command '["/u01/healthy.sh"]'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), a, cmd.OutOrStdout(), os.Environ())
		},
	}
	o, fs := &f.options, cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.RunDir, "run-dir", "", "directory shared with the loader (required)")
	fs.StringVar(&o.DataDirectory, "data", "/opt/oracle/oradata", "data directory of the database, on the volume")
	fs.StringVar(&o.Export, "export", "", "path of the export that is mounted at --data, by which a copy of it is known")
	fs.StringVar(&o.RedoDirectory, "redo", "", "directory of the redo logs, where another export is mounted for them")
	fs.StringVar(&o.RedoExport, "redo-export", "", "path of that export, which the database cannot be opened without")
	fs.StringVar(&o.Owner, "owner", "",
		"name by which other databases know this one on the volume (default the host name)")
	fs.BoolVar(&o.UseExisting, "use-existing", false,
		"open, and change, a database there that was not created for a benchmark")
	fs.BoolVar(&o.DirectNFS, "direct-nfs", false, "switch Oracle's own NFS client on; off without it")
	fs.StringVar(&f.plan, "plan", "", "plan file; with --direct-nfs the NFS servers in it are probed first")
	fs.StringVar(&o.SID, "sid", "", "SID of the instance")
	fs.DurationVar(&o.StartupTimeout, "startup-timeout", 45*time.Minute, "time until the database must be ready")
	fs.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", 2*time.Minute, "time for SHUTDOWN IMMEDIATE")
	fs.StringVar(&o.Listener, "listener", "localhost:1521",
		"address at which a database that is ready takes connections; empty means that only the health script decides")
	fs.BoolVar(&f.check, "check", false, "only check whether the database of --run-dir is ready")
	fs.StringVar(&f.examine, "examine", "", "only check what a start needs, and write the answers to this file")
	fs.StringArrayVar(&f.connects, "connect", nil, "with --examine, a connect string of a database that exists")
	fs.Var(&f.minFree, "min-free", "free space that the data directory must have before anything is started")
	fs.StringVar(&o.Kit, "kit", "", "directory of the SLOB kit that will run in the database, which is checked first")
	fs.StringVar(&f.startCommand, "start-command", "", "JSON array that replaces the image's start command")
	fs.StringVar(&f.healthCheck, "health-command", "", "JSON array that replaces the image's health script")
	return cmd
}

func (f *databaseFlags) run(ctx context.Context, a *app, out io.Writer, env []string) error {
	o := f.options
	if f.check {
		return supervise.Check(o.RunDir)
	}
	o.Env, o.Secrets, o.MinFreeBytes = env, databaseSecrets(env), int64(f.minFree)
	o.Out, o.Log, o.Now, o.Reap = out, a.log, a.now, true
	var err error
	if o.StartCommand, err = commandFlag("--start-command", f.startCommand); err != nil {
		return cli.BadInput(err)
	}
	if o.HealthCommand, err = commandFlag("--health-command", f.healthCheck); err != nil {
		return cli.BadInput(err)
	}
	if o.Hostname, err = os.Hostname(); err != nil {
		return fmt.Errorf("read the name of this host: %w", err)
	}
	o.Owner = cmp.Or(o.Owner, o.Hostname)
	if f.plan != "" {
		plan, err := readFlagFile("--plan", f.plan, runfile.ReadKeptPlan)
		if err != nil {
			return cli.BadInput(err)
		}
		o.Engine = &plan.Engine
		if plan.Database != nil {
			o.Processes, _ = runfile.ParameterBytes(plan.Database.Parameters["processes"])
		}
	}
	switch {
	case o.RunDir == "":
		return cli.BadInputf("--run-dir is required: the directory shared with the loader")
	case o.DataDirectory == "" && f.examine == "":
		return cli.BadInputf("--data is empty; name the directory that the volume is mounted at")
	case (o.RedoDirectory == "") != (o.RedoExport == "") || o.RedoExport != "" && o.Export == "":
		return cli.BadInputf("--redo and --redo-export belong together, and with --export; write all three")
	case o.StartupTimeout <= 0 || o.ShutdownTimeout <= 0:
		return cli.BadInputf("--startup-timeout and --shutdown-timeout must be longer than 0")
	}
	if f.examine != "" {
		return f.writeExamination(ctx, o)
	}
	return supervise.Run(ctx, o)
}

// writeExamination writes the answers as JSON to the file of --examine, and as text to the log.
func (f *databaseFlags) writeExamination(ctx context.Context, o supervise.Options) error {
	var checks []runfile.Check
	if len(f.connects) > 0 {
		checks = supervise.ExamineClient(ctx, o, f.connects)
	} else {
		checks = supervise.Examine(ctx, o)
	}
	for _, c := range checks {
		cli.WriteCheck(o.Out, c)
	}
	return writeAnswers(f.examine, checks)
}

// commandFlag parses a command that is written as a JSON array, so that no shell splits it.
func commandFlag(flag, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var command []string
	if err := json.Unmarshal([]byte(text), &command); err != nil {
		return nil, fmt.Errorf("%s is %q; write a JSON array of strings, such as '[\"/opt/start.sh\"]'", flag, text)
	}
	if len(command) == 0 || slices.Contains(command[:1], "") {
		return nil, fmt.Errorf("%s names no program; its first entry must", flag)
	}
	return command, nil
}

// databaseSecrets returns the passwords that configure an image and must not appear in a log. It ignores missing files.
func databaseSecrets(env []string) []string {
	files := []string{"/run/secrets/oracle_pwd", "/etc/nfsbench-database/password"}
	var out []string
	for _, v := range env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "ORACLE_PWD", "ORACLE_PASSWORD", "APP_USER_PASSWORD":
			out = append(out, value)
		case "ORACLE_PASSWORD_FILE", "APP_USER_PASSWORD_FILE":
			files = append(files, value)
		}
	}
	return append(out, wordsIn(files...)...)
}

// wordsIn returns the words in files of Secrets. It ignores files that it cannot read.
func wordsIn(files ...string) (words []string) {
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if word := strings.TrimSpace(string(raw)); err == nil && word != "" {
			words = append(words, word)
		}
	}
	return words
}
