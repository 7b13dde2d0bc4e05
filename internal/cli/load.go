package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The loads that --workload names.
const (
	WorkloadRaw       = "raw"
	WorkloadCalibrate = "calibrate"
	WorkloadSLOBRead  = "slob-read"
	WorkloadSLOBScan  = "slob-scan"
)

func workloads() []string {
	return []string{WorkloadRaw, WorkloadCalibrate, WorkloadSLOBRead, WorkloadSLOBScan}
}

// Load holds the flags of a load, which nfsbench load and kubectl nfsbench run share. Each flag sets a field of the
// spec of an NFSBenchmark.
type Load struct {
	workload Field
	fields   []*Field
	fs       *pflag.FlagSet
}

// Field is a flag with the fields of a spec that it sets, one for each workload that has such a field:
// raw.jobs is workload.raw.jobs, and slob-scan.readAhead is workload.slob.readAhead of scans only.
type Field struct {
	Kind

	name, help string
	value      string // as typed; initially the default of the API, or empty
	fields     []string
	set        any // the value as the spec has it
}

// Kind parses the text of a flag into the value of a field.
type Kind struct {
	name   string // in the help
	parse  func(string) (any, error)
	list   bool     // a repeated flag adds to the list
	values []string // for completion
	unit   time.Duration
}

// Set implements pflag.Value.
func (f *Field) Set(s string) error {
	if f.list && f.set != nil {
		s = f.value + "," + s
	}
	v, err := f.parse(s)
	if err == nil {
		f.value, f.set = s, v
	}
	return err
}

func (f *Field) String() string { return f.value }

// Type returns the name of the value in the help.
func (f *Field) Type() string { return f.Kind.name }

// loadFields returns the flags of all loads.
func loadFields() []*Field {
	row := func(name string, k Kind, help string, fields ...string) *Field {
		return &Field{Kind: k, name: name, help: help, fields: fields}
	}
	return []*Field{
		row("pattern", word(bench.Patterns(), map[string]bench.RawPattern{
			"randread": bench.PatternRandomRead, "randwrite": bench.PatternRandomWrite, "randmixed": bench.PatternRandomMixed,
		}), Listed(bench.Patterns())+", in any case; also randread, randwrite and randmixed",
			"raw.pattern"),
		row("read-percent", whole(), "share of reads of the patterns Mixed and RandomMixed, 1 to 99", "raw.readPercent"),
		row("block-size", size(), "bytes of each I/O, a power of two (default 1Mi; 8Ki if random)", "raw.blockSize"),
		row("file-size", size(), "bytes of each file; raw has one for each job",
			"raw.fileSize", "calibrate.nativeFiles.size"),
		row("jobs", whole(), "independent streams, each with a file of its own", "raw.jobs"),
		row("depth", whole(), "outstanding I/Os of each job", "raw.depth"),
		row("ops-per-second", whole(), "rate of I/Os of all jobs together; latency then counts from when an I/O was due "+
			"(default: as fast as it goes)", "raw.operationsPerSecond"),
		row("capacity", capacity(), "search the highest rate of I/Os within bounds of latency, such as "+
			"p99=1ms,p999=5ms; percentiles: "+Listed(bench.Percentiles()), "raw.capacity", "slob.capacity"),
		row("arrivals", word([]bench.Arrivals{bench.ArrivalsPoisson, bench.ArrivalsFixed}, nil),
			"with --capacity, when I/Os are due: Poisson, at random, or Fixed",
			"raw.capacity.arrivals", "slob.capacity.arrivals"),
		row("disks", whole(),
			"about how many disks are behind the storage; too few limit the result", "calibrate.physicalDisks"),
		row("max-latency", span(time.Millisecond, "milliseconds, such as 20ms"),
			"tolerable mean latency of a single-block read, at least 10ms", "calibrate.maxLatencyMilliseconds"),
		row("warmup-runs", whole(), "runs before those that count, for caches may be cold",
			"calibrate.warmupRuns"),
		row("files", whole(), "files of --file-size each", "calibrate.nativeFiles.count"),
		row("users", numbers(), "users at work at once; several numbers make a ramp, such as 1,2,4,8,16 (default: one "+
			"for each schema)", "slob.users"),
		row("schemas", whole(), "schemas that users are spread over, each with a file of its own", "slob.schemas"),
		row("scale", size(), "size of each schema", "slob-read.scale"),
		row("scan-size", size(), "size of the table of each schema",
			"slob-scan.scanTableSize"),
		row("work-unit", whole(), "blocks of one statement",
			"slob-read.workUnit"),
		row("update-percent", whole(), "share of blocks that are read and overwritten; 0 to 50, or 100",
			"slob-read.updatePercent"),
		row("read-ahead", whole(), "large reads that a user keeps outstanding",
			"slob-scan.readAhead"),
		row("dir", text(), "directory below the export for our files; made when missing",
			"raw.directory", "calibrate.nativeFiles.directory", "slob.nativeFiles.directory"),
		row("overwrite-existing", choice(string(bench.ForeignFilesOverwrite)),
			"use a directory that has files which nfsbench did not make",
			"raw.foreignFiles", "calibrate.nativeFiles.foreignFiles", "slob.nativeFiles.foreignFiles"),
		row("verify", word(bench.VerifyModes(), nil),
			"what to read back after the load, no longer than one window lasts: the blocks that it wrote, a Sample of each "+
				"file, or All; every read of the load is checked in any case",
			"raw.verify", "calibrate.nativeFiles.verify", "slob.nativeFiles.verify"),
		row("keep-files", choice("Retain"), "leave the files for the next run, which then need not fill them",
			"cleanup.onSuccess"),
		row("seed", whole(),
			"the same seed gives the same data and offsets (default: of the run; 1 without a cluster)", "raw.seed"),
		row("duration", inSeconds(), "measured window", "run.durationSeconds"),
		row("warmup", inSeconds(), "load before the window, not counted",
			"run.warmupSeconds"),
		row("baseline", inSeconds(), "idle time before that, to see what others do",
			"run.baselineSeconds"),
		row("cooldown", inSeconds(), "idle time between repetitions",
			"run.cooldownSeconds"),
		row("repetitions", whole(), "how often to measure", "run.repetitions"),
		row("timeout", inSeconds(), "longest time for everything", "run.timeoutSeconds"),
		row("nfs-version", word(bench.NFSVersions(), map[string]bench.NFSVersion{
			"3": bench.NFSv3, "4": bench.NFSv40, "4.0": bench.NFSv40, "nfsv4": bench.NFSv40, "4.1": bench.NFSv41,
			"4.2": bench.NFSv42,
		}), "version of NFS, also as 3, 4.0, 4.1 or 4.2: "+Listed(bench.NFSVersions())+" (default NFSv3)",
			"protocol.version"),
		row("transfer-size", size(), "largest single READ or WRITE (default: what the server offers)",
			"protocol.transferSize"),
		row("mount-timeout", inSeconds(), "longest time for reaching the export (default 30s)",
			"protocol.mountTimeoutSeconds"),
		row("call-timeout", inSeconds(), "longest time for one I/O, failover included, before the run fails (default 10m)",
			"protocol.callTimeoutSeconds"),
		row("sessions", whole(), "sessions of NFSv4.1 that each job may open where one has too few slots (default 1)",
			"protocol.sessions"),
		row("uid", whole(), "user that the server sees", "protocol.userID"),
		row("gid", whole(), "group that the server sees", "protocol.groupID"),
		row("link", link(), "network link of each path, RATE[:MTU], such as 1G or 25G:9000 (default: as the interface "+
			"says)", "protocol.link"),
		row("expect", thresholds(), "thresholds of spec.expect that decide the verdict, such as "+
			"minWirePercent=90,maxP99LatencyMicroseconds=2000", "expect"),
	}
}

// Register adds the flags, with the defaults of the API.
func (l *Load) Register(cmd *cobra.Command) {
	l.fs, l.fields = cmd.Flags(), loadFields()
	l.fs.SortFlags = false
	l.workload = Field{Kind: word(workloads(), nil), name: "workload", value: WorkloadRaw, help: "raw, calibrate, " +
		"slob-read or slob-scan; the last three are the I/O of a database, without one"}
	for _, f := range append([]*Field{&l.workload}, l.fields...) {
		f.value = cmp.Or(f.value, f.standard())
		help := f.help
		if of := f.workloads(); len(of) > 0 && len(of) < len(workloads()) {
			help = strings.Join(of, ", ") + ": " + help
		}
		flag := l.fs.VarPF(f, f.name, "", help)
		if f.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
		if len(f.values) > 0 {
			CompleteValues(cmd, f.name, f.values...)
		}
	}
}

// Fill sets the fields of a spec from the flags that were set, and the default pattern. It rejects a flag without
// effect.
func (l *Load) Fill(spec map[string]any) error {
	kind := l.kind(spec)
	for _, f := range l.fields {
		path, given := f.path(kind), l.fs.Changed(f.name)
		switch {
		case path == nil && given:
			return fmt.Errorf("--%s is of --workload %s and does nothing with %s; leave it out", f.name,
				strings.Join(f.workloads(), " and "), kind)
		case path == nil:
		case given && f.name == "arrivals" && member(spec, path[:len(path)-1]) == nil:
			return errors.New("--arrivals has no effect without --capacity; leave it out, or give --capacity")
		case given:
			put(spec, path, f.set)
		case f.name == "pattern" && member(spec, path) == nil:
			put(spec, path, f.value)
		}
	}
	return nil
}

// kind returns the workload of --workload, or else of the spec, or else raw. It replaces the workload of the spec if
// --workload is set, and adds a missing one.
func (l *Load) kind(spec map[string]any) string {
	access := map[string]string{
		WorkloadSLOBRead: string(bench.SLOBRandomRead), WorkloadSLOBScan: string(bench.SLOBFullTableScan),
	}
	there, _ := spec["workload"].(map[string]any)
	for name := range there {
		slob, _ := there["slob"].(map[string]any)
		switch {
		case l.fs.Changed("workload"):
		case slob == nil:
			return name
		case slob["access"] == access[WorkloadSLOBScan]:
			return WorkloadSLOBScan
		default:
			return WorkloadSLOBRead
		}
	}
	kind, of := l.workload.value, map[string]any{}
	if parsed, is := l.workload.set.(string); is {
		kind = parsed
	}
	if access[kind] != "" {
		of["access"] = access[kind]
	}
	name, _, _ := strings.Cut(kind, "-")
	spec["workload"] = map[string]any{name: of}
	return kind
}

// Given returns the flags that register adds and the user set, as typed.
func Given(fs *pflag.FlagSet, register func(*cobra.Command)) []string {
	described, given := &cobra.Command{}, []string(nil)
	register(described)
	fs.Visit(func(f *pflag.Flag) {
		if described.Flags().Lookup(f.Name) != nil {
			given = append(given, "--"+f.Name)
		}
	})
	return given
}

// Explain replaces the fields of a plan in an error by the flags that set them. A plan has the field names of the
// spec, with the suffix Bytes for sizes.
func (l *Load) Explain(spec map[string]any, err error) error {
	var problems runfile.Problems
	if !errors.As(err, &problems) {
		return err
	}
	plain := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "Bytes"), "Size") }
	kind, lines := l.kind(spec), make([]string, len(problems))
	for i, p := range problems {
		field, _, _ := strings.Cut(p.Path, "[")
		parts := strings.Split(field, ".")
		lines[i] = p.Path + " " + p.Fix
		switch field { // of the plan, which the spec names otherwise
		case "engine.nfsVersion":
			lines[i] = "--nfs-version " + p.Fix
		case "engine.export":
			lines[i] = "--export " + p.Fix
		}
		for _, f := range l.fields {
			path := f.path(kind)
			named := func(part string) bool { return path != nil && plain(part) == plain(path[len(path)-1]) }
			if slices.ContainsFunc(parts, named) {
				lines[i] = "--" + f.name + " " + p.Fix
			}
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// workloads lists the workloads that have a field for the flag. The list is empty where every spec has the field.
func (f *Field) workloads() []string {
	return slices.DeleteFunc(workloads(), func(kind string) bool {
		path := f.path(kind)
		return path == nil || path[0] != "workload"
	})
}

// standard returns the default in the words of the flag; empty if there is none.
func (f *Field) standard() string {
	if f.name == "pattern" { // the API has no default for it
		return string(bench.PatternRead)
	}
	for _, kind := range workloads() {
		path := f.path(kind)
		if path == nil || f.Type() == "bool" {
			continue
		}
		v := runfile.Default(path...)
		if n, is := v.(float64); is && f.unit != 0 {
			v = time.Duration(n) * f.unit
		}
		if v != nil {
			return fmt.Sprint(v)
		}
	}
	return ""
}

// path returns the path of the field in a spec with this workload; nil if the workload has no such field.
func (f *Field) path(kind string) []string {
	for _, field := range f.fields {
		head, rest, _ := strings.Cut(field, ".")
		name, _, _ := strings.Cut(head, "-")
		switch {
		case name != "raw" && name != "calibrate" && name != "slob":
			return strings.Split(field, ".")
		case kind == head || strings.HasPrefix(kind, head+"-"):
			return append([]string{"workload", name}, strings.Split(rest, ".")...)
		}
	}
	return nil
}

func member(spec map[string]any, path []string) any {
	var at any = spec
	for _, name := range path {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	return at
}

func put(spec map[string]any, path []string, v any) {
	for _, name := range path[:len(path)-1] {
		next, is := spec[name].(map[string]any)
		if !is {
			next = map[string]any{}
			spec[name] = next
		}
		spec = next
	}
	spec[path[len(path)-1]] = v
}

// The kinds of values.

func text() Kind { return Kind{name: "string", parse: func(s string) (any, error) { return s, nil }} }

// choice returns the Kind of flags that are a switch, which sets a field to the word is.
func choice(is string) Kind {
	return Kind{name: "bool", parse: func(s string) (any, error) {
		if on, err := strconv.ParseBool(s); !on {
			return nil, err
		}
		return is, nil
	}}
}

func word[T ~string](values []T, also map[string]T) Kind {
	return Kind{name: "string", values: words(values), parse: func(s string) (any, error) {
		v, err := oneOf(T(s), values, also)
		return string(v), err
	}}
}

func whole() Kind {
	return Kind{name: "number", parse: func(s string) (any, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return nil, errors.New("use a whole number, such as 4")
		}
		return n, nil
	}}
}

func numbers() Kind {
	return Kind{name: "numbers", list: true, parse: func(s string) (any, error) {
		var all []any
		for part := range strings.SplitSeq(s, ",") {
			n, err := whole().parse(part)
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		}
		return all, nil
	}}
}

// size returns the Kind of flags with a quantity, as the API writes it.
func size() Kind {
	return Kind{name: "size", parse: func(s string) (any, error) { return s, new(Size).Set(s) }}
}

// Size is a flag that holds bytes, written as a quantity of Kubernetes.
type Size int64

// Set parses s. It does not change b if s is wrong.
func (b *Size) Set(s string) error {
	q, err := resource.ParseQuantity(s)
	if err != nil || !strings.ContainsAny(s[:1], "0123456789") || q.Value() == math.MaxInt64 ||
		q.Cmp(*resource.NewQuantity(q.Value(), resource.BinarySI)) != 0 {
		return errors.New("it is no size: write whole bytes, such as 8Ki, 1Mi or 8Gi (powers of 1024), or 8k, 1M or 8G (of " +
			"1000)")
	}
	*b = Size(q.Value())
	return nil
}

// String writes the size with the largest power of 1024 that divides it.
func (b *Size) String() string { return resource.NewQuantity(int64(*b), resource.BinarySI).String() }

// Type returns the name of the value in the help.
func (b *Size) Type() string { return "size" }

func inSeconds() Kind { return span(time.Second, "seconds, such as 30s or 2m") }

func span(unit time.Duration, such string) Kind {
	return Kind{name: "duration", unit: unit, parse: func(s string) (any, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d%unit != 0 || d/unit > math.MaxInt32 {
			return nil, errors.New("use whole " + such)
		}
		return int64(d / unit), nil
	}}
}

// link returns the Kind of flags with RATE[:MTU]. A rate is a quantity as in the API, or has a unit, such as 10Gbit or
// 10Gbit/s.
func link() Kind {
	return Kind{name: "link", parse: func(s string) (any, error) {
		rate, mtu, hasMTU := strings.Cut(s, ":")
		rate = strings.TrimSuffix(strings.TrimSuffix(rate, "/s"), "bit")
		q, err := resource.ParseQuantity(rate)
		out := map[string]any{"bitsPerSecond": rate}
		if hasMTU && err == nil {
			out["mtu"], err = strconv.ParseInt(mtu, 10, 32)
		}
		if err != nil || q.Sign() <= 0 || q.Value() > 1e15 {
			return nil, errors.New("use RATE[:MTU], such as 1Gbit or 25Gbit:9000")
		}
		return out, nil
	}}
}

// capacity returns the Kind of flags with PERCENTILE=LATENCY[,...]. The lowest latency comes first, as in the API.
func capacity() Kind {
	return Kind{name: "bounds", list: true, parse: func(s string) (any, error) {
		type bound = map[string]any
		var bounds []bound
		for part := range strings.SplitSeq(s, ",") {
			name, latency, _ := strings.Cut(part, "=")
			d, err := time.ParseDuration(latency)
			if err != nil || d <= 0 || d%time.Microsecond != 0 {
				return nil, errors.New("use PERCENTILE=LATENCY, such as p99=1ms or p999=500us")
			}
			p, err := oneOf(bench.LatencyPercentile(name), bench.Percentiles(),
				map[string]bench.LatencyPercentile{"p99.9": "p999"})
			if err != nil {
				return nil, err
			}
			bounds = append(bounds, bound{"percentile": string(p), "microseconds": d.Microseconds()})
		}
		if len(bounds) > 4 {
			return nil, fmt.Errorf("it has %d bounds; give 1 to 4", len(bounds))
		}
		latency := func(b bound) int64 { v, _ := b["microseconds"].(int64); return v }
		slices.SortStableFunc(bounds, func(a, b bound) int { return cmp.Compare(latency(a), latency(b)) })
		var further []any
		for _, b := range bounds[1:] {
			further = append(further, b)
		}
		if further != nil {
			bounds[0]["alsoAt"] = further
		}
		return bounds[0], nil
	}}
}

func thresholds() Kind {
	return Kind{name: "thresholds", list: true, parse: func(s string) (any, error) {
		out := map[string]any{}
		for part := range strings.SplitSeq(s, ",") {
			name, limit, _ := strings.Cut(part, "=")
			n, err := whole().parse(limit)
			if err != nil {
				return nil, errors.New("use FIELD=NUMBER with the fields of spec.expect, such as minWirePercent=90")
			}
			out[name] = n
		}
		return out, nil
	}}
}
