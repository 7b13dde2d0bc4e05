package main

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/test/oracle"
)

// environment is that of an image.
type environment struct {
	get    func(string) string
	gvenzl bool
}

func (e environment) or(name, otherwise string) string {
	if v := e.get(name); v != "" {
		return v
	}
	return otherwise
}

func (e environment) is(name string) bool { return strings.EqualFold(e.get(name), "true") }

// number and duration read what tests set; a mistake is worth an end.
func (e environment) number(name string) (int64, error) {
	v := e.get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no number", name, v)
	}
	return n, nil
}

func (e environment) duration(name string) (time.Duration, error) {
	v := e.get(name)
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no duration", name, v)
	}
	return d, nil
}

func (e environment) data() string { return e.or("STANDIN_DATA", "/opt/oracle/oradata") }
func (e environment) base() string { return e.or("ORACLE_BASE", "/opt/oracle") }

// sid is that of the instance: at most 12 letters and digits, in upper case.
func (e environment) sid() (string, error) {
	if e.free() {
		return oracle.DefaultSID, nil // Oracle Free has no other
	}
	sid := strings.ToUpper(e.or("ORACLE_SID", "ORCLCDB"))
	if !regexp.MustCompile(`^[A-Z][A-Z0-9]{0,11}$`).MatchString(sid) {
		return "", fmt.Errorf("ORACLE_SID %q: the ORACLE_SID must be at most 12 letters and digits", sid)
	}
	return sid, nil
}

func (e environment) pdb() string {
	if e.gvenzl {
		if list := e.get("ORACLE_DATABASE"); list != "" {
			first, _, _ := strings.Cut(list, ",")
			return strings.ToUpper(first)
		}
		return oracle.DefaultPDB
	}
	if e.free() {
		return oracle.DefaultPDB
	}
	return strings.ToUpper(e.or("ORACLE_PDB", "ORCLPDB1"))
}

func (e environment) free() bool {
	return e.gvenzl || strings.EqualFold(e.or("ORACLE_EDITION", oracle.EditionFree), oracle.EditionFree)
}

// password is that of the first start. Oracle's images make one up and print it
// where none is given; gvenzl's want to be told.
func (e environment) password(out io.Writer) (string, error) {
	if e.gvenzl {
		return e.gvenzlPassword(out)
	}
	if p := e.get("ORACLE_PWD"); p != "" {
		return p, nil
	}
	if text, err := os.ReadFile(e.or("STANDIN_SECRET", "/run/secrets/oracle_pwd")); err == nil {
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	return generated(out)
}

func (e environment) gvenzlPassword(out io.Writer) (string, error) {
	given := 0
	for _, name := range []string{"ORACLE_PASSWORD", "ORACLE_PASSWORD_FILE", "ORACLE_RANDOM_PASSWORD"} {
		if e.get(name) != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return "", errors.New("one of ORACLE_PASSWORD, ORACLE_PASSWORD_FILE and ORACLE_RANDOM_PASSWORD must be set, and no more than one")
	case e.get("ORACLE_RANDOM_PASSWORD") != "":
		return generated(out)
	case e.get("ORACLE_PASSWORD_FILE") != "":
		text, err := os.ReadFile(e.get("ORACLE_PASSWORD_FILE"))
		return strings.TrimRight(string(text), "\r\n"), err
	}
	return e.get("ORACLE_PASSWORD"), nil
}

func generated(out io.Writer) (string, error) {
	raw := make([]byte, 10)
	if _, err := rand.Read(raw); err != nil {
		return "", err
	}
	p := base32.StdEncoding.EncodeToString(raw)
	fmt.Fprintf(out, "ORACLE PASSWORD FOR SYS, SYSTEM AND PDBADMIN: %s\n", p)
	return p, nil
}

// parameters are init parameters of the first start.
func (e environment) parameters() map[string]string {
	p := map[string]string{}
	for name, parameter := range map[string]struct{ name, unit string }{
		"INIT_SGA_SIZE": {"sga_target", "M"}, "INIT_PGA_SIZE": {"pga_aggregate_target", "M"},
		"INIT_CPU_COUNT": {"cpu_count", ""}, "INIT_PROCESSES": {"processes", ""},
	} {
		if v := e.get(name); v != "" {
			p[parameter.name] = v + parameter.unit
		}
	}
	return p
}

// config is all that the instance is made of.
func (e environment) config(out io.Writer) (oracle.Config, error) {
	sid, err := e.sid()
	if err != nil {
		return oracle.Config{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		return oracle.Config{}, err
	}
	c := oracle.Config{
		Data: e.data(), Home: e.get("ORACLE_HOME"), Base: e.base(), SID: sid, PDB: e.pdb(), Host: host,
		Edition: oracle.EditionEnterprise, Listen: e.or("STANDIN_LISTEN", ":1521"), Parameters: e.parameters(),
		Milliseconds: e.is("STANDIN_MILLISECONDS"), Now: time.Now, Out: out,
		Direct: oracle.DirectConfig{AnyMount: e.is("STANDIN_ANY_MOUNT"), Hang: e.is("STANDIN_HANG"), Etc: e.get("STANDIN_ETC"), MountTable: e.get("STANDIN_MTAB")},
		Faults: oracle.Faults{Fallback: e.is("STANDIN_FALLBACK"), AsyncOff: e.is("STANDIN_ASYNC_OFF")},
	}
	if e.free() {
		c.Edition = oracle.EditionFree
	}
	if e.is("STANDIN_ORADISM") {
		c.Direct.Privileged = func() bool { return false }
	}
	if file := e.get("STANDIN_FIXTURE"); file != "" {
		if c.Fixture, err = oracle.ReadFixture(file); err != nil {
			return c, err
		}
	}
	return c, e.numbers(&c)
}

func (e environment) numbers(c *oracle.Config) error {
	var all []error
	n := func(name string) int64 {
		v, err := e.number(name)
		all = append(all, err)
		return v
	}
	c.DatafilePercent = int(n("STANDIN_DATAFILE_PERCENT"))
	c.Calibrate = time.Duration(n("STANDIN_CALIBRATE_SECONDS")) * time.Second
	c.Faults.FullAfter = n("STANDIN_FULL_AFTER")
	c.Direct.NFSPort = int(n("STANDIN_NFS_PORT"))
	c.Direct.MountPort = int(n("STANDIN_MOUNT_PORT"))
	c.Direct.PortmapPort = int(n("STANDIN_PORTMAP_PORT"))
	delay, err := e.duration("STANDIN_DELAY")
	c.Faults.Delay = delay
	return errors.Join(append(all, err)...)
}
