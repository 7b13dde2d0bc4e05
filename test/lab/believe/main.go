package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

type settings struct {
	nfsbench, jump      string
	out, publish, again string
	only, without       []string
	trials, aa, lanes   int
	firstLane           int
	seconds             int
	list, judge         bool
}

func (s *settings) register(fs *flag.FlagSet) {
	fs.StringVar(&s.nfsbench, "nfsbench", "bin/believe/nfsbench", "the program to measure with")
	fs.StringVar(&s.jump, "jump", "bin/believe/nfsbench-jump", "the same, built with the tag clockjump")
	fs.StringVar(&s.out, "out", "bin/believe", "folder for the runs and the table")
	fs.StringVar(&s.publish, "publish", "", "top of the repository that gets the record of a complete run")
	fs.StringVar(&s.again, "table-of", "", "make the table of this file of runs again, and run nothing")
	fs.BoolVar(&s.judge, "judge-again", false, "judge the results in --out again, and run nothing")
	fs.Func("only", "injections by a part of their name, or aa for runs without any; may be repeated", func(v string) error {
		s.only = append(s.only, v)
		return nil
	})
	fs.Func("without", "a place to leave out; may be repeated", func(v string) error {
		if !slices.ContainsFunc(places(), func(p Place) bool { return p.Name == v }) {
			return fmt.Errorf("there is no place %q", v)
		}
		s.without = append(s.without, v)
		return nil
	})
	fs.IntVar(&s.trials, "trials", 2, "pairs of runs for each strength of each injection, half as many of those made alone")
	fs.IntVar(&s.aa, "aa", 300, "runs in which nothing is injected")
	fs.IntVar(&s.lanes, "lanes", 6, "runs at once")
	fs.IntVar(&s.firstLane, "first-lane", 0, "number of the first lane, of which names and subnets are made")
	fs.IntVar(&s.seconds, "seconds", 12, "length of each measured window")
	fs.BoolVar(&s.list, "list", false, "list the injections and end")
}

func main() {
	var s settings
	s.register(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "believe:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) error {
	switch {
	case s.list:
		list(os.Stdout)
		return nil
	case s.again != "":
		records, err := readRecords(s.again)
		if err != nil {
			return err
		}
		return s.write(records)
	case s.judge:
		records, err := s.judgeAgain()
		if err != nil {
			return err
		}
		return s.write(records)
	}
	rig, closeRig, err := newRig(s.nfsbench, s.jump, s.seconds)
	if err != nil {
		return err
	}
	records, err := s.measure(ctx, rig)
	return errors.Join(err, closeRig(), s.write(records))
}

// folderPrefix starts the name of a rig's folder; its process ID follows.
const folderPrefix = "nfsbench-believe-"

// removeFolders removes the folders of rigs that were killed.
func removeFolders(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	errs := []error{err}
	for _, f := range old {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(f), folderPrefix), "-")
		if n, err := strconv.Atoi(pid); err != nil || !errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			continue // it is still running
		}
		if err := unix.Unmount(f, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) { // it was not mounted
			errs = append(errs, err)
		}
		errs = append(errs, os.RemoveAll(f))
	}
	return errors.Join(errs...)
}

// newRig prepares what all worlds share: a folder in memory, so that no disk of this machine is measured.
func newRig(nfsbench, jump string, seconds int) (*Rig, func() error, error) {
	program, err := filepath.Abs(nfsbench)
	if err != nil {
		return nil, nil, err
	}
	if jump, err = filepath.Abs(jump); err != nil {
		return nil, nil, err
	}
	if err := removeFolders(os.TempDir()); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Mount("nfsbench-believe", dir, "tmpfs", 0, "mode=1777,size=4g"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("mount a file system in memory at %s: %w", dir, err), os.Remove(dir))
	}
	rig := &Rig{
		Nfsbench: program, Jump: jump, Dir: dir, Seconds: int32(seconds), noise: &machineNoise{},
		Log: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
		},
	}
	return rig, func() error { return errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)) }, nil
}

// chosen reports whether something is to be run.
func (s *settings) chosen(name string) bool {
	return len(s.only) == 0 || slices.ContainsFunc(s.only, func(o string) bool { return strings.Contains(name, o) })
}

func (s *settings) measure(ctx context.Context, rig *Rig) ([]Record, error) {
	results := filepath.Join(s.out, "results")
	if err := errors.Join(os.RemoveAll(results), os.MkdirAll(results, 0o755)); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(s.out, "runs.jsonl"))
	if err != nil {
		return nil, err
	}
	var records []Record
	var mu sync.Mutex
	var broken error
	emit := func(r Record) {
		mu.Lock()
		defer mu.Unlock()
		if r.Error != "" {
			rig.Log("%s", r.Error)
		}
		records = append(records, r)
		broken = errors.Join(broken, json.NewEncoder(f).Encode(r))
	}
	var tasks []task
	if s.chosen("aa") {
		tasks = aaTasks(append(honestLoads(), honestDatabases()...), s.aa)
	}
	chosen := slices.DeleteFunc(injections(), func(in Injection) bool { return !s.chosen(in.Name) })
	tasks = append(tasks, trialTasks(chosen, s.trials)...)
	tasks = slices.DeleteFunc(tasks, func(t task) bool { return slices.Contains(s.without, t.place) })
	session := session{
		rig: rig, lanes: s.lanes, first: s.firstLane, places: places(), tasks: tasks, now: time.Now, to: sink{emit, keepIn(results)},
	}
	err = session.run(ctx)
	if err == nil && len(s.only)+len(s.without) == 0 {
		emit(Record{Whole: true})
	}
	return records, errors.Join(err, broken, f.Close())
}

// keepIn stores compressed results in a folder.
func keepIn(dir string) func(runfile.Result) (string, error) {
	var number atomic.Int64
	return func(r runfile.Result) (string, error) {
		name := fmt.Sprintf("%05d.json.gz", number.Add(1))
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		_, err = runfile.WriteResultGzip(f, r)
		return name, errors.Join(err, f.Close())
	}
}

// judgeAgain judges all stored results again, with the current checks and thresholds.
func (s *settings) judgeAgain() ([]Record, error) {
	path := filepath.Join(s.out, "runs.jsonl")
	records, err := readRecords(path)
	if err != nil {
		return nil, err
	}
	for i, r := range records {
		records[i], err = r.again(func(name string) (runfile.Result, error) {
			f, err := os.Open(filepath.Join(s.out, "results", filepath.Base(name)))
			if err != nil {
				return runfile.Result{}, err
			}
			defer func() { _ = f.Close() }() // only read
			return runfile.ReadResult(f)
		})
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
	}
	return records, nil
}

func readRecords(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var out []Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, r)
	}
	return out, lines.Err()
}

func list(w *os.File) {
	for _, in := range injections() {
		var names []string
		for _, s := range in.Strengths {
			names = append(names, s.Name)
		}
		fmt.Fprintf(w, "%-10s %-18s %s: %s\n", in.Kind, in.Place, in.Name, strings.Join(names, ", "))
	}
}

// write puts the tables into the folder of the runs and, after a complete run, into the repository.
func (s *settings) write(records []Record) error {
	if len(records) == 0 {
		return nil
	}
	whole := records[len(records)-1].Whole
	text := table(records)
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(s.out, "table.md"), []byte(text), 0o644)
	if s.publish == "" || !whole || err != nil {
		return err
	}
	return publish(s.publish, text, records)
}
