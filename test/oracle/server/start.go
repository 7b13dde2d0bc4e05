package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	standin "github.com/nfsbench/nfsbench/test/oracle"
	"github.com/nfsbench/nfsbench/test/oracle/driver"
)

func start(ctx context.Context, e environment, out io.Writer) error {
	defer func() { _ = os.Remove(e.stateFile()) }() // health must not see a database that has ended
	if err := e.mark(phaseStarting); err != nil {
		return err
	}
	if err := e.mayStart(); err != nil {
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
	ready, err := e.after("STANDIN_READY_AFTER")
	if err != nil {
		return err
	}
	if e.is("STANDIN_NEVER_READY") {
		ready = nil
	}
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	instance, err := standin.Open(ctx, cfg)
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
	crashed, err := e.after("STANDIN_CRASH_AFTER")
	if err != nil {
		return err
	}
	if e.get("STANDIN_CRASH_AFTER") == "" {
		crashed = nil
	}
	select {
	case <-crashed:
		fmt.Fprintln(out, "PMON (ospid: 1): terminating the instance due to ORA error 600")
		return errors.New("ORA-00600: internal error code, arguments: [standin], [], []")
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return instance.Shutdown(bounded)
}

func (e environment) mayStart() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if strings.Contains(host, "_") {
		return fmt.Errorf("the host name %q contains _, which Oracle does not take", host)
	}
	probe := filepath.Join(e.data(), ".standin")
	if err := os.WriteFile(probe, nil, 0o640); err != nil {
		return fmt.Errorf("cannot create folder : Permission denied: %w; the data directory must be writable for uid %d", err, os.Geteuid())
	}
	return os.Remove(probe)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// scripts runs the setup scripts of a database that was created just now, and
// the startup scripts of every start.
func (e environment) scripts(ctx context.Context, cfg standin.Config, i *standin.Instance, created bool, out io.Writer) error {
	scripts := e.or("STANDIN_SCRIPTS", "/opt/oracle/scripts")
	setup, startup := scripts+"/setup", scripts+"/startup"
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
	_, port, _ := net.SplitHostPort(i.Address())
	address := net.JoinHostPort("127.0.0.1", port)
	db, err := driver.Open(ctx, oracle.ConnectOptions{Connect: address + "/" + cfg.SID, User: "sys", Password: i.Password("SYS"), Role: "SYSDBA"})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, string(text))
	return err
}

type environment struct {
	get    func(string) string
	gvenzl bool
}

func (e environment) or(name, otherwise string) string { return cmp.Or(e.get(name), otherwise) }

func (e environment) is(name string) bool { return strings.EqualFold(e.get(name), "true") }

// number reads what tests set; what is not set is 0.
func (e environment) number(name string) (int64, error) {
	n, err := strconv.ParseInt(e.or(name, "0"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no number", name, e.get(name))
	}
	return n, nil
}

// after fires as long after now as a variable says; at once where it is not set.
func (e environment) after(name string) (<-chan time.Time, error) {
	d, err := time.ParseDuration(e.or(name, "0s"))
	if err != nil {
		return nil, fmt.Errorf("%s=%q is no duration", name, e.get(name))
	}
	return time.After(d), nil
}

func (e environment) data() string { return e.or("STANDIN_DATA", "/opt/oracle/oradata") }
func (e environment) base() string { return e.or("ORACLE_BASE", "/opt/oracle") }

// sid is that of the instance: at most 12 letters and digits, in upper case.
func (e environment) sid() (string, error) {
	if e.free() {
		return standin.DefaultSID, nil // Oracle Free has no other
	}
	sid := strings.ToUpper(e.or("ORACLE_SID", "ORCLCDB"))
	if !regexp.MustCompile(`^[A-Z][A-Z0-9]{0,11}$`).MatchString(sid) {
		return "", fmt.Errorf("ORACLE_SID %q: the ORACLE_SID must be at most 12 letters and digits", sid)
	}
	return sid, nil
}

func (e environment) pdb() string {
	first, _, _ := strings.Cut(e.get("ORACLE_DATABASE"), ",")
	switch {
	case e.gvenzl && first != "":
		return strings.ToUpper(first)
	case e.free():
		return standin.DefaultPDB
	}
	return strings.ToUpper(e.or("ORACLE_PDB", "ORCLPDB1"))
}

func (e environment) free() bool {
	return e.gvenzl || strings.EqualFold(e.or("ORACLE_EDITION", standin.EditionFree), standin.EditionFree)
}

// password is that of the first start. Oracle's images make one up and print it
// where none is given; gvenzl's want to be told.
func (e environment) password(out io.Writer) (string, error) {
	password, file := e.get("ORACLE_PWD"), e.or("STANDIN_SECRET", "/run/secrets/oracle_pwd")
	if e.gvenzl {
		given := 0
		for _, name := range []string{"ORACLE_PASSWORD", "ORACLE_PASSWORD_FILE", "ORACLE_RANDOM_PASSWORD"} {
			if e.get(name) != "" {
				given++
			}
		}
		if given != 1 {
			return "", errors.New("one of ORACLE_PASSWORD, ORACLE_PASSWORD_FILE and ORACLE_RANDOM_PASSWORD must be set, and no more than one")
		}
		password, file = e.get("ORACLE_PASSWORD"), e.get("ORACLE_PASSWORD_FILE")
	}
	if password != "" {
		return password, nil
	}
	text, err := os.ReadFile(file)
	if err == nil || e.gvenzl && file != "" {
		return strings.TrimRight(string(text), "\r\n"), err
	}
	made := rand.Text()
	fmt.Fprintf(out, "ORACLE PASSWORD FOR SYS, SYSTEM AND PDBADMIN: %s\n", made)
	return made, nil
}

func (e environment) parameters() map[string]string {
	p := map[string]string{}
	for variable, parameter := range map[string][2]string{ // name, unit
		"INIT_SGA_SIZE": {"sga_target", "M"}, "INIT_PGA_SIZE": {"pga_aggregate_target", "M"},
		"INIT_CPU_COUNT": {"cpu_count"}, "INIT_PROCESSES": {"processes"},
	} {
		if v := e.get(variable); v != "" {
			p[parameter[0]] = v + parameter[1]
		}
	}
	return p
}

func (e environment) config(out io.Writer) (standin.Config, error) {
	sid, err := e.sid()
	if err != nil {
		return standin.Config{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		return standin.Config{}, err
	}
	c := standin.Config{
		Data: e.data(), Home: e.get("ORACLE_HOME"), Base: e.base(), SID: sid, PDB: e.pdb(), Host: host,
		Edition: standin.EditionEnterprise, Listen: e.or("STANDIN_LISTEN", ":1521"), Parameters: e.parameters(),
		Now: time.Now, Out: out, Direct: standin.DirectConfig{AnyMount: e.is("STANDIN_ANY_MOUNT")},
		Faults: standin.Faults{Fallback: e.is("STANDIN_FALLBACK")},
	}
	if e.free() {
		c.Edition = standin.EditionFree
	}
	percent, err1 := e.number("STANDIN_DATAFILE_PERCENT")
	seconds, err2 := e.number("STANDIN_CALIBRATE_SECONDS")
	full, err3 := e.number("STANDIN_FULL_AFTER")
	c.DatafilePercent, c.Calibrate, c.Faults.FullAfter = int(percent), time.Duration(seconds)*time.Second, full
	return c, errors.Join(err1, err2, err3)
}
