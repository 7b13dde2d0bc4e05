// Command standin runs the array of two nodes as one process, for people and
// scripts.
//
//	standin run [FLAG...]     until SIGTERM; prints what it is as JSON when it serves
//	standin down [--name N]   ends it and removes everything, also after a crash
//
// What it prints names the addresses, the export, the URL of the REST interface
// and the files with its certificate and its passwords.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/array"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

type settings struct {
	array.Options
	rest    array.RESTOptions
	subnets string
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("what to do? run or down")
	}
	var s settings
	f := flag.NewFlagSet("standin "+args[0], flag.ContinueOnError)
	f.StringVar(&s.Name, "name", "twonode", "up to 8 letters and digits; several may run at once")
	f.StringVar(&s.subnets, "subnets", "10.246.1.0/24,10.246.2.0/24", "network of each LIF")
	f.DurationVar(&s.rest.Grid, "grid", 15*time.Second, "how often the statistics of the REST interface move")
	f.DurationVar(&s.rest.Replication, "replication", 0, "how long a volume is on its way when it moves")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	s.Subnets = strings.Split(s.subnets, ",")
	//nolint:usetesting // not a test
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch args[0] {
	case "run":
		return serve(ctx, s, out)
	case "down":
		return array.Down(ctx, s.Name)
	default:
		return fmt.Errorf("unknown order %q: run or down", args[0])
	}
}

// serve runs the array until the context ends or one of its processes does.
func serve(ctx context.Context, s settings, out io.Writer) (err error) {
	a, err := array.Start(ctx, s.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()
	if _, err := a.StartREST(s.rest); err != nil {
		return err
	}
	text, err := a.Describe()
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return a.Wait(ctx)
}
