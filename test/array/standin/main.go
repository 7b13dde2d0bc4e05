// Command standin runs the array of two nodes as one process, for people and
// scripts.
//
//	standin run [FLAG...]     until SIGTERM; prints what it is as JSON when it serves
//	standin up [FLAG...]      the same in the background
//	standin status [--name N] prints the JSON again; fails if it does not run
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
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/test/array"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

type settings struct {
	array.Options
	rest             array.RESTOptions
	subnets, volumes string
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("what to do? run, up, status or down")
	}
	var s settings
	f := flag.NewFlagSet("standin "+args[0], flag.ContinueOnError)
	f.StringVar(&s.Name, "name", "twonode", "up to 8 letters and digits; several may run at once")
	f.StringVar(&s.subnets, "subnets", "10.246.1.0/24,10.246.2.0/24", "network of each LIF")
	f.StringVar(&s.volumes, "volumes", "", "NAME=JUNCTION=a|b[,...]: volumes and who owns them (default data=/export/data=a)")
	f.DurationVar(&s.rest.Grid, "grid", 15*time.Second, "how often the statistics of the REST interface move")
	f.DurationVar(&s.rest.Replication, "replication", 0, "how long a volume is on its way when it moves")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	s.Subnets = strings.Split(s.subnets, ",")
	if err := s.readVolumes(); err != nil {
		return err
	}
	//nolint:usetesting // not a test
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch args[0] {
	case "run":
		return serve(ctx, s, out)
	case "up":
		return up(ctx, s.Name, args[1:], out)
	case "status":
		return status(s.Name, out)
	case "down":
		return array.Down(ctx, s.Name)
	default:
		return fmt.Errorf("unknown order %q: run, up, status or down", args[0])
	}
}

func (s *settings) readVolumes() error {
	for v := range strings.SplitSeq(s.volumes, ",") {
		if v == "" {
			continue
		}
		parts := strings.Split(v, "=")
		if len(parts) != 3 {
			return fmt.Errorf("volume %q: use NAME=JUNCTION=a or =b", v)
		}
		s.Volumes = append(s.Volumes, array.Volume{Name: parts[0], Junction: parts[1], Node: s.Name + "-" + parts[2]})
	}
	return nil
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

// up starts this program again in the background and waits until it serves.
func up(ctx context.Context, name string, flags []string, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "standin-*.log")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(log.Name()) }()
	cmd := exec.Command(self, append([]string{"run"}, flags...)...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if array.Description(name) != nil {
			return status(name, out)
		}
		select {
		case <-ctx.Done():
			return array.Down(context.WithoutCancel(ctx), name)
		case err := <-gone:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("it did not start: %w\n%s", err, text)
		case <-tick.C:
		}
	}
}

func status(name string, out io.Writer) error {
	text := array.Description(name)
	if text == nil {
		return fmt.Errorf("array %s does not run", name)
	}
	_, err := out.Write(text)
	return err
}
