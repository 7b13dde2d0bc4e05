// Command mutants breaks shipped code on purpose, one small change at a time,
// and records which test notices it. It changes the tree that it runs in and
// changes it back, so it runs in a copy: see hack/mutants.sh.
//
//	mutants -list FILE -out FILE [-only PATTERN] [-own] [-resume]
//	mutants -random N -seed S [-save FILE] -out FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// options are the flags of the command.
type options struct {
	list, out, save, only string
	random                int
	seed                  uint64
	resume, own           bool
	timeout               time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.list, "list", "", "`file` with mutants")
	flag.StringVar(&o.out, "out", "", "`file` for the table")
	flag.StringVar(&o.only, "only", "", "run those whose name has this `pattern`")
	flag.IntVar(&o.random, "random", 0, "draw `N` mutants instead of reading a list")
	flag.Uint64Var(&o.seed, "seed", 1, "of the draw")
	flag.StringVar(&o.save, "save", "", "`file` to write the drawn mutants to, as a list")
	flag.BoolVar(&o.resume, "resume", false, "leave out what the table has already")
	flag.BoolVar(&o.own, "own", false, "run the tests of a mutant's own package alone")
	flag.DurationVar(&o.timeout, "timeout", 4*time.Minute, "for the tests of one package")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if err := adoptOrphans(); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if o.out == "" || flag.NArg() > 0 {
		return fmt.Errorf("-out is required, and there are no arguments")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := o.mutants(root)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // what is left is temporary
	if err := os.MkdirAll(filepath.Join(scratch, "tmp"), 0o755); err != nil {
		return err
	}
	j := &judge{ownOnly: o.own, runner: runner{root: root, scratch: scratch, timeout: o.timeout}}
	if err := j.load(ctx); err != nil {
		return err
	}
	t, err := openTable(o.out, o.resume)
	if err != nil {
		return err
	}
	defer t.close()
	return eachMutant(ctx, all, only, j, t)
}

// mutants are those of the list, or drawn ones.
func (o options) mutants(root string) ([]mutant, error) {
	if o.random == 0 {
		text, err := os.ReadFile(o.list)
		if err != nil {
			return nil, err
		}
		return parse(string(text))
	}
	all, err := draw(root, o.random, o.seed)
	if err != nil || o.save == "" {
		return all, err
	}
	return all, os.WriteFile(o.save, []byte(format(all)), 0o644)
}

func eachMutant(ctx context.Context, all []mutant, only *regexp.Regexp, j *judge, t *table) error {
	var chosen []mutant
	for _, m := range all {
		if only.MatchString(m.name) && !t.settled(m, j) {
			chosen = append(chosen, m)
		}
	}
	for i, m := range chosen {
		r, err := j.judge(ctx, m)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m.name, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s: %s\n", i+1, len(chosen), m.name, r.words())
		if err := t.add(r); err != nil {
			return err
		}
	}
	return t.summary(os.Stdout)
}
