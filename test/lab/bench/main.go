// Command bench measures nfsbench beside the programs of others on one machine:
// NFS-Ganesha in a network namespace, links that are shaped or the loopback, and
// all contenders of a row in turns. hack/bench.sh builds what it needs and calls
// it.
//
//	rows.go      which work, by whom, and what must be reached
//	             the order of the measurements and the time that they take
//	tool.go      the command line of each program and what it prints
//	arena.go     the lab, the files, the wire's iperf3;
//	             processes: time limit, resource usage, no stray ones
//	session.go   from the first measurement to the last word
//	capacity.go  the rows that search for a capacity
//	relay.go     a server with a known limit
//
// Package score turns what was measured into ratios and a table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

const version = "nfsbench.io/bench/v1"

type settings struct {
	repo, name, subnet string
	directory          string
	rows, only         []string
	repeats, seconds   int
	programs           programs
	oursNote, fioNote  string
	out, page, summary string
	listRows, short    bool
}

func (s *settings) register(fs *flag.FlagSet) {
	several := func(into *[]string) func(string) error { // by comma or by repetition
		return func(values string) error {
			*into = append(*into, strings.Split(values, ",")...)
			return nil
		}
	}
	fs.StringVar(&s.repo, "repo", ".", "root of the source")
	fs.StringVar(&s.name, "name", "bench", "name of the lab; several may run at once")
	fs.StringVar(&s.subnet, "subnet", "10.246", "first two parts of the subnets of its links")
	fs.Func("rows", "rows to measure, by name or its beginning, quick or others (default: all)", several(&s.rows))
	fs.Func("peers", "peers beside nfsbench: fio, libnfs, nfs-cat, iperf3, \"bare socket\" (default: all)", several(&s.only))
	fs.IntVar(&s.repeats, "repeats", 5, "measurements of each contender")
	fs.IntVar(&s.seconds, "seconds", 5, "length of the measured window")
	fs.StringVar(&s.programs.Ours, "nfsbench", "", "nfsbench to measure")
	fs.StringVar(&s.oursNote, "nfsbench-note", "", "what that build is")
	fs.StringVar(&s.programs.Other, "other", "", "another build of nfsbench, measured beside it")
	fs.StringVar(&s.programs.Fio, "fio", "", "fio with its nfs engine")
	fs.StringVar(&s.fioNote, "fio-note", "", "where that fio comes from, or why there is none")
	fs.StringVar(&s.programs.Reader, "reader", "", "the reader of test/lab/bench/peer")
	fs.StringVar(&s.programs.Socket, "socket", "", "the bare socket of test/lab/bench/peer")
	fs.StringVar(&s.directory, "directory", "/var/tmp", "folder on a file system with O_DIRECT for the rows of the Kernel engine")
	fs.StringVar(&s.out, "out", "bin/bench", "folder for results.json and results.md")
	fs.StringVar(&s.page, "publish", "", "page to put the tables into when all rows were measured, all capacity rows, or the others")
	fs.StringVar(&s.summary, "summary", "", "page to put the tables of one screen into then")
	fs.BoolVar(&s.short, "short", false, "capacity rows: search once, and let the sweep try only rates near the capacity; its time counts as if it had tried all")
	fs.BoolVar(&s.listRows, "list", false, "show the rows and end")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) > 0 && args[0] == relayCommand {
		return runRelay(ctx, args[1:])
	}
	var s settings
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	s.register(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q (see --help)", fs.Arg(0))
	}
	if s.repeats < 1 || s.seconds < 1 {
		return errors.New("--repeats and --seconds are at least 1")
	}
	rows, err := chosen(allRows(), s.rows)
	if err != nil {
		return err
	}
	if s.listRows {
		for _, r := range rows {
			fmt.Printf("%-16s %s\n", r.Name, r.Title)
		}
		return nil
	}
	s.programs.Cat, _ = exec.LookPath("nfs-cat") // distributions install them
	s.programs.Iperf, _ = exec.LookPath("iperf3")
	return s.measure(ctx, rows)
}

func (s *settings) measure(ctx context.Context, rows []row) (err error) {
	p := s.programs
	without := map[string]bool{toolFio: p.Fio == "", toolReader: p.Reader == "", toolCat: p.Cat == "", toolIperf: p.Iperf == "", toolSocket: p.Socket == ""}
	rows, left := possible(rows, speaksVersions(ctx, p.Ours) && (p.Other == "" || speaksVersions(ctx, p.Other)), exists(pnfsScript(s.repo)))
	for _, text := range left {
		fmt.Fprintln(os.Stderr, "left out:", text)
	}
	for i, r := range rows {
		rows[i] = r.field(without, s.only, p.Other != "")
	}
	if s.short {
		shortForm(rows)
	}
	scratch, err := os.MkdirTemp("", "nfsbench-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	doc := score.Document{Version: version, Started: now(), Repeats: s.repeats, Seconds: s.seconds, Reminders: []string{
		"loopback rows: client and server share the cores, so a client that spends less leaves more to the server",
		"server: NFS-Ganesha on a file system in memory; links: " + linkRates() + " by tc, packets of MTU size",
		"files: 512 MiB for each job, filled before; libnfs: test/lab/bench/peer, the asynchronous interface of libnfs with one process for each job",
		"peak memory: of the largest process; the kernel counts what the benchmark had when it started it, about 10 MiB",
		"nfs-cat: whole runs, one after the other, from start to end",
	}}
	if len(rows) == 0 {
		return fmt.Errorf("no row can be measured: %s", strings.Join(left, "; "))
	}
	need := wants{pnfs: needs(rows, isPNFS)}
	if needs(rows, isLocal) {
		need.directory = s.directory
		doc.Reminders = append(doc.Reminders, "directory rows: the Kernel engine and fio on "+fileSystem(s.directory)+" of this machine, by O_DIRECT; no NFS is in them")
	}
	if needs(rows, func(e entry) bool { return e.Bound > 0 }) {
		doc.CapacityReminders = capacityReminders(s.short)
	}
	if needs(rows, func(e entry) bool { return e.Tool == toolSocket }) {
		doc.Reminders = append(doc.Reminders, "floor rows: test/lab/bench/peer sends READ calls of NFSv3 that were made before and looks at the length of the replies only")
	}
	for _, text := range left {
		doc.Reminders = append(doc.Reminders, "left out: "+text)
	}
	a, err := openArena(ctx, s.repo, s.name, s.subnet, need)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	doc.Machine = machineFacts(ctx, s.programs, map[string]string{"fio": s.fioNote, "nfsbench": s.oursNote})
	one := &session{
		programs: s.programs, arena: a, rows: rows, repeats: s.repeats, seconds: s.seconds,
		scratch: scratch, out: s.out, say: os.Stderr, doc: doc, short: s.short,
	}
	err = one.run(ctx)
	one.doc.Ended = now()
	return errors.Join(err, s.report(one.doc))
}

// speaksVersions reports whether a build of nfsbench can be told the version of NFS.
func speaksVersions(ctx context.Context, program string) bool {
	help, err := exec.CommandContext(ctx, program, "load", "--help").CombinedOutput()
	return err == nil && strings.Contains(string(help), "--nfs-version")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fileSystem names the type of the one that a folder lies on.
func fileSystem(folder string) string {
	out, err := exec.Command("stat", "--file-system", "--format", "%T", folder).Output()
	if err != nil {
		return folder
	}
	return strings.TrimSpace(string(out))
}

// report shows what was measured and writes it where it belongs: into the
// documentation only what is complete.
func (s *settings) report(doc score.Document) error {
	if len(doc.Samples) == 0 {
		return nil
	}
	fmt.Print(score.Markdown(doc))
	err := errors.Join(
		os.MkdirAll(s.out, 0o755), writeJSON(doc, filepath.Join(s.out, "results.json")),
		os.WriteFile(filepath.Join(s.out, "results.md"), []byte(score.Markdown(doc)), 0o644),
	)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "\nwritten: %s/results.json, results.md\n", s.out)
	whole := len(s.rows) == 0 || len(s.rows) == 1 && slices.Contains([]string{capacityPrefix, others}, s.rows[0])
	if s.page == "" || !doc.Complete || s.short || !whole || len(s.only) > 0 {
		return nil
	}
	if err := publish(doc, s.page, s.summary); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "written: %s, %s\n", s.page, s.summary)
	return nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// machineFacts says what the figures depend on. What cannot be found out is left out.
func machineFacts(ctx context.Context, p programs, notes map[string]string) score.Machine {
	m := score.Machine{
		Cores: runtime.NumCPU(), Kernel: fileText("/proc/sys/kernel/osrelease"),
		CPU: after(fileText("/proc/cpuinfo"), "model name", ":"), System: strings.Trim(after(fileText("/etc/os-release"), "PRETTY_NAME", "="), `"`),
		Congestion: fileText("/proc/sys/net/ipv4/tcp_congestion_control"), Versions: map[string]string{},
	}
	kib, _ := strconv.ParseInt(strings.TrimSuffix(after(fileText("/proc/meminfo"), "MemTotal", ":"), " kB"), 10, 64)
	m.MemoryBytes = kib * 1024
	if load, _, ok := strings.Cut(fileText("/proc/loadavg"), " "); ok {
		m.LoadBefore, _ = strconv.ParseFloat(load, 64)
	}
	for name, command := range map[string][]string{
		"nfsbench":    {p.Ours, "--version"},
		"other build": {p.Other, "--version"},
		"fio":         {p.Fio, "--version"},
		"iperf3":      {p.Iperf, "--version"},
		"NFS-Ganesha": {"dpkg-query", "-W", "-f=${Version}", "nfs-ganesha"},
		"libnfs":      {"dpkg-query", "-W", "-f=${Version}", "libnfs-dev"},
	} {
		if command[0] == "" {
			continue
		}
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			m.Versions[name] = first
		}
	}
	for name, note := range notes {
		m.Versions[name] = strings.TrimSpace(m.Versions[name] + " " + note)
	}
	return m
}

func fileText(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// after finds the first line that begins with a key and returns what stands
// after the separator.
func after(text, key, separator string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			_, value, _ := strings.Cut(rest, separator)
			return strings.TrimSpace(value)
		}
	}
	return ""
}
