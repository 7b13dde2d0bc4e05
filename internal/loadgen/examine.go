package loadgen

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// The preconditions of a load, in the order in which Examine checks them.
const (
	checkName   = "name"
	checkRoute  = "route"
	checkPort   = "port"
	checkExport = "export"
	checkLayout = "layouts"
	checkPath   = "path"
	checkWrite  = "write"
)

const (
	// portPatience bounds one connection to a port.
	portPatience = 5 * time.Second
	// mostAnswers is more than any plan gives, so that no answer waits for somebody who has given up.
	mostAnswers = 1024
)

// Examine checks whether a run could begin, without load, and calls add for each answer: names, routes and ports of all
// paths, the mount, large calls, and a small file, which it removes. It uses the code of a run from the mount on. It
// returns within 10 s for each path, twice the plan's time to mount, and 10 s, also where a mount of the kernel hangs.
func Examine(ctx context.Context, o Options, add func(runfile.Check)) {
	e := examination{o: o, answers: make(chan runfile.Check, mostAnswers)}
	ctx, cancel := context.WithTimeout(ctx, e.limit())
	defer cancel()
	go func() {
		defer close(e.answers)
		e.examine(ctx)
	}()
	var giveUp <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case c, more := <-e.answers:
			if !more {
				return
			}
			add(c)
		case <-done:
			timer := time.NewTimer(patience)
			defer timer.Stop()
			done, giveUp = nil, timer.C
		case <-giveUp:
			add(runfile.Check{Check: checkExport, Result: runfile.CheckFail, Message: "the storage does not answer"})
			return
		}
	}
}

type examination struct {
	o       Options
	answers chan runfile.Check
}

// limit bounds an examination: two ports of each path, the mount, and the file.
func (e examination) limit() time.Duration {
	return time.Duration(len(e.o.Plan.Engine.Channels))*2*portPatience + 2*mountLimit(e.o.Plan)
}

func (e examination) examine(ctx context.Context) {
	reached := e.o.Plan.Engine.Client != bench.ClientDirectNFS // the kernel has mounted it
	if !reached {
		channels, err := direct.WithAddresses(e.o.Plan.Engine.Channels)
		if err != nil {
			e.say(checkRoute, runfile.CheckFail, "%v", err)
			return
		}
		for _, c := range channels {
			reached = e.reach(ctx, c) || reached
		}
	}
	if reached { // otherwise the mount would only repeat why not
		e.mount(ctx)
	}
}

func (e examination) say(check, result, format string, args ...any) {
	e.answers <- runfile.Check{Check: check, Result: result, Message: fmt.Sprintf(format, args...)}
}

// reach checks the name, the route and the ports of a path, and reports whether NFS answers.
func (e examination) reach(ctx context.Context, c bench.ResolvedPath) (answers bool) {
	if net.ParseIP(c.Path) == nil {
		all, err := net.DefaultResolver.LookupHost(ctx, c.Path)
		if err != nil {
			e.say(checkName, runfile.CheckFail, "%s is not known here: correct the name, or give an address: %v", c.Path,
				err)
			return false
		}
		e.say(checkName, runfile.CheckOK, "%s is %s", c.Path, strings.Join(all, ", "))
	}
	ports := e.o.Plan.Engine.Ports
	if e.o.Plan.Engine.NFSVersion == bench.NFSv3 && (ports.NFS == 0 || ports.Mount == 0) {
		port := cmp.Or(ports.Portmap, mount.PortmapPort)
		if conn, err := e.dial(ctx, c, port); err != nil {
			e.say(checkPort, runfile.CheckWarn, "%s: no portmapper on TCP port %d, so MOUNT is tried on the port of NFS: "+
				"%v", c.Path, port, err)
		} else {
			e.say(checkPort, runfile.CheckOK, "%s: TCP port %d answers", c.Path, port)
			_ = conn.Close()
		}
	}
	port := cmp.Or(ports.NFS, nfs.Port)
	conn, err := e.dial(ctx, c, port)
	if err != nil {
		e.say(checkPort, runfile.CheckFail, "%s: no connection to TCP port %d: look at the address, at firewalls, and "+
			"whether the NFS server runs: %v", c.Path, port, err)
		return false
	}
	e.route(c, conn)
	e.say(checkPort, runfile.CheckOK, "%s: TCP port %d answers", c.Path, port)
	_ = conn.Close()
	return true
}

func (e examination) dial(ctx context.Context, c bench.ResolvedPath, port int) (net.Conn, error) {
	d := net.Dialer{Timeout: portPatience}
	if ip := net.ParseIP(c.Local); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(c.Path, strconv.Itoa(port)))
}

// route says from which address and interface a path leaves this machine, and compares the MTU with the declared one.
func (e examination) route(c bench.ResolvedPath, conn net.Conn) {
	local, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return
	}
	name, mtu := interfaceOf(local)
	words := fmt.Sprintf("%s: from %s on interface %s with MTU %d", c.Path, local, name, mtu)
	switch link := e.o.Plan.Link; {
	case name == "":
		e.say(checkRoute, runfile.CheckOK, "%s: from %s", c.Path, local)
	case link != nil && link.MTU != 0 && int(link.MTU) != mtu:
		e.say(checkRoute, runfile.CheckWarn, "%s, and protocol.link.mtu is %d (1500 if it is not given): set it to the "+
			"MTU of the path, or correct that of the interface", words, link.MTU)
	default:
		e.say(checkRoute, runfile.CheckOK, "%s", words)
	}
}

// interfaceOf returns the network interface that has an address; "" if none has it.
func interfaceOf(address string) (name string, mtu int) {
	all, err := net.Interfaces()
	if err != nil {
		return "", 0
	}
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, is := a.(*net.IPNet); is && n.IP.Equal(net.ParseIP(address)) {
				return i.Name, i.MTU
			}
		}
	}
	return "", 0
}

// mount opens the storage as a run does, and tries a file.
func (e examination) mount(ctx context.Context) {
	within, cancel := context.WithTimeoutCause(ctx, mountLimit(e.o.Plan), errConnect)
	defer cancel()
	t, err := e.o.Open(within)
	if err != nil {
		e.say(checkExport, runfile.CheckFail, "%s", runloop.OneLine(err))
		return
	}
	defer func() { _ = t.Close() }()
	e.say(checkExport, runfile.CheckOK, "%s", mountWords(t.Facts()))
	if e.o.Plan.Engine.NFSVersion == bench.PNFS {
		e.say(checkLayout, runfile.CheckWarn, "whether the server gives layouts of pNFS shows only under load: without them "+
			"the run is Invalid (ProtocolMismatch)")
	}
	checked := target.Check(within, t)
	for _, p := range t.Facts().Paths {
		if p.LargeCall == string(nfs.LargeAcknowledged) {
			e.say(checkPath, runfile.CheckOK, "%s: a large call came through; MTU of the path %d", p.Path, p.MTUBytes)
		} else if checked == nil {
			e.say(checkPath, runfile.CheckWarn, "%s: whether a large call comes through is not known", p.Path)
		}
	}
	if checked != nil {
		e.say(checkPath, runfile.CheckFail, "%s", runloop.OneLine(checked))
		return
	}
	e.write(ctx, t)
}

func (e examination) write(ctx context.Context, t target.Target) {
	spec := filesetOf(&e.o.Plan, e.o.Client)
	within, cancel := context.WithTimeoutCause(ctx, mountLimit(e.o.Plan), errConnect)
	defer cancel()
	if err := fileset.Try(within, t, spec, e.o.Now().UnixNano()); err != nil {
		e.say(checkWrite, runfile.CheckFail, "%s", runloop.OneLine(err))
		return
	}
	e.say(checkWrite, runfile.CheckOK,
		"a file in directory %q was written, read and removed; the files of the load take %s",
		spec.Directory, human.Bytes(int64(spec.Jobs)*spec.FileSizeBytes))
}

// mountWords describes a mount by what is known of it.
func mountWords(f runfile.MountFacts) string {
	words := f.Source + " with " + cmp.Or(f.NFSVersion, f.FilesystemType)
	if f.ReadSizeBytes > 0 {
		words += fmt.Sprintf("; READs of up to %s, WRITEs of up to %s", human.Size(f.ReadSizeBytes),
			human.Size(f.WriteSizeBytes))
	}
	if f.TotalBytes > 0 {
		words += fmt.Sprintf("; %s of %s are free", human.Bytes(f.FreeBytes), human.Bytes(f.TotalBytes))
	}
	return words
}
