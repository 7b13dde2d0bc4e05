package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// loadFlags are the flags of load that describe a plan.
type loadFlags struct {
	oranfstab, serverLabel string
	servers                []string
	export, mount          string
	allowNonNFS            bool
	nfsPort, mountPort     int
	portmapPort            int
	uid, gid               int64

	blockSize, fileSize, transfer byteSize
	jobs, depth                   int32
	opsPerSecond                  int64
	dir                           string
	keepFiles, overwriteExisting  bool
	seed                          uint64

	warmup, baseline          time.Duration
	cooldown, timeout         time.Duration
	callTimeout, mountTimeout time.Duration
	repetitions               int32
	link                      string
	name                      string

	workloadFlags
}

func (f *loadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.oranfstab, "oranfstab", "", "oranfstab with the paths and the export to use")
	fs.StringVar(&f.serverLabel, "server-label", "", "server block of the oranfstab to use, if it has several")
	fs.StringSliceVar(&f.servers, "server", nil, "addresses of one NFS server, one channel for each; ADDRESS:PORT where NFS and MOUNT share a port, as in nfsbench serve")
	fs.StringVar(&f.export, "export", "", "export of the server, as its export list spells it")
	fs.StringVar(&f.mount, "mount", "", "directory where the operating system mounted the export: uses its client, past the page cache")
	fs.BoolVar(&f.allowNonNFS, "allow-non-nfs", false, "with --mount, accept a file system that is not NFS")
	fs.IntVar(&f.nfsPort, "nfs-port", 0, "port of NFS (default: ask the portmapper)")
	fs.IntVar(&f.mountPort, "mount-port", 0, "port of MOUNT (default: ask the portmapper)")
	fs.IntVar(&f.portmapPort, "portmap-port", 0, "port of the portmapper (default 111)")
	fs.Int64Var(&f.uid, "uid", -1, "user that the server sees (default: that of this process)")
	fs.Int64Var(&f.gid, "gid", -1, "group that the server sees (default: that of this process)")
	fs.Var(&f.transfer, "transfer-size", "largest single READ or WRITE (default: what the server offers)")

	f.workloadFlags.register(cmd)
	fs.Var(&f.blockSize, "block-size", "bytes of each I/O, a power of two (default 1Mi; 8Ki if random)")
	f.fileSize = runfile.DefaultFileBytes
	fs.Var(&f.fileSize, "file-size", "bytes of each job's file")
	fs.Int32Var(&f.jobs, "jobs", runfile.DefaultJobs, "independent streams, each with a file of its own")
	fs.Int32Var(&f.depth, "depth", runfile.DefaultDepth, "outstanding I/Os of each job")
	fs.Int64Var(&f.opsPerSecond, "ops-per-second", 0, "rate of I/Os of all jobs together; latency then counts from when an I/O was due (default: as fast as it goes)")
	fs.StringVar(&f.dir, "dir", runfile.DefaultDirectory, "directory below the export for our files; made when missing")
	fs.BoolVar(&f.keepFiles, "keep-files", false, "leave the files for the next run, which then need not fill them")
	fs.BoolVar(&f.overwriteExisting, "overwrite-existing", false, "use a directory that has files which nfsbench did not make")
	fs.Uint64Var(&f.seed, "seed", 1, "the same seed gives the same data and offsets")

	fs.DurationVar(&f.warmup, "warmup", runfile.DefaultWarmupSeconds*time.Second, "load before the window, not counted")
	fs.DurationVar(&f.baseline, "baseline", runfile.DefaultBaselineSeconds*time.Second, "idle time before that, to see what others do")
	fs.DurationVar(&f.cooldown, "cooldown", runfile.DefaultCooldownSeconds*time.Second, "idle time between repetitions")
	fs.Int32Var(&f.repetitions, "repetitions", 1, "how often to measure")
	fs.DurationVar(&f.timeout, "timeout", 0, "longest time for everything (default: none)")
	fs.DurationVar(&f.callTimeout, "call-timeout", 0, "longest time for one I/O before it has failed (default 1m)")
	fs.DurationVar(&f.mountTimeout, "mount-timeout", 0, "longest time for reaching the export (default 30s)")
	fs.StringVar(&f.link, "link", "", "network link of each path, RATE[:MTU], such as 1Gbit or 25Gbit:9000 (default: as the interface says)")
	fs.StringVar(&f.name, "name", "load", "name of the run in the result")
}

// plan builds the plan. Its errors name the flag and the fix.
func (f *loadFlags) plan() (runfile.Plan, error) {
	p := runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: f.seed, Run: runfile.Identity{Name: f.name},
		Collect: runfile.Collect{IntervalMilliseconds: 1000},
	}
	var err error
	if p.Workload, err = f.workload(); err != nil {
		return p, err
	}
	if p.Engine, err = f.engine(); err != nil {
		return p, err
	}
	if p.Schedule, err = f.schedule(); err != nil {
		return p, err
	}
	if f.link != "" {
		link, err := parseLink(f.link)
		if err != nil {
			return p, err
		}
		p.Link = &link
	}
	return p, nil
}

func (f *loadFlags) raw() *runfile.Raw {
	r := &runfile.Raw{
		Pattern: f.Pattern, BlockSizeBytes: int64(f.blockSize), FileSizeBytes: int64(f.fileSize), Jobs: f.jobs, Depth: f.depth,
		OperationsPerSecond: f.opsPerSecond, Directory: f.dir, OverwriteExisting: f.overwriteExisting, KeepFiles: f.keepFiles,
	}
	if r.BlockSizeBytes == 0 {
		r.BlockSizeBytes = runfile.DefaultBlockBytes(f.Pattern)
	}
	return r
}

// engine finds out which of the three ways to name the storage was taken.
func (f *loadFlags) engine() (runfile.Engine, error) {
	e := runfile.Engine{
		TransferSizeBytes: int64(f.transfer),
		Ports:             runfile.Ports{NFS: f.nfsPort, Mount: f.mountPort, Portmap: f.portmapPort},
	}
	var ways []string
	for flag, set := range map[string]bool{"--mount": f.mount != "", "--oranfstab": f.oranfstab != "", "--server": len(f.servers) > 0} {
		if set {
			ways = append(ways, flag)
		}
	}
	if len(ways) == 0 {
		return e, errors.New("nothing says where the storage is; give --server and --export, --oranfstab, --mount, or --plan")
	}
	if len(ways) > 1 {
		return e, errors.New("--server, --oranfstab and --mount exclude each other; give one of them")
	}
	if err := f.identity(&e); err != nil {
		return e, err
	}
	var err error
	if e.CallTimeoutSeconds, err = cli.Seconds("--call-timeout", f.callTimeout); err != nil {
		return e, err
	}
	if e.MountTimeoutSeconds, err = cli.Seconds("--mount-timeout", f.mountTimeout); err != nil {
		return e, err
	}
	if f.mount == "" {
		return f.direct(e)
	}
	if e.MountPath, err = filepath.Abs(f.mount); err != nil {
		return e, fmt.Errorf("--mount: %w", err)
	}
	e.Client, e.RequireNFS = runfile.ClientKernel, !f.allowNonNFS
	return e, nil
}

func (f *loadFlags) identity(e *runfile.Engine) error {
	for _, id := range []struct {
		flag string
		from int64
		to   **uint32
	}{{"--uid", f.uid, &e.UserID}, {"--gid", f.gid, &e.GroupID}} {
		if id.from < -1 || id.from > math.MaxUint32 {
			return fmt.Errorf("%s is %d; use a number from 0 to %d", id.flag, id.from, uint32(math.MaxUint32))
		}
		if id.from >= 0 {
			*id.to = new(uint32(id.from))
		}
	}
	return nil
}

func (f *loadFlags) direct(e runfile.Engine) (runfile.Engine, error) {
	e.Client, e.RequireNFS, e.Export, e.Server = runfile.ClientDirectNFS, true, f.export, f.serverLabel
	if f.oranfstab != "" {
		text, err := os.ReadFile(f.oranfstab)
		if err != nil {
			return e, fmt.Errorf("--oranfstab: %w", err)
		}
		if err := e.UseOranfstab(string(text)); err != nil {
			return e, fmt.Errorf("--oranfstab %s: %w", f.oranfstab, err)
		}
		return e, nil
	}
	if f.export == "" {
		return e, errors.New("--export is missing; name the export of --server, such as /export")
	}
	if f.serverLabel != "" {
		return e, errors.New("--server-label chooses a block of an oranfstab; give it with --oranfstab only")
	}
	e.Server, e.NFSVersion = "server", "NFSv3"
	for _, given := range f.servers {
		address, err := takePort(given, &e.Ports)
		if err != nil {
			return e, err
		}
		e.Channels = append(e.Channels, runfile.PlanChannel{Path: address})
	}
	if _, err := e.Oranfstab(); err != nil {
		return e, fmt.Errorf("--server and --export: %w", err)
	}
	return e, nil
}

// takePort splits ADDRESS[:PORT]. A port is that of a server that answers NFS and
// MOUNT on one, as nfsbench serve does; an oranfstab has no ports, so it is the
// same for all addresses.
func takePort(given string, ports *runfile.Ports) (address string, err error) {
	host, text, err := net.SplitHostPort(given)
	if err != nil { // no port
		if strings.ContainsAny(given, "/[]") {
			return "", fmt.Errorf("--server is %q; give an address, or ADDRESS:PORT, with the export in --export", given)
		}
		return given, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || host == "" {
		return "", fmt.Errorf("--server is %q; the port is a number from 1 to 65535", given)
	}
	if ports.NFS != 0 && ports.NFS != int(port) {
		return "", fmt.Errorf("--server is %q, but another port was given before; all addresses of a server have the same port", given)
	}
	ports.NFS = int(port)
	if ports.Mount == 0 {
		ports.Mount = int(port)
	}
	return host, nil
}

func (f *loadFlags) schedule() (s runfile.Schedule, err error) {
	s.Repetitions = f.repetitions
	s.DurationSeconds = f.DurationSeconds
	if f.Workload == cli.WorkloadCalibrate && !f.fs.Changed("duration") {
		s.DurationSeconds = calibrateSeconds
	}
	for _, span := range []struct {
		flag string
		from time.Duration
		to   *int32
	}{
		{"--warmup", f.warmup, &s.WarmupSeconds},
		{"--baseline", f.baseline, &s.BaselineSeconds},
		{"--cooldown", f.cooldown, &s.CooldownSeconds},
		{"--timeout", f.timeout, &s.TimeoutSeconds},
	} {
		if *span.to, err = cli.Seconds(span.flag, span.from); err != nil {
			return s, err
		}
	}
	return s, nil
}

// parseLink reads RATE[:MTU], such as 10Gbit:9000.
func parseLink(s string) (runfile.Link, error) {
	wrong := fmt.Errorf("--link is %q; use RATE[:MTU] with Mbit or Gbit, such as 1Gbit or 25Gbit:9000", s)
	rate, mtu, hasMTU := strings.Cut(s, ":")
	var l runfile.Link
	if hasMTU {
		n, err := strconv.ParseInt(mtu, 10, 32)
		if err != nil {
			return l, wrong
		}
		l.MTUBytes = int32(n)
	}
	rate = strings.TrimSuffix(rate, "/s")
	for suffix, unit := range map[string]float64{"Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12} {
		if number, ok := strings.CutSuffix(rate, suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil || !(n > 0) || n*unit > 1e15 {
				return l, wrong
			}
			l.BitsPerSecond = int64(math.Round(n * unit))
			return l, nil
		}
	}
	return l, wrong
}
