package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// loadFlags are the flags of load that describe a plan.
type loadFlags struct {
	cli.Load
	p         runfile.Plan            // what flags give as a plan has it
	raw       bench.RawWorkload       // the same
	calibrate bench.CalibrateWorkload // the same
	slob      bench.SLOBWorkload      // the same
	files     bench.NativeFiles       // the same; those of a raw load, too

	blockSize, fileSize, scale, scanSize byteSize
	overwrite                            bool
	warmupRuns, readPercent              int32
	opsPerSecond                         int64
	oranfstab, serverLabel               string
	servers                              []string
	export, mount                        string
	nfsVersion                           string
	allowNonNFS                          bool
	uid, gid                             int64
	warmup, baseline                     time.Duration
	cooldown, timeout                    time.Duration
	callTimeout, mountTimeout            time.Duration
	maxLatency                           time.Duration
	capacity                             []string
	arrivals                             string
	link, think                          string

	fs *pflag.FlagSet // to see which were given
}

func (f *loadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.fs = fs
	fs.StringVar(&f.oranfstab, "oranfstab", "", "oranfstab with the paths and the export to use")
	fs.StringVar(&f.serverLabel, "server-label", "", "server block of the oranfstab to use, if it has several")
	fs.StringSliceVar(&f.servers, "server", nil,
		"addresses of one NFS server, one channel for each; ADDRESS:PORT where NFS and MOUNT share a port, as in nfsbench "+
			"serve")
	fs.StringVar(&f.export, "export", "", "export of the server, as its export list spells it")
	fs.StringVar(&f.nfsVersion, "nfs-version", "",
		"3, 4.0, 4.1 or pNFS: what to speak with --server (default 3), or what --mount must be; an oranfstab has its own "+
			"nfs_version")
	fs.StringVar(&f.mount, "mount", "",
		"directory where the operating system mounted the export: uses its client, past the page cache")
	fs.BoolVar(&f.allowNonNFS, "allow-non-nfs", false, "with --mount, accept a file system that is not NFS")
	fs.IntVar(&f.p.Engine.Ports.NFS, "nfs-port", 0, "port of NFS (default: ask the portmapper; 2049 from NFSv4 on)")
	fs.IntVar(&f.p.Engine.Ports.Mount, "mount-port", 0, "port of MOUNT (default: ask the portmapper); NFSv3")
	fs.IntVar(&f.p.Engine.Ports.Portmap, "portmap-port", 0, "port of the portmapper (default 111); NFSv3")
	fs.Int64Var(&f.uid, "uid", -1, "user that the server sees (default: that of this process)")
	fs.Int64Var(&f.gid, "gid", -1, "group that the server sees (default: that of this process)")
	fs.Var((*byteSize)(&f.p.Engine.TransferSizeBytes), "transfer-size",
		"largest single READ or WRITE (default: what the server offers)")

	cli.CompleteValues(cmd, "nfs-version", "3", "4.0", "4.1", bench.PNFS)
	f.Register(cmd)
	fs.Int32Var(&f.calibrate.PhysicalDisks, "disks", runfile.DefaultPhysicalDisks,
		"calibrate: about how many disks are behind the storage; too few limit the result")
	fs.DurationVar(&f.maxLatency, "max-latency", runfile.DefaultMaxLatencyMilliseconds*time.Millisecond,
		"calibrate: tolerable mean latency of a single-block read, at least 10ms")
	fs.Int32Var(&f.warmupRuns, "warmup-runs", runfile.DefaultWarmupRuns,
		"calibrate: runs before those that count, for caches may be cold")
	fs.Int32Var(&f.files.Count, "files", runfile.DefaultFiles, "calibrate: files of --file-size each")
	fs.Int32SliceVar(&f.slob.Users, "users", []int32{1},
		"slob: users at work at once; several numbers make a ramp, such as 1,2,4,8,16")
	fs.Int32Var(&f.slob.Schemas, "schemas", 1, "slob: schemas that users are spread over, each with a file of its own")
	f.scale, f.scanSize = runfile.DefaultScaleBytes, runfile.DefaultScanTableBytes
	f.p.BlockBytes, f.p.LargeReadBytes = 8<<10, 1<<20
	fs.Var(&f.scale, "scale", "slob-read: size of each schema")
	fs.Var(&f.scanSize, "scan-size", "slob-scan: size of the table of each schema")
	fs.Int32Var(&f.slob.WorkUnit, "work-unit", runfile.DefaultWorkUnit,
		"slob-read: blocks of one statement, which is what --think counts")
	fs.Int32Var(&f.slob.UpdatePercent, "update-percent", 0,
		"slob-read: share of blocks that are read and overwritten; 0 to 50, or 100")
	fs.StringVar(&f.think, "think", "",
		"slob-read: pauses of a user, STATEMENTS:MIN-MAX, such as 10:5ms-20ms (default: none)")
	fs.Int32Var(&f.slob.ReadAhead, "read-ahead", runfile.DefaultReadAhead,
		"slob-scan: large reads that a user keeps outstanding")
	fs.Var((*byteSize)(&f.p.BlockBytes), "db-block-size", "calibrate and slob: bytes of a single-block read")
	fs.Var((*byteSize)(&f.p.LargeReadBytes), "large-read", "calibrate and slob-scan: bytes of a large read")
	fs.Var(&f.blockSize, "block-size",
		"bytes of each I/O, a power of two (default 1Mi; 8Ki if random)")
	f.fileSize = runfile.DefaultFileBytes
	fs.Var(&f.fileSize, "file-size", "bytes of each job's file")
	fs.Int32Var(&f.raw.Jobs, "jobs", runfile.DefaultJobs, "independent streams, each with a file of its own")
	fs.Int32Var(&f.raw.Depth, "depth", runfile.DefaultDepth, "outstanding I/Os of each job")
	fs.Int64Var(&f.opsPerSecond, "ops-per-second", 0,
		"rate of I/Os of all jobs together; latency then counts from when an I/O was due (default: as fast as it goes)")
	fs.Int32Var(&f.readPercent, "read-percent", 0, "share of reads of the patterns Mixed and RandomMixed, 1 to 99")
	fs.StringSliceVar(&f.capacity, "capacity", nil,
		"search the highest rate of I/Os within bounds of latency, such as p99=1ms,p999=5ms; percentiles: "+
			cli.Listed(bench.Percentiles()))
	fs.StringVar(&f.arrivals, "arrivals", "poisson", "with --capacity, when I/Os are due: poisson, at random, or fixed")
	cli.CompleteValues(cmd, "arrivals", "poisson", "fixed")
	fs.StringVar(&f.files.Directory, "dir", runfile.DefaultDirectory,
		"directory below the export for our files; made when missing")
	fs.BoolVar(&f.p.Keep, "keep-files", false, "leave the files for the next run, which then need not fill them")
	fs.BoolVar(&f.overwrite, "overwrite-existing", false,
		"use a directory that has files which nfsbench did not make")
	fs.Uint64Var(&f.p.Seed, "seed", 1, "the same seed gives the same data and offsets")

	fs.DurationVar(&f.warmup, "warmup", runfile.DefaultWarmupSeconds*time.Second, "load before the window, not counted")
	fs.DurationVar(&f.baseline, "baseline", runfile.DefaultBaselineSeconds*time.Second,
		"idle time before that, to see what others do")
	fs.DurationVar(&f.cooldown, "cooldown", runfile.DefaultCooldownSeconds*time.Second, "idle time between repetitions")
	fs.Int32Var(&f.p.Schedule.Repetitions, "repetitions", 1, "how often to measure")
	fs.DurationVar(&f.timeout, "timeout", 0, "longest time for everything (default: none)")
	fs.DurationVar(&f.callTimeout, "call-timeout", 0, "longest time for one I/O before it has failed (default 1m)")
	fs.DurationVar(&f.mountTimeout, "mount-timeout", 0, "longest time for reaching the export (default 30s)")
	fs.StringVar(&f.link, "link", "",
		"network link of each path, RATE[:MTU], such as 1Gbit or 25Gbit:9000 (default: as the interface says)")
	fs.StringVar(&f.p.Run.Name, "name", "load", "name of the run in the result")
}

// plan builds the plan. Its errors name the flag and the fix.
func (f *loadFlags) plan() (runfile.Plan, error) {
	p := f.p
	p.Version, p.Clients, p.Collect.IntervalMilliseconds = runfile.PlanVersion, 1, 1000
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

// engine finds out which of the three ways to name the storage was taken.
func (f *loadFlags) engine() (runfile.Engine, error) {
	e := f.p.Engine
	var ways []string
	for flag, set := range map[string]bool{
		"--mount": f.mount != "", "--oranfstab": f.oranfstab != "",
		"--server": len(f.servers) > 0,
	} {
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
	if f.nfsVersion != "" {
		if e.NFSVersion, err = cli.NFSVersion("nfs-version", f.nfsVersion); err != nil {
			return e, err
		}
	}
	if f.mount == "" {
		if e, err = f.direct(e); err != nil {
			return e, err
		}
		return e, f.checkPorts(e.NFSVersion)
	}
	if e.MountPath, err = filepath.Abs(f.mount); err != nil {
		return e, fmt.Errorf("--mount: %w", err)
	}
	e.Client, e.RequireNFS = bench.ClientKernel, !f.allowNonNFS
	return e, nil
}

// checkPorts refuses the ports of programs that a version does not have.
func (f *loadFlags) checkPorts(version bench.NFSVersion) error {
	for _, flag := range []string{"mount-port", "portmap-port"} {
		if version != bench.NFSv3 && f.fs.Changed(flag) {
			return fmt.Errorf("--%s does nothing with %s, which has neither portmapper nor MOUNT; leave it out, and give "+
				"the port of the server with --nfs-port", flag, version)
		}
	}
	return nil
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
	e.Client, e.RequireNFS, e.Export, e.Server = bench.ClientDirectNFS, true, f.export, f.serverLabel
	if f.oranfstab != "" {
		if f.nfsVersion != "" {
			return e, errors.New("--nfs-version does not go with --oranfstab; change the nfs_version of the server there")
		}
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
	e.Server, e.NFSVersion = "server", cmp.Or(e.NFSVersion, bench.NFSv3)
	for _, given := range f.servers {
		address, err := takePort(given, e.NFSVersion, &e.Ports)
		if err != nil {
			return e, err
		}
		e.Channels = append(e.Channels, bench.ResolvedPath{Path: address})
	}
	if _, err := e.Oranfstab(); err != nil {
		return e, fmt.Errorf("--server and --export: %w", err)
	}
	return e, nil
}

// takePort splits ADDRESS[:PORT]. With NFSv3, the port belongs to a server that serves NFS and
// MOUNT on one port, as nfsbench serve does. An oranfstab has no ports, so all addresses share one.
func takePort(given string, version bench.NFSVersion, ports *runfile.Ports) (address string, err error) {
	host, text, err := net.SplitHostPort(given)
	if err != nil { // no port
		if bare, ok := strings.CutPrefix(given, "["); ok {
			given = strings.TrimSuffix(bare, "]")
		}
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
		return "", fmt.Errorf("--server is %q, but another port was given before; all addresses of a server have the same "+
			"port", given)
	}
	ports.NFS = int(port)
	if ports.Mount == 0 && version == bench.NFSv3 {
		ports.Mount = int(port)
	}
	return host, nil
}

func (f *loadFlags) schedule() (s runfile.Schedule, err error) {
	s.Repetitions, s.DurationSeconds = f.p.Schedule.Repetitions, f.DurationSeconds
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
func parseLink(s string) (bench.Link, error) {
	wrong := fmt.Errorf("--link is %q; use RATE[:MTU] with Mbit or Gbit, such as 1Gbit or 25Gbit:9000", s)
	rate, mtu, hasMTU := strings.Cut(s, ":")
	var l bench.Link
	if hasMTU {
		n, err := strconv.ParseInt(mtu, 10, 32)
		if err != nil {
			return l, wrong
		}
		l.MTU = int32(n)
	}
	rate = strings.TrimSuffix(rate, "/s")
	for suffix, unit := range map[string]float64{"Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12} {
		if number, ok := strings.CutSuffix(rate, suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil || !(n > 0) || n*unit > 1e15 {
				return l, wrong
			}
			l.BitsPerSecond = *bench.Bits(int64(math.Round(n * unit)))
			return l, nil
		}
	}
	return l, wrong
}

// belongs says which workloads a flag has a meaning for; the others are for all.
func belongs(flag string) []string {
	slob := []string{cli.WorkloadSLOBRead, cli.WorkloadSLOBScan}
	switch flag {
	case "pattern", "block-size", "jobs", "depth", "ops-per-second", "read-percent":
		return []string{cli.WorkloadRaw}
	case "capacity", "arrivals":
		return append(slob, cli.WorkloadRaw)
	case "file-size":
		return []string{cli.WorkloadRaw, cli.WorkloadCalibrate}
	case "disks", "max-latency", "warmup-runs", "files":
		return []string{cli.WorkloadCalibrate}
	case "users", "schemas":
		return slob
	case "scale", "work-unit", "update-percent", "think":
		return slob[:1]
	case "scan-size", "read-ahead":
		return slob[1:]
	case "db-block-size":
		return append(slob, cli.WorkloadCalibrate)
	case "large-read":
		return []string{cli.WorkloadCalibrate, cli.WorkloadSLOBScan}
	default:
		return nil
	}
}

// check refuses a flag that would do nothing, and a zero that a plan would replace by the default.
func (f *loadFlags) check() (err error) {
	f.fs.Visit(func(flag *pflag.Flag) {
		if of := belongs(flag.Name); err == nil && of != nil && !slices.Contains(of, f.Workload) {
			err = fmt.Errorf("--%s is of --workload %s and does nothing with %s; leave it out", flag.Name,
				strings.Join(of, " and "), f.Workload)
		}
		if err == nil && flag.Value.String() == "0" && flag.DefValue > "1" {
			err = fmt.Errorf("--%s is 0; write a number from 1", flag.Name)
		}
	})
	return err
}

// workload makes the one that --workload names.
func (f *loadFlags) workload() (w bench.Workload, err error) {
	if err = f.Parse(); err == nil {
		err = f.check()
	}
	if err != nil {
		return w, err
	}
	search, err := f.search()
	if err != nil {
		return w, err
	}
	raw, c, l, files := f.raw, f.calibrate, f.slob, f.files
	if f.overwrite {
		files.ForeignFiles = bench.ForeignFilesOverwrite
	}
	raw.Capacity, l.Capacity, l.NativeFiles = search, search, files
	switch f.Workload {
	case cli.WorkloadRaw:
		raw.Pattern, raw.FileSize = f.Pattern, *bench.Bytes(int64(f.fileSize))
		if f.blockSize != 0 {
			raw.BlockSize = bench.Bytes(int64(f.blockSize))
		}
		raw.Directory, raw.ForeignFiles = files.Directory, files.ForeignFiles
		raw.ReadPercent, raw.OperationsPerSecond = given(f.readPercent), given(f.opsPerSecond)
		w.Raw = &raw
	case cli.WorkloadCalibrate:
		if f.maxLatency%time.Millisecond != 0 || f.maxLatency/time.Millisecond > math.MaxInt32 {
			return w, fmt.Errorf("--max-latency is %v; use whole milliseconds, such as 20ms", f.maxLatency)
		}
		files.Size = *bench.Bytes(int64(f.fileSize))
		c.MaxLatencyMilliseconds, c.WarmupRuns = int32(f.maxLatency/time.Millisecond), &f.warmupRuns
		c.NativeFiles, w.Calibrate = files, &c
	case cli.WorkloadSLOBScan:
		l.Access, l.ScanTableSize, w.SLOB = bench.SLOBFullTableScan, *bench.Bytes(int64(f.scanSize)), &l
	default:
		l.Access, l.Scale, w.SLOB = bench.SLOBRandomRead, *bench.Bytes(int64(f.scale)), &l
		if f.think != "" {
			l.Think, err = parseThink(f.think)
		}
	}
	return w, err
}

// given is the value of a flag, or nil where it is 0.
func given[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// search parses --capacity, PERCENTILE=LATENCY[,...]. It returns nil without the flag.
func (f *loadFlags) search() (*bench.Capacity, error) {
	if len(f.capacity) == 0 {
		if f.fs.Changed("arrivals") {
			return nil, errors.New("--arrivals has no effect without --capacity; leave it out, or give --capacity")
		}
		return nil, nil //nolint:nilnil // no search requested
	}
	arrivals, err := cli.OneOf("arrivals", bench.Arrivals(f.arrivals),
		[]bench.Arrivals{bench.ArrivalsPoisson, bench.ArrivalsFixed}, nil)
	if err != nil {
		return nil, err
	}
	var bounds []runfile.LatencyBound
	for _, text := range f.capacity {
		name, latency, ok := strings.Cut(text, "=")
		d, err := time.ParseDuration(latency)
		if !ok || err != nil || d%time.Microsecond != 0 {
			return nil, fmt.Errorf("--capacity is %q; use PERCENTILE=LATENCY, such as p99=1ms or p999=500us", text)
		}
		b := runfile.LatencyBound{Microseconds: d.Microseconds()}
		if b.Percentile, err = cli.OneOf("capacity", bench.LatencyPercentile(name), bench.Percentiles(),
			map[string]bench.LatencyPercentile{"p99.9": "p999"}); err != nil {
			return nil, err
		}
		bounds = append(bounds, b)
	}
	if len(bounds) > runfile.MaxLatencyBounds {
		return nil, fmt.Errorf("--capacity has %d bounds; give 1 to %d", len(bounds), runfile.MaxLatencyBounds)
	}
	return runfile.CapacityWithin(arrivals, bounds...), nil
}

// parseThink reads STATEMENTS:MIN-MAX.
func parseThink(s string) (*bench.SLOBThink, error) {
	var t bench.SLOBThink
	wrong := fmt.Errorf("--think is %q; use STATEMENTS:MIN-MAX with whole milliseconds, such as 10:5ms-20ms", s)
	every, times, ok := strings.Cut(s, ":")
	least, most, pair := strings.Cut(times, "-")
	if !ok || !pair {
		return nil, wrong
	}
	n, err := strconv.ParseInt(every, 10, 32)
	if err != nil {
		return nil, wrong
	}
	t.Frequency = int32(n)
	for _, part := range []struct {
		text string
		to   *int32
	}{{least, &t.MinimumMilliseconds}, {most, &t.MaximumMilliseconds}} {
		d, err := time.ParseDuration(part.text)
		if err != nil || d < 0 || d%time.Millisecond != 0 || d/time.Millisecond > math.MaxInt32 {
			return nil, wrong
		}
		*part.to = int32(d / time.Millisecond)
	}
	return &t, nil
}

// planFlags gives the flags behind the fields of a plan.
func planFlags() map[string]string {
	flags := map[string]string{
		"run.name": "name", "engine.transferSizeBytes": "transfer-size", "engine.mountTimeoutSeconds": "mount-timeout",
		"engine.callTimeoutSeconds": "call-timeout", "engine.ports.nfs": "nfs-port", "engine.ports.mount": "mount-port",
		"engine.ports.portmap": "portmap-port", "workload.raw.blockSize": "block-size",
		"workload.raw.fileSize": "file-size", "workload.raw.jobs": "jobs", "workload.raw.depth": "depth",
		"workload.raw.operationsPerSecond": "ops-per-second", "workload.raw.directory": "dir",
		"workload.raw.readPercent": "read-percent", "workload.raw.pattern": "pattern", "workload.raw.capacity": "capacity",
		"workload.calibrate.physicalDisks": "disks", "workload.calibrate.maxLatencyMilliseconds": "max-latency",
		"workload.calibrate.warmupRuns": "warmup-runs", "workload.calibrate.nativeFiles.count": "files",
		"workload.calibrate.nativeFiles.size": "file-size", "workload.calibrate.nativeFiles.directory": "dir",
		"workload.slob.users": "users", "workload.slob.schemas": "schemas", "workload.slob.scale": "scale",
		"workload.slob.scanTableSize": "scan-size", "workload.slob.workUnit": "work-unit",
		"workload.slob.updatePercent": "update-percent", "workload.slob.readAhead": "read-ahead",
		"workload.slob.capacity": "capacity", "workload.slob.nativeFiles.directory": "dir",
		"blockBytes": "db-block-size", "largeReadBytes": "large-read",
		"schedule.baselineSeconds": "baseline", "schedule.warmupSeconds": "warmup", "schedule.durationSeconds": "duration",
		"schedule.cooldownSeconds": "cooldown", "schedule.repetitions": "repetitions", "schedule.timeoutSeconds": "timeout",
		"link.bitsPerSecond": "link", "link.mtu": "link", "engine.oranfstab": "oranfstab",
	}
	for _, field := range []string{"frequency", "minimumMilliseconds", "maximumMilliseconds"} {
		flags["workload.slob.think."+field] = "think"
	}
	for _, w := range []string{"raw", "slob"} {
		for _, field := range []string{".milliseconds", ".microseconds", ".alsoAt"} {
			flags["workload."+w+".capacity"+field] = "capacity"
		}
	}
	return flags
}

// byteSize is a flag that holds bytes: a number with the suffix that Kubernetes gives to
// quantities, Ki Mi Gi Ti for powers of 1024 and k M G T for powers of 1000.
type byteSize int64

// Set parses s; it is not changed when s is wrong.
func (b *byteSize) Set(s string) error {
	number, unit := s, int64(1)
	for suffix, size := range map[string]int64{
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
		"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = n, size
		}
	}
	// Only digits and one point: big.Rat would take fractions and exponents too.
	if number == "" || strings.Trim(number, "0123456789.") != "" || len(number) > 30 {
		return fmt.Errorf("%q is no size; write 512Mi or 10Gi", s)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return fmt.Errorf("%q is no size; write 512Mi or 10Gi", s)
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	if !r.IsInt() || r.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0 {
		return fmt.Errorf("%q is no whole number of bytes below 8Ei", s)
	}
	*b = byteSize(r.Num().Int64())
	return nil
}

// String writes the size with the largest power of 1024 that divides it.
func (b *byteSize) String() string {
	n, suffix := int64(*b), ""
	for _, s := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, suffix = n/1024, s
	}
	return strconv.FormatInt(n, 10) + suffix
}

// Type is the name of the value in the help.
func (b *byteSize) Type() string { return "size" }
