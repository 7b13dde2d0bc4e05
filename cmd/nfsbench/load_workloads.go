package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// calibrateSeconds is how long each level of a calibration lasts without --duration:
// there may be twenty of them.
const calibrateSeconds = 10

// workloadFlags are the flags of the loads that a database would make.
type workloadFlags struct {
	cli.Load

	fs *pflag.FlagSet // to see which were given

	disks, warmupRuns     int32
	maxLatency            time.Duration
	files                 int32
	users                 []int32
	schemas               int32
	scale, scanSize       byteSize
	workUnit, updates     int32
	readAhead             int32
	think                 string
	databaseBlock, pieces byteSize
}

func (f *workloadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.fs = fs
	f.Register(cmd)
	fs.Int32Var(&f.disks, "disks", runfile.DefaultPhysicalDisks, "calibrate: about how many disks are behind the storage; too few limit the result")
	fs.DurationVar(&f.maxLatency, "max-latency", runfile.DefaultMaxLatencyMilliseconds*time.Millisecond, "calibrate: tolerable mean latency of a single-block read, at least 10ms")
	fs.Int32Var(&f.warmupRuns, "warmup-runs", runfile.DefaultWarmupRuns, "calibrate: runs before those that count, for caches may be cold")
	fs.Int32Var(&f.files, "files", runfile.DefaultFiles, "calibrate: files of --file-size each")
	fs.Int32SliceVar(&f.users, "users", []int32{1}, "slob: users at work at once; several numbers make a ramp, such as 1,2,4,8,16")
	fs.Int32Var(&f.schemas, "schemas", 1, "slob: schemas that users are spread over, each with a file of its own")
	f.scale, f.scanSize = 1<<30, runfile.DefaultScanTableBytes
	f.databaseBlock, f.pieces = byteSize(runfile.DefaultBlockBytes(runfile.PatternRandomRead)), byteSize(runfile.DefaultBlockBytes(runfile.PatternRead))
	fs.Var(&f.scale, "scale", "slob-read: size of each schema")
	fs.Var(&f.scanSize, "scan-size", "slob-scan: size of the table of each schema")
	fs.Int32Var(&f.workUnit, "work-unit", runfile.DefaultWorkUnit, "slob-read: blocks of one statement, which is what --think counts")
	fs.Int32Var(&f.updates, "update-percent", 0, "slob-read: share of blocks that are read and overwritten; 0 to 50, or 100")
	fs.StringVar(&f.think, "think", "", "slob-read: pauses of a user, STATEMENTS:MIN-MAX, such as 10:5ms-20ms (default: none)")
	fs.Int32Var(&f.readAhead, "read-ahead", runfile.DefaultReadAhead, "slob-scan: large reads that a user keeps outstanding")
	fs.Var(&f.databaseBlock, "db-block-size", "calibrate and slob: bytes of a single-block read")
	fs.Var(&f.pieces, "large-read", "calibrate and slob-scan: bytes of a large read")
}

// belongs says which workloads a flag has a meaning for; the others are for all.
func belongs(flag string) []string {
	slob := []string{cli.WorkloadSLOBRead, cli.WorkloadSLOBScan}
	switch flag {
	case "pattern", "block-size", "jobs", "depth", "ops-per-second":
		return []string{cli.WorkloadRaw}
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

// check refuses a flag that would do nothing.
func (f *workloadFlags) check() error {
	err := f.Parse()
	f.fs.Visit(func(flag *pflag.Flag) {
		if of := belongs(flag.Name); err == nil && of != nil && !slices.Contains(of, f.Workload) {
			err = fmt.Errorf("--%s is of --workload %s and does nothing with %s; leave it out", flag.Name, strings.Join(of, " and "), f.Workload)
		}
	})
	return err
}

// workload makes the one that --workload names.
func (f *loadFlags) workload() (w runfile.Workload, err error) {
	if err := f.check(); err != nil {
		return w, err
	}
	switch f.Workload {
	case cli.WorkloadRaw:
		w.Raw = f.raw()
	case cli.WorkloadCalibrate:
		w.Calibrate, err = f.calibrate()
	default:
		w.SLOB, err = f.slob()
	}
	return w, err
}

func (f *loadFlags) calibrate() (*runfile.Calibrate, error) {
	if f.maxLatency%time.Millisecond != 0 || f.maxLatency/time.Millisecond > math.MaxInt32 {
		return nil, fmt.Errorf("--max-latency is %v; use whole milliseconds, such as 20ms", f.maxLatency)
	}
	return &runfile.Calibrate{
		PhysicalDisks: f.disks, MaxLatencyMilliseconds: int32(f.maxLatency / time.Millisecond), WarmupRuns: f.warmupRuns,
		Files: f.databaseFiles(f.files, f.fileSize),
	}, nil
}

func (f *loadFlags) slob() (*runfile.SLOB, error) {
	s := &runfile.SLOB{
		Access: runfile.AccessRandomRead, Users: f.users, Schemas: f.schemas, ScaleBytes: int64(f.scale), ScanTableBytes: int64(f.scanSize),
		WorkUnit: f.workUnit, UpdatePercent: f.updates,
	}
	if f.Workload == cli.WorkloadSLOBScan {
		s.Access, s.ReadAhead = runfile.AccessFullTableScan, f.readAhead
		s.Files = f.databaseFiles(f.schemas, f.scanSize)
		return s, nil
	}
	f.pieces = f.databaseBlock // nothing larger is read
	s.Files = f.databaseFiles(f.schemas, f.scale)
	if f.think == "" {
		return s, nil
	}
	think, err := parseThink(f.think)
	s.Think = &think
	return s, err
}

func (f *loadFlags) databaseFiles(count int32, size byteSize) *runfile.Files {
	return &runfile.Files{
		Count: count, SizeBytes: int64(size), BlockSizeBytes: int64(f.databaseBlock), LargeReadBytes: int64(f.pieces),
		Directory: f.dir, OverwriteExisting: f.overwriteExisting, KeepFiles: f.keepFiles,
	}
}

// parseThink reads STATEMENTS:MIN-MAX.
func parseThink(s string) (t runfile.Think, err error) {
	wrong := fmt.Errorf("--think is %q; use STATEMENTS:MIN-MAX with whole milliseconds, such as 10:5ms-20ms", s)
	every, times, ok := strings.Cut(s, ":")
	least, most, pair := strings.Cut(times, "-")
	if !ok || !pair {
		return t, wrong
	}
	n, err := strconv.ParseInt(every, 10, 32)
	if err != nil {
		return t, wrong
	}
	t.Frequency = int32(n)
	for _, part := range []struct {
		text string
		to   *int32
	}{{least, &t.MinimumMilliseconds}, {most, &t.MaximumMilliseconds}} {
		d, err := time.ParseDuration(part.text)
		if err != nil || d < 0 || d%time.Millisecond != 0 || d/time.Millisecond > math.MaxInt32 {
			return t, wrong
		}
		*part.to = int32(d / time.Millisecond)
	}
	return t, nil
}

// planFlags gives the flags behind the fields of a plan, whose workload was named
// by kind.
func planFlags(kind string) map[string]string {
	flags := map[string]string{
		"run.name": "name", "engine.transferSizeBytes": "transfer-size", "engine.mountTimeoutSeconds": "mount-timeout",
		"engine.callTimeoutSeconds": "call-timeout", "engine.ports.nfs": "nfs-port", "engine.ports.mount": "mount-port",
		"engine.ports.portmap": "portmap-port", "workload.raw.blockSizeBytes": "block-size",
		"workload.raw.fileSizeBytes": "file-size", "workload.raw.jobs": "jobs", "workload.raw.depth": "depth",
		"workload.raw.operationsPerSecond": "ops-per-second", "workload.raw.directory": "dir",
		"workload.calibrate.physicalDisks": "disks", "workload.calibrate.maxLatencyMilliseconds": "max-latency",
		"workload.calibrate.warmupRuns": "warmup-runs", "workload.calibrate.files.count": "files",
		"workload.calibrate.files.sizeBytes": "file-size", "workload.slob.users": "users", "workload.slob.schemas": "schemas",
		"workload.slob.scaleBytes": "scale", "workload.slob.scanTableBytes": "scan-size", "workload.slob.workUnit": "work-unit",
		"workload.slob.updatePercent": "update-percent", "workload.slob.readAhead": "read-ahead",
		"workload.slob.think.frequency": "think", "workload.slob.think.minimumMilliseconds": "think",
		"workload.slob.think.maximumMilliseconds": "think", "workload.slob.files.count": "schemas",
		"schedule.baselineSeconds": "baseline", "schedule.warmupSeconds": "warmup", "schedule.durationSeconds": "duration",
		"schedule.cooldownSeconds": "cooldown", "schedule.repetitions": "repetitions", "schedule.timeoutSeconds": "timeout",
		"link.bitsPerSecond": "link", "link.mtuBytes": "link", "engine.oranfstab": "oranfstab",
	}
	flags["workload.slob.files.sizeBytes"] = "scale"
	if kind == cli.WorkloadSLOBScan {
		flags["workload.slob.files.sizeBytes"] = "scan-size"
	}
	for _, w := range []string{"calibrate", "slob"} {
		flags["workload."+w+".files.blockSizeBytes"] = "db-block-size"
		flags["workload."+w+".files.largeReadBytes"] = "large-read"
		flags["workload."+w+".files.directory"] = "dir"
	}
	return flags
}
