package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// The names of the checks.
const (
	checkLimits    = "open files"
	checkAIO       = "kernel AIO"
	checkSlots     = "TCP slots"
	checkBuffers   = "socket buffers"
	checkProcesses = "processes"
	checkDirectNFS = "Direct NFS"
	checkImage     = "image"
	checkStart     = "start command"
	checkHealth    = "health script"
	checkVolume    = "volume"
	checkFiles     = "files"
	checkServer    = "server"
	checkClient    = "Oracle client"
	checkListener  = "listener"
	checkKit       = "SLOB kit"
)

const (
	// leastAIO is the minimum of fs.aio-max-nr in Oracle's installation guides for Linux. The kernel's default is 65536.
	leastAIO = 1 << 20
	// leastSlots is the number of slots below which a benchmark may be limited: it keeps more requests outstanding on a
	// connection.
	leastSlots = 128
)

// examination collects checks.
type examination struct{ checks []runfile.Check }

func (e *examination) add(check, result, format string, args ...any) {
	e.checks = append(e.checks, runfile.Check{Check: check, Result: result, Message: fmt.Sprintf(format, args...)})
}

func (e *examination) ok(check, format string, args ...any) {
	e.add(check, runfile.CheckOK, format, args...)
}

func (e *examination) warn(check, format string, args ...any) {
	e.add(check, runfile.CheckWarn, format, args...)
}

func (e *examination) fail(check, format string, args ...any) {
	e.add(check, runfile.CheckFail, format, args...)
}

// judge adds a check that fails with err.
func (e *examination) judge(check string, err error, format string, args ...any) {
	if err != nil {
		e.fail(check, "%s", err)
		return
	}
	e.ok(check, format, args...)
}

// Examine runs all checks that precede the start of a database, and starts none. It finds all problems, while Run
// stops at the first. It changes only files of this container. An empty DataDirectory means that the volume does not
// exist yet.
func Examine(ctx context.Context, o Options) []runfile.Check {
	o = o.withDefaults()
	e := &examination{}
	home := o.findHome()
	library, err := o.prepareDirectNFS(ctx, home)
	e.judge(checkDirectNFS, err, "%s", o.describe(home, library))
	o.examineImage(e, home)
	o.examineKit(e, 1)
	if o.DataDirectory != "" {
		for _, v := range o.volumes() {
			v.examineVolume(e)
		}
		if err := o.checkRedo(); err != nil {
			e.fail(checkFiles, "%s", err)
		}
	}
	o.examineServers(ctx, e)
	o.examineNode(e)
	return e.checks
}

// ExamineClient checks the requirements of a loader for external databases.
func ExamineClient(ctx context.Context, o Options, connects []string) []runfile.Check {
	o = o.withDefaults()
	e := &examination{}
	if library := o.findClient(); library != "" {
		e.ok(checkClient, "%s", library)
	} else {
		e.warn(checkClient, "libclntsh.so was not found where Oracle's client is installed: set "+
			"database.external.image to an image with Oracle's client, such as ghcr.io/oracle/oraclelinux9-instantclient:23")
	}
	o.examineKit(e, len(connects)-1) // the first is the administrator's
	for _, address := range addressesOf(connects) {
		dialing, cancel := context.WithTimeout(ctx, listenerPatience)
		c, err := (&net.Dialer{}).DialContext(dialing, "tcp", address)
		cancel()
		if err == nil {
			err = c.Close()
		} else {
			err = fmt.Errorf("no connection to %s (%w): correct database.external.connectString or services, or let the "+
				"pods of this namespace through firewalls and NetworkPolicies", address, err)
		}
		e.judge(checkListener, err, "%s takes connections", address)
	}
	return e.checks
}

// describe describes the state of Direct NFS.
func (o Options) describe(home string, l runfile.DirectNFSLibrary) string {
	switch {
	case home == "":
		return "no Oracle home was found, so Direct NFS was not switched off"
	case !o.DirectNFS:
		return "off in " + home
	default:
		return fmt.Sprintf("on in %s; oradism is %s", home, l.OradismMode)
	}
}

func (o Options) examineKit(e *examination, services int) {
	if o.Kit != "" {
		e.judge(checkKit, o.checkKit(services), "%s", o.Kit)
	}
}

// examineVolume checks free space, access rights and foreign files on the volume.
func (o Options) examineVolume(e *examination) {
	err := o.checkVolume()
	_, missing := os.Lstat(filepath.Join(o.DataDirectory, "dbconfig", o.SID))
	if oracle.CodeOf(err) == runfile.FailureNoSpace && !errors.Is(missing, fs.ErrNotExist) {
		e.warn(checkVolume, "%s; there is a database on it, which may hold the tables already", err)
	} else {
		e.judge(checkVolume, err, "user %d writes to %s, and there is room", os.Getuid(), o.DataDirectory)
	}
	foreign, err := o.refuseForeign()
	found := "none that were not created for a benchmark"
	if foreign {
		found = "files of an existing database, which existingDatabase: Use lets the run change"
	}
	e.judge(checkFiles, err, "%s", found)
}

// examineServers mounts the export over each path from a port above 1023.
func (o Options) examineServers(ctx context.Context, e *examination) {
	probes, skipped, err := o.probeServers(ctx)
	if skipped != "" {
		e.warn(checkServer, "not probed: %s; %s", skipped, probeAdvice)
	}
	for _, p := range probes {
		switch {
		case p.Problem == "":
			e.ok(checkServer, "%s admits this pod from a port above 1023", p)
		case oracle.CodeOf(err) == runfile.FailureUnsupported:
			e.fail(checkServer, "%s: %s", p, p.Problem)
		case err != nil:
			e.fail(checkServer, "%s: %s; the database would hang at its start: %s", p, p.Problem, probeAdvice)
		default:
			e.warn(checkServer, "%s: %s; %s", p, p.Problem, probeAdvice)
		}
	}
	if small := o.smallWrites(probes); small != "" {
		e.warn(checkServer, "%s", small)
	}
}

// examineNode checks limits of this container and of its node. It skips limits that it cannot read.
func (o Options) examineNode(e *examination) {
	o.examineFiles(e)
	if most, ok := o.sysctl("fs/aio-max-nr"); ok {
		used, _ := o.sysctl("fs/aio-nr")
		switch {
		case o.DirectNFS:
			e.ok(checkAIO, "fs.aio-max-nr is %d, which Direct NFS does not use", most)
		case most < leastAIO:
			e.warn(checkAIO, "fs.aio-max-nr of the node is %d, and %d are in use: with none left Oracle reads "+
				"synchronously or fails with ORA-27090; sysctl -w fs.aio-max-nr=3145728 on the node", most, used)
		default:
			e.ok(checkAIO, "fs.aio-max-nr is %d, of which %d are in use", most, used)
		}
	}
	if few := o.fewProcesses(); few != "" {
		e.warn(checkProcesses, "%s", few)
	}
	o.examineBuffers(e)
	// Only the kernel's client has these slots, and a pod sees the setting if the module is loaded.
	if slots, ok := o.sysctl("sunrpc/tcp_max_slot_table_entries"); ok && !o.DirectNFS {
		if slots < leastSlots {
			e.warn(checkSlots, "the kernel's NFS client of the node keeps at most %d requests outstanding for "+
				"each connection: sysctl -w sunrpc.tcp_max_slot_table_entries=%d on the node, before it mounts", slots, leastSlots)
		} else {
			e.ok(checkSlots, "sunrpc.tcp_max_slot_table_entries is %d", slots)
		}
	}
}

func (o Options) examineFiles(e *examination) {
	limits, err := o.limitProcesses()
	for _, l := range limits {
		if l.Name != openFiles || l.Hard == nil {
			continue
		}
		if *l.Hard < maxOpenFiles {
			e.warn(checkLimits, "the hard limit is %d, and Oracle's images need %d: raise LimitNOFILE of the "+
				"container runtime on the node", *l.Hard, maxOpenFiles)
			continue
		}
		e.ok(checkLimits, "the hard limit is %d", *l.Hard)
	}
	if err != nil {
		e.warn(checkLimits, "the limits are not known: %s", err)
	}
}

func (o Options) examineBuffers(e *examination) {
	b, err := o.buffers()
	switch small := smallBuffers(b); {
	case !o.DirectNFS || err != nil:
	case small != "":
		e.warn(checkBuffers, "%s", small)
	default:
		e.ok(checkBuffers, "the node grants %d KiB to receive and %d KiB to send", b.ReceiveBytes>>10, b.SendBytes>>10)
	}
}

// sysctl reads a number of the kernel; false if it does not exist or this container may not read it.
func (o Options) sysctl(name string) (int64, bool) {
	raw, err := shareddir.ReadStart(o.ProcDir, filepath.Join("sys", name), 64)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n, err == nil
}

// findClient looks for the library of Oracle's client in the directories of its packages and images.
func (o Options) findClient() string {
	dirs := append(filepath.SplitList(o.lookup("LD_LIBRARY_PATH")), filepath.Join(o.lookup("ORACLE_HOME"), "lib"),
		"/usr/lib/oracle/*/client64/lib", "/opt/oracle/instantclient*", o.ProductRoot+"/*/*/lib")
	for _, dir := range dirs {
		if found, _ := filepath.Glob(filepath.Join(dir, "libclntsh.so*")); dir != "" && len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// An address in a connect descriptor, and in EZConnect with or without a protocol.
var (
	descriptorHost = regexp.MustCompile(`(?i)\(\s*HOST\s*=\s*([^)\s]+)\s*\)`)                                       //nolint:gochecknoglobals // a constant in all but name
	descriptorPort = regexp.MustCompile(`(?i)\(\s*PORT\s*=\s*([0-9]{1,5})\s*\)`)                                    //nolint:gochecknoglobals // a constant in all but name
	easyAddress    = regexp.MustCompile(`^(?:[a-zA-Z]+:)?(?://)?(\[[^\]]+\]|[^:/?\s()]+)(?::([0-9]{1,5}))?(?:/|$)`) //nolint:gochecknoglobals // a constant in all but name
)

const maxAddresses = 32

// addressesOf returns the listeners in connect strings, each once.
func addressesOf(connects []string) []string {
	var all []string
	seen := map[string]bool{}
	add := func(host, port string) {
		address := net.JoinHostPort(strings.Trim(host, "[]"), cmp.Or(port, "1521"))
		if !seen[address] && len(all) < maxAddresses {
			seen[address], all = true, append(all, address)
		}
	}
	for _, c := range connects {
		hosts, ports := descriptorHost.FindAllStringSubmatch(c, -1), descriptorPort.FindAllStringSubmatch(c, -1)
		for i, h := range hosts {
			port := ""
			if len(ports) == len(hosts) {
				port = ports[i][1]
			}
			add(h[1], port)
		}
		if m := easyAddress.FindStringSubmatch(c); m != nil && len(hosts) == 0 {
			add(m[1], m[2])
		}
	}
	return all
}
