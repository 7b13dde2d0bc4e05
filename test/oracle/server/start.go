package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	standin "github.com/nfsbench/nfsbench/test/oracle"
	"github.com/nfsbench/nfsbench/test/oracle/driver"
)

// shutdownPatience bounds SHUTDOWN IMMEDIATE.
const shutdownPatience = 20 * time.Second

// start runs the database until the context ends.
func start(ctx context.Context, e environment, out io.Writer) error {
	defer unmark(e)
	if err := e.mark(phaseStarting); err != nil {
		return err
	}
	if err := e.mayStart(out); err != nil {
		return err
	}
	cfg, err := e.config(out)
	if err != nil {
		return err
	}
	created := !exists(filepath.Join(cfg.Data, cfg.SID, "control01.ctl"))
	if created {
		if cfg.Password, err = e.password(out); err != nil {
			return err
		}
	}
	if err := e.hold(ctx); err != nil {
		return nil //nolint:nilerr // told to end while it starts
	}
	instance, err := standin.Open(ctx, cfg)
	if errors.Is(err, standin.ErrHang) {
		fmt.Fprintln(out, "ORACLE instance started.") // and then nothing more
		<-ctx.Done()
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.scripts(ctx, cfg, instance, created, out); err != nil {
		return errors.Join(err, instance.Shutdown(ctx))
	}
	if err := e.mark(phaseReady); err != nil {
		return err
	}
	fmt.Fprint(out, "#########################\nDATABASE IS READY TO USE!\n#########################\n")
	return e.stay(ctx, instance, out)
}

// stay waits for the end that the container is told of, or for the crash that a
// test asks for.
func (e environment) stay(ctx context.Context, instance *standin.Instance, out io.Writer) error {
	crash, err := e.duration("STANDIN_CRASH_AFTER")
	if err != nil {
		return err
	}
	var crashed <-chan time.Time
	if crash > 0 {
		crashed = time.After(crash)
	}
	select {
	case <-crashed:
		fmt.Fprintln(out, "PMON (ospid: 1): terminating the instance due to ORA error 600")
		return errors.New("ORA-00600: internal error code, arguments: [standin], [], []")
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	return instance.Shutdown(bounded)
}

// hold makes a start last, or never end.
func (e environment) hold(ctx context.Context) error {
	wait, err := e.duration("STANDIN_READY_AFTER")
	if err != nil {
		return err
	}
	var ready <-chan time.Time
	if !e.is("STANDIN_NEVER_READY") {
		ready = time.After(wait)
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayStart makes the checks that the images make first.
func (e environment) mayStart(out io.Writer) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if strings.Contains(host, "_") {
		return fmt.Errorf("the host name %q contains _, which Oracle does not take", host)
	}
	if limit := memoryLimit(); limit > 0 && limit < 2<<30 {
		text := fmt.Sprintf("The container doesn't have enough memory allocated: %d bytes, minimum is 2 GiB", limit)
		if !e.gvenzl && e.is("STANDIN_MEMORY_CHECK") {
			return errors.New(text)
		}
		fmt.Fprintln(out, "WARNING:", text)
	}
	probe := filepath.Join(e.data(), ".standin")
	if err := os.WriteFile(probe, nil, 0o640); err != nil {
		return fmt.Errorf("cannot create folder : Permission denied: %w; the data directory must be writable for uid %d", err, os.Geteuid())
	}
	return os.Remove(probe)
}

// memoryLimit is that of the container in bytes; 0 = none.
func memoryLimit() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n < 1<<60 {
			return n
		}
	}
	return 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// scripts runs the setup scripts of a database that was created just now, and
// the startup scripts of every start.
func (e environment) scripts(ctx context.Context, cfg standin.Config, i *standin.Instance, created bool, out io.Writer) error {
	setup, startup := e.or("STANDIN_SCRIPTS", "/opt/oracle/scripts")+"/setup", e.or("STANDIN_SCRIPTS", "/opt/oracle/scripts")+"/startup"
	if e.gvenzl {
		setup, startup = "/container-entrypoint-initdb.d", "/container-entrypoint-startdb.d"
	}
	if created {
		if err := e.runAll(ctx, setup, phaseSetup, cfg, i, out); err != nil {
			return err
		}
	}
	return e.runAll(ctx, startup, phaseStartup, cfg, i, out)
}

func (e environment) runAll(ctx context.Context, dir string, phase string, cfg standin.Config, i *standin.Instance, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		return err
	}
	if err := e.mark(phase); err != nil {
		return err
	}
	slices.Sort(files)
	fmt.Fprintf(out, "Executing user defined scripts of %s\n", dir)
	for _, file := range files {
		fmt.Fprintf(out, "running %s\n", file)
		err := script(ctx, file, cfg, i)
		if err != nil && e.gvenzl {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", file, err)
		}
	}
	fmt.Fprintln(out, "DONE: Executing user defined scripts")
	return nil
}

// script runs one file. SQL is that of ours alone, as SYSDBA in the root.
func script(ctx context.Context, file string, cfg standin.Config, i *standin.Instance) error {
	if filepath.Ext(file) != ".sql" {
		return errors.New("seen, and not run: the stand-in has no shell")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	db, err := driver.Open(ctx, oracle.ConnectOptions{Connect: local(i) + "/" + cfg.SID, User: "sys", Password: i.Password("SYS"), Role: "SYSDBA"})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, string(text))
	return err
}

// local is the listener as this host reaches it.
func local(i *standin.Instance) string {
	_, port, _ := strings.Cut(i.Address()[strings.LastIndex(i.Address(), ":"):], ":")
	return "127.0.0.1:" + port
}
