package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nanosleep"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// loadCommand is the load subcommand.
type loadCommand struct {
	app       *app
	flags     loadFlags
	planFile  string
	runDir    string
	secrets   string
	index     string
	to        cli.Destination
	progress  string
	printPlan bool
	check     bool
	answers   string
}

const loadExamples = `  # How fast is one path? Compare with what 1GbE can carry.
  nfsbench load --server 10.0.1.100 --export /vol/oradata --link 1Gbit

  # Two paths, random reads of database blocks, three times, result to a file
  nfsbench load --server 10.0.1.100,10.0.2.100 --export /vol/oradata \
    --pattern randread --jobs 8 --depth 32 --repetitions 3 -o result.json

  # The paths of an oranfstab; the same load through the mounted volume
  nfsbench load --oranfstab /etc/oranfstab --export /vol/oradata --pattern overwrite
  nfsbench load --mount /u02/oradata --pattern overwrite

  # IOPS within 20 ms and MB/s, as CALIBRATE_IO tells them
  nfsbench load --server 10.0.1.100,10.0.2.100 --export /vol/oradata --workload calibrate --file-size 8Gi

  # How do latency and throughput grow from 1 user to 16? One of five blocks is updated
  nfsbench load --server 10.0.1.100 --export /vol/oradata --workload slob-read \
    --users 1,2,4,8,16 --schemas 4 --scale 4Gi --update-percent 20

  # Full table scans by 4 users through the mounted volume
  nfsbench load --mount /u02/oradata --workload slob-scan --users 4 --schemas 4 --scan-size 4Gi

  # The same load over NFSv4.1 and pNFS; the paths of pNFS are those of the metadata
  nfsbench load --server 10.0.1.100,10.0.2.100 --export /vol/oradata --nfs-version 4.1
  nfsbench load --server 10.0.1.100 --export /vol/oradata --nfs-version pNFS

  # How many random I/Os a second, 70 % of them reads, with 99 % of them within 1 ms?
  nfsbench load --server 10.0.1.100,10.0.2.100 --export /vol/oradata \
    --pattern randmixed --read-percent 70 --jobs 8 --depth 32 --capacity p99=1ms

  # The load of a manifest, here and without a cluster; the exit code says whether it is good enough
  nfsbench load -f benchmark.yaml --expect minWirePercent=90

  # Could it run? Names, ports, the export and a small file, without load
  nfsbench load --server 10.0.1.100,10.0.2.100 --export /vol/oradata --check

  # Latency at a fixed rate, and the plan that would run it elsewhere
  nfsbench load --mount /u02/oradata --pattern randread --ops-per-second 2000 --print-plan`

// newLoadCommand returns the load command, which generates load and shows what it measured.
func newLoadCommand(a *app) *cobra.Command {
	c := &loadCommand{app: a}
	cmd := &cobra.Command{
		Use:   "load (--server ADDRESS[,ADDRESS...] --export PATH | --oranfstab FILE | --mount DIR | -f FILE | --plan FILE)",
		Short: "Generate load on NFS storage and measure it",
		Long: `Generate load on NFS storage and measure it.

With --server or --oranfstab, nfsbench uses its own client, which opens one
connection for each path and balances I/O over them as Oracle Direct NFS does. It
speaks NFSv3, NFSv4.0, NFSv4.1 with session trunking, and pNFS with files layouts
(--nfs-version, or nfs_version in the oranfstab). With --mount it uses the client of
the operating system, with O_DIRECT. Every job has its own file. Before the measured
window, nfsbench fills the files with data that no storage can compress or deduplicate;
later it only overwrites them in place. At the end it reads back what it wrote, or a
sample (--verify), and compares it.

With -f it runs the load of an NFSBenchmark, as a cluster would: protocol, workload,
run and expect of its spec, over its storage.export or the storage that flags name.
Without protocol.userID, the server sees the user of this process.

Without further flags: 4 jobs read files of 1Gi in blocks of 1Mi, each with 8
I/Os outstanding; 5 s idle, 10 s of warm-up, 60 s measured. These are the defaults
of an NFSBenchmark. Random patterns use blocks of 8Ki. Writes are stable: each is on
the storage before it counts (FILE_SYNC; O_DSYNC with --mount), as with a database.

--workload selects the I/O of an Oracle database, without a database. calibrate
works as CALIBRATE_IO: it increases the number of outstanding single-block reads
until their mean latency exceeds --max-latency or throughput stops growing, and then
the number of outstanding large reads. Each level lasts --duration. The first
--warmup-runs runs do not count. slob-read and slob-scan work as the users of SLOB:
each user keeps one single-block read outstanding, or scans its schema with a
read-ahead. Several numbers in --users make a ramp: each repetition measures all of
them, over the same files.

--capacity searches the highest rate of I/Os at which a percentile of the latency keeps
its bound, for raw and both slob loads. I/Os are due at random times, or at fixed ones,
whatever the storage does, and their latency counts from when they are due. The rate
rises until the bound is broken, and then closes in on it. A level lasts --duration at
most. --jobs x --depth, or --users, is how many I/Os may be outstanding; take more than
the storage needs. Each I/O is an operation: an update of slob-read counts as its read
and its write. Each repetition is a whole search.`,
		Example: loadExamples,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&c.planFile, "plan", "", "run this plan file; the flags that describe a plan are then not allowed")
	c.flags.register(cmd)
	c.to.Register(cmd)
	fs.StringVar(&c.progress, "progress", "auto",
		"progress on stderr: auto (a bar on a terminal, else json), bar, json or none")
	fs.BoolVar(&c.printPlan, "print-plan", false, "print the plan and do nothing")
	fs.BoolVar(&c.check, "check", false,
		"check whether the load could run, and end: names, routes, ports, the export, and a small file that is removed again")
	fs.StringVar(&c.answers, "answers", "", "with --check, write the answers as JSON to this file, too")
	_ = fs.MarkHidden("answers") // for the pod of kubectl nfsbench doctor
	fs.StringVar(&c.runDir, "run-dir", "",
		"directory shared with nfsbench collect, which then observes instead of this process")
	fs.StringVar(&c.secrets, "secrets-dir", defaultSecretsDir,
		"folder with the credentials of the plan's storage sources, one folder each")
	fs.StringVar(&c.index, "client-index", "", "index of this client of several (default $"+envIndex+", or 0)")
	return cmd
}

func (c *loadCommand) run(cmd *cobra.Command) error {
	plan, err := c.plan(cmd.Flags())
	if err != nil {
		return cli.BadInput(c.writeReason(err))
	}
	if c.printPlan {
		return runfile.WritePlan(cmd.OutOrStdout(), plan)
	}
	index, err := number(c.index, envIndex, os.Getenv, 31)
	if err != nil {
		return cli.BadInput(err)
	}
	if c.check {
		return c.examine(cmd, plan, int32(index))
	}
	show, err := newProgress(cmd.ErrOrStderr(), c.progress)
	if err != nil {
		return cli.BadInput(err)
	}
	if err := c.to.Parse(); err != nil {
		return err
	}
	result, err := c.measure(cmd.Context(), plan, int32(index), show)
	if err != nil {
		return err
	}
	if err := c.write(cmd, result); err != nil {
		return err
	}
	if f := result.Clients[0].Load.Failure; f != nil {
		err := fmt.Errorf("%s: %s", f.Code, f)
		if c.runDir == "" && cmd.Context().Err() != nil { // Ctrl-C of a person
			err = cli.Coded(cli.ExitLeft, err)
		}
		return err
	}
	if plan.Expect == nil || c.runDir != "" {
		return nil
	}
	return cli.VerdictError("the load", judge.Judge(result).Verdict)
}

// examine checks whether the load could run.
func (c *loadCommand) examine(cmd *cobra.Command, plan runfile.Plan, index int32) error {
	var all []runfile.Check
	loadgen.Examine(cmd.Context(), c.options(plan, index), func(one runfile.Check) {
		all = append(all, one)
		cli.WriteCheck(cmd.OutOrStdout(), one)
	})
	if c.answers != "" {
		return writeAnswers(c.answers, all) // who reads the file decides
	}
	if err := cli.FailedChecks(all, "load"); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "No check failed. Nothing of the load was written.")
	return nil
}

// writeAnswers writes checks as JSON to a file, for the pod of kubectl nfsbench doctor.
func writeAnswers(file string, checks []runfile.Check) error {
	text, err := runfile.ShortChecks(checks)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	return nil
}

// options are those of a run and of an examination.
func (c *loadCommand) options(plan runfile.Plan, index int32) loadgen.Options {
	return loadgen.Options{
		Plan: plan, Client: index, Now: c.app.now,
		Open: func(ctx context.Context) (target.Target, error) {
			return loadgen.OpenTarget(ctx, plan.Engine, c.app.now, c.app.log)
		},
	}
}

// plan reads the plan file, or makes a plan of the flags.
func (c *loadCommand) plan(fs *pflag.FlagSet) (runfile.Plan, error) {
	if c.planFile == "" {
		return c.flags.plan()
	}
	if extra := cli.Given(fs, new(loadFlags).register); len(extra) > 0 {
		return runfile.Plan{}, fmt.Errorf("%s cannot be given with --plan; change the plan file instead",
			strings.Join(extra, ", "))
	}
	return readPlan(c.planFile)
}

// readPlan reads the plan of a load that --plan names.
func readPlan(path string) (runfile.Plan, error) {
	p, err := readFlagFile("--plan", path, runfile.ReadPlan)
	if err == nil {
		err = loadgen.CheckPlan(&p)
	}
	return p, err
}

// readFlagFile reads the file that a flag names.
func readFlagFile[T any](flag, path string, read func(io.Reader) (T, error)) (T, error) {
	f, err := os.Open(path)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", flag, err)
	}
	defer func() { _ = f.Close() }() // only read
	value, err := read(f)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", flag, path, err)
	}
	return value, err
}

// writeReason writes the reason to the run directory for the collector, and returns it.
func (c *loadCommand) writeReason(reason error) error {
	if c.runDir == "" || c.printPlan {
		return reason
	}
	dir, err := runloop.OpenDir(c.runDir)
	if err != nil {
		return errors.Join(reason, err)
	}
	defer func() { _ = dir.Close() }()
	return dir.Refuse(c.app.now(), target.CodeOf(reason), reason)
}

// measure runs the load. Without a run directory it also collects the counters; with one it reports its progress there.
func (c *loadCommand) measure(ctx context.Context, plan runfile.Plan, index int32,
	show func(runfile.Event),
) (runfile.Result, error) {
	sinks := fanOut{show: show}
	opt := c.options(plan, index)
	opt.Usage, opt.Sink, opt.Nap, opt.Ceiling = runloop.ProcessUsage, &sinks, nanosleep.Hold, true
	client := runfile.ClientResult{Index: index, Host: collect.HostFacts(procfs.Host(), true)}
	client.Host.Version = cli.Version(version)
	opt.MemoryBytes = client.Host.MemoryBytes
	collected := false // by another process
	if c.runDir != "" {
		dir, err := runloop.OpenDir(c.runDir)
		if err != nil {
			return runfile.Result{}, cli.BadInput(err)
		}
		defer func() { _ = dir.Close() }()
		sinks.dir, opt.Release, opt.Levels = dir, dir.Release, dir.Levels
		collected = collect.Check(c.runDir) == nil
	} else {
		sinks.session = collect.Start(context.WithoutCancel(ctx),
			collect.Options{Plan: plan, Now: c.app.now, Log: c.app.log, SameProcess: true, SecretsDir: c.secrets})
	}
	runner, err := loadgen.New(opt)
	if err != nil {
		if sinks.session != nil {
			sinks.session.Finish(ctx, runfile.Load{})
		}
		return runfile.Result{}, cli.BadInput(c.writeReason(err))
	}
	load, err := runner.Run(ctx)
	client.Load = *load
	if collected && err == nil && !collect.AwaitFinal(ctx, c.runDir, collect.FinalPatience) {
		c.app.log.Warn("The collector has not published the result")
	}
	if sinks.session != nil {
		client.Observed = sinks.session.Finish(context.WithoutCancel(ctx), *load)
	}
	return runfile.Result{
		Version: runfile.ResultVersion, Plan: plan, Simulated: plan.Survey.IsStandIn(),
		Clients: []runfile.ClientResult{client},
	}, err
}

// fanOut passes the events of the run to all receivers.
type fanOut struct {
	show    func(runfile.Event)
	dir     *runloop.Dir     // nil without --run-dir
	session *collect.Session // nil with --run-dir
	span    string
	rep     int32
}

// Event implements runloop.Sink.
func (f *fanOut) Event(e runfile.Event) {
	if f.dir != nil {
		f.dir.Event(e)
	}
	if f.session != nil && (e.Span != f.span || e.Repetition != f.rep) {
		f.session.Mark()
	}
	f.span, f.rep = e.Span, e.Repetition
	f.show(e)
}

// Load implements runloop.Sink.
func (f *fanOut) Load(l *runfile.Load) error {
	if f.dir == nil {
		return nil
	}
	return f.dir.Load(l)
}

// write writes the result to --output. For a file, it also prints the report. With --run-dir it prints no text. It
// prints no report of a load that failed before it measured, because the error says all. After Ctrl-C it does, because
// nothing prints the error.
func (c *loadCommand) write(cmd *cobra.Command, r runfile.Result) (err error) {
	in, load := cli.Recorded{Result: r}, r.Clients[0].Load
	empty := load.Failure != nil && len(load.Repetitions) == 0 && cmd.Context().Err() == nil
	if empty && c.to.Format == cli.FormatText && c.to.File == "" {
		return nil
	}
	switch {
	case c.to.Format == cli.FormatJSON:
		err = c.to.Write(cmd, func(w io.Writer) error { return runfile.WriteResult(w, r) })
	case c.to.File != "" || c.runDir == "":
		err = c.to.WriteReport(cmd, in, nil, c.app.pageOptions())
	}
	if err != nil || c.to.File == "" || c.runDir != "" || empty {
		return err
	}
	return (&cli.Destination{}).WriteReport(cmd, in, nil, c.app.pageOptions())
}

// newProgress returns a function that shows the progress of a run in the mode of --progress. A write error must not
// end a measurement, so it is ignored.
func newProgress(w io.Writer, mode string) (func(runfile.Event), error) {
	if mode == "auto" {
		mode = "json"
		if cli.TerminalWidth(w) > 0 {
			mode = "bar"
		}
	}
	switch mode {
	case "bar":
		bar := cli.NewBar(w)
		return func(e runfile.Event) { bar.Show(e.Percent, barText(e)) }, nil
	case "json":
		return func(e runfile.Event) { _ = runloop.WriteEvent(w, e) }, nil
	case "none":
		return func(runfile.Event) {}, nil
	default:
		return nil, fmt.Errorf("--progress is %q; use auto, bar, json or none", mode)
	}
}

// barText returns the text after the bar: the span, its speed, and the time left.
func barText(e runfile.Event) string {
	text := e.Span
	if e.Repetition > 0 {
		text += fmt.Sprintf(" %d", e.Repetition)
	}
	if e.BytesPerSecond > 0 {
		text += "  " + human.Throughput(e.BytesPerSecond)
	}
	if e.OpsPerSecond > 0 {
		text += fmt.Sprintf("  %d IOPS", e.OpsPerSecond)
	}
	if e.Message != "" && (e.Span == runfile.SpanWarmup || e.Span == runfile.SpanMeasure) {
		text += "  " + e.Message
	}
	if e.ETASeconds != nil && *e.ETASeconds > 0 {
		text += "  " + (time.Duration(*e.ETASeconds) * time.Second).String() + " left"
	}
	return text
}
