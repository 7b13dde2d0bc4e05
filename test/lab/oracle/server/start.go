package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

func start(ctx context.Context, e environment, out io.Writer) error {
	defer func() { _ = os.Remove(e.stateFile()) }() // health must not see a database that has ended
	if err := e.mark(phaseStarting); err != nil {
		return err
	}
	if err := e.checkProcess(); err != nil {
		return err
	}
	cfg, err := e.config(out)
	if err != nil {
		return err
	}
	if strings.Contains(cfg.Host, "_") {
		return fmt.Errorf("the host name %q contains _, which Oracle does not take", cfg.Host)
	}
	probe := filepath.Join(cfg.Data, ".standin")
	if err := os.WriteFile(probe, nil, 0o640); err != nil {
		return fmt.Errorf("cannot create folder : Permission denied: %w; the data directory must be writable for uid %d", err, os.Geteuid())
	}
	if err := os.Remove(probe); err != nil {
		return err
	}
	if strings.EqualFold(e.get("STANDIN_NEVER_READY"), "true") {
		<-ctx.Done()
		return nil
	}
	creates := !opens(cfg)
	if creates {
		if err := cleanUp(cfg); err != nil {
			return err
		}
	}
	instance, err := standin.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if creates {
		if err := created(cfg); err != nil {
			return err
		}
	}
	if err := e.mark(phaseReady); err != nil {
		return err
	}
	fmt.Fprint(out, "#########################\nDATABASE IS READY TO USE!\n#########################\n")
	<-ctx.Done()
	bounded, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return instance.Shutdown(bounded)
}

// createdFile says on the volume that a creation has ended well.
func createdFile(cfg standin.Config) string {
	return filepath.Join(cfg.Data, "."+cfg.SID+".created")
}

func dbconfig(cfg standin.Config, name string) string {
	return filepath.Join(cfg.Data, "dbconfig", cfg.SID, name)
}

// opens says whether the start script opens the database on the volume: only what a creation of such
// an image has left.
func opens(cfg standin.Config) bool {
	file, err1 := os.Stat(createdFile(cfg))
	folder, err2 := os.Stat(filepath.Join(cfg.Data, cfg.SID))
	return errors.Join(err1, err2) == nil && file.Mode().IsRegular() && folder.IsDir()
}

// cleanUp deletes what is in the place of the new database, whoever made it.
func cleanUp(cfg standin.Config) error {
	err := os.RemoveAll(filepath.Join(cfg.Data, cfg.SID))
	return errors.Join(err, os.RemoveAll(dbconfig(cfg, "spfile"+cfg.SID+".ora")))
}

// created leaves what the start script leaves after a creation.
func created(cfg standin.Config) error {
	spfile, err := os.OpenFile(dbconfig(cfg, "spfile"+cfg.SID+".ora"), os.O_CREATE, 0o640)
	if err == nil {
		err = spfile.Close()
	}
	return errors.Join(err, os.WriteFile(createdFile(cfg), nil, 0o640),
		os.WriteFile(dbconfig(cfg, "orapw"+cfg.SID), []byte("the stand-in for a password file\n"), 0o640))
}

type environment struct {
	get       func(string) string
	openFiles func() (uint64, error) // the hard limit; nil = that of this process
	// capabilities are those that programs with setuid can have; nil = those of this process.
	capabilities func() (uint64, error)
}

// mostOpenFiles is the largest table of open files that the memory of a container suffices for.
const mostOpenFiles = 1 << 20

// checkProcess ends a start in a process that the programs of the images could not run in.
func (e environment) checkProcess() error {
	openFiles := e.openFiles
	if openFiles == nil {
		openFiles = func() (uint64, error) {
			var r syscall.Rlimit
			err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
			return r.Max, err
		}
	}
	hard, err := openFiles()
	if err != nil {
		return err
	}
	if hard > mostOpenFiles {
		return errors.New("library initialization failed - unable to allocate file descriptor table - out of memory")
	}
	if !e.free() && !strings.EqualFold(e.get("ORACLE_SID"), "XE") {
		return nil
	}
	return e.su()
}

// su is what the start of Oracle Free and Express does as root by the setuid program of that name.
func (e environment) su() error {
	capabilities := e.capabilities
	if capabilities == nil {
		capabilities = boundingSet
	}
	have, err := capabilities()
	if err != nil {
		return err
	}
	for _, needed := range []uint{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_AUDIT_WRITE} {
		if have&(1<<needed) == 0 {
			return errors.New("Password: su: Authentication failure") //nolint:revive,staticcheck // as su prints it
		}
	}
	return nil
}

// boundingSet is that of this process; none where setuid has no effect.
func boundingSet() (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	field := func(name string, base int) (uint64, error) {
		m := regexp.MustCompile(`(?m)^` + name + `:\s*([0-9a-f]+)$`).FindSubmatch(text)
		if m == nil {
			return 0, fmt.Errorf("/proc/self/status has no %s", name)
		}
		return strconv.ParseUint(string(m[1]), base, 64)
	}
	kept, err1 := field("NoNewPrivs", 10)
	set, err2 := field("CapBnd", 16)
	if kept != 0 {
		set = 0
	}
	return set, errors.Join(err1, err2)
}

func (e environment) or(name, otherwise string) string { return cmp.Or(e.get(name), otherwise) }

// number reads what tests set; what is not set is 0.
func (e environment) number(name string) (int64, error) {
	n, err := strconv.ParseInt(e.or(name, "0"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no number", name, e.get(name))
	}
	return n, nil
}

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
	if e.free() {
		return standin.DefaultPDB
	}
	return strings.ToUpper(e.or("ORACLE_PDB", "ORCLPDB1"))
}

func (e environment) free() bool {
	return strings.EqualFold(e.or("ORACLE_EDITION", standin.EditionFree), standin.EditionFree)
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
	host = e.or("STANDIN_HOST", host)
	if e.get("ORACLE_PWD") == "" {
		return standin.Config{}, errors.New("ORACLE_PWD must be set")
	}
	is := func(name string) bool { return strings.EqualFold(e.get(name), "true") }
	c := standin.Config{
		Data: e.or("STANDIN_DATA", "/opt/oracle/oradata"), Home: e.get("ORACLE_HOME"), Base: e.or("ORACLE_BASE", "/opt/oracle"),
		SID: sid, PDB: e.pdb(), Host: host, Password: e.get("ORACLE_PWD"), Edition: standin.EditionEnterprise,
		Listen: e.or("STANDIN_LISTEN", ":1521"), Parameters: map[string]string{}, Now: time.Now, Out: out,
		Autotasks: 3 * time.Minute,
		Direct:    standin.DirectConfig{AnyMount: is("STANDIN_ANY_MOUNT")}, Faults: standin.Faults{Fallback: is("STANDIN_FALLBACK")},
	}
	if e.free() {
		c.Edition = standin.EditionFree
	} else {
		c.ListenerHost = "0.0.0.0"
	}
	for variable, parameter := range map[string][2]string{ // name, unit
		"INIT_SGA_SIZE": {"sga_target", "M"}, "INIT_PGA_SIZE": {"pga_aggregate_target", "M"},
		"INIT_CPU_COUNT": {"cpu_count"}, "INIT_PROCESSES": {"processes"},
	} {
		if v := e.get(variable); v != "" {
			c.Parameters[parameter[0]] = v + parameter[1]
		}
	}
	if is("STANDIN_NO_CACHE") {
		c.Faults.Uncached = 100
	}
	percent, err1 := e.number("STANDIN_DATAFILE_PERCENT")
	seconds, err2 := e.number("STANDIN_CALIBRATE_SECONDS")
	cpus, err3 := e.number("STANDIN_NODE_CPUS")
	creation, err4 := e.number("STANDIN_CREATE_SECONDS")
	c.DatafilePercent, c.Calibrate, c.NodeCPUs = int(percent), time.Duration(seconds)*time.Second, int(cpus)
	c.Creation = time.Duration(creation) * time.Second
	return c, errors.Join(err1, err2, err3, err4)
}
