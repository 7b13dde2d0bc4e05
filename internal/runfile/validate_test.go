package runfile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
)

func TestPlansThatCanRunAreValid(t *testing.T) {
	t.Parallel()
	plans := map[string]Plan{"DirectNFS": directPlan(), "Kernel": kernelPlan()}
	for where, mod := range map[string]func(*Plan){"Native": native, "Container": inContainer, "External": inExternal} {
		for client, with := range map[string]func(*Plan){"DirectNFS": func(*Plan) {}, "Kernel": kernel} {
			plans["Calibrate"+where+client] = oraclePlan(bench.Workload{Calibrate: calibrate()}, mod, with)
			plans["SLOB"+where+client] = oraclePlan(bench.Workload{SLOB: slob()}, mod, with)
		}
	}
	capacity := directPlan()
	seeks(&capacity)
	plans["Capacity"] = capacity
	for name, p := range plans {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// capacityWithin asks for the capacity within bounds, of which there is at least one.
func capacityWithin(arrivals bench.Arrivals, bounds ...LatencyBound) *bench.Capacity {
	c := &bench.Capacity{Arrivals: arrivals, Percentile: bounds[0].Percentile, Microseconds: &bounds[0].Microseconds}
	for _, b := range bounds[1:] {
		c.AlsoAt = append(c.AlsoAt, bench.LatencyBound{Percentile: b.Percentile, Microseconds: &b.Microseconds})
	}
	return c
}

// seeks makes a plan search for the capacity at two bounds.
func seeks(p *Plan) {
	p.Workload.Raw.OperationsPerSecond = nil
	p.Workload.Raw.Capacity = capacityWithin(bench.ArrivalsPoisson, LatencyBound{"p99", 1000}, LatencyBound{"p999", 1000})
}

func fiveBounds() *bench.Capacity {
	return capacityWithin("", LatencyBound{"p50", 1}, LatencyBound{"p50", 2}, LatencyBound{"p50", 3}, LatencyBound{"p50", 4}, LatencyBound{"p50", 5})
}

func TestValidateNamesThePathAndTheFix(t *testing.T) {
	t.Parallel()
	refuses(t, directPlan, map[string]wrong{
		"Version":          {func(p *Plan) { p.Version = "v2" }, "version", PlanVersion},
		"Name":             {func(p *Plan) { p.Run.Name = "" }, "run.name", "name"},
		"Clients":          {func(p *Plan) { p.Clients = 0 }, "clients", "from 1"},
		"Client":           {func(p *Plan) { p.Engine.Client = "dnfs" }, "engine.client", "Kernel, DirectNFS"},
		"NFSVersion":       {func(p *Plan) { p.Engine.NFSVersion = "3" }, "engine.nfsVersion", "NFSv3, NFSv4.0"},
		"PNFSWithKerberos": {func(p *Plan) { p.Engine.NFSVersion, p.Engine.Security = "pNFS", "krb5" }, "engine.security", "needs sys"},
		"TwoLocals": {
			func(p *Plan) {
				p.Engine.Channels = []bench.ResolvedPath{{Local: "10.0.1.5", LocalInterface: "net1", Path: "10.0.1.61"}}
			},
			"engine.channels[0].localInterface", "remove one",
		},
		"NoChannels":       {func(p *Plan) { p.Engine.Channels = nil }, "engine.channels", "needs the address"},
		"MountOfDirectNFS": {func(p *Plan) { p.Engine.MountPath = "/mnt" }, "engine.mountPath", "remove it"},
		"KernelNoMount":    {func(p *Plan) { p.Engine = Engine{Client: bench.ClientKernel} }, "engine.mountPath", "absolute path"},
		"TransferSize":     {func(p *Plan) { p.Engine.TransferSizeBytes = 1500 }, "engine.transferSizeBytes", "multiple of 1024"},
		"SessionsV3":       {func(p *Plan) { p.Engine.Sessions = 2 }, "engine.sessions", "over NFSv4.1"},
		"SessionsV40":      {func(p *Plan) { p.Engine.NFSVersion, p.Engine.Sessions = "NFSv4.0", 2 }, "engine.sessions", "over NFSv4.1"},
		"ManySessions":     {func(p *Plan) { p.Engine.NFSVersion, p.Engine.Sessions = "NFSv4.1", 65 }, "engine.sessions", "from 1 to 64"},
		"Port":             {func(p *Plan) { p.Engine.Ports.NFS = 70000 }, "engine.ports.nfs", "65535"},
		"NoWorkload":       {func(p *Plan) { p.Workload.Raw = nil }, "workload", "exactly one"},
		"Pattern":          {func(p *Plan) { p.Workload.Raw.Pattern = "read" }, "workload.raw.pattern", "Overwrite"},
		"BlockZero":        {func(p *Plan) { p.Workload.Raw.BlockSize = bench.Bytes(0) }, "workload.raw.blockSize", "from 512"},
		"BlockOdd": {func(p *Plan) {
			p.Workload.Raw.BlockSize, p.Workload.Raw.FileSize = bench.Bytes(1536), *bench.Bytes(1536 << 20)
		}, "workload.raw.blockSize", "power of two"},
		"FileTooSmall":     {func(p *Plan) { p.Workload.Raw.FileSize = *bench.Bytes(4096) }, "workload.raw.fileSize", "multiple of"},
		"FileNotWhole":     {func(p *Plan) { p.Workload.Raw.FileSize = *bench.Bytes(4<<30 + 4096) }, "workload.raw.fileSize", "(1048576)"},
		"Jobs":             {func(p *Plan) { p.Workload.Raw.Jobs = -1 }, "workload.raw.jobs", "from 1"},
		"Depth":            {func(p *Plan) { p.Workload.Raw.Depth = 1025 }, "workload.raw.depth", "to 1024"},
		"Buffers":          {func(p *Plan) { p.Workload.Raw.Depth, p.Workload.Raw.Jobs = 1024, 256 }, "workload.raw.depth", "buffers of"},
		"Rate":             {func(p *Plan) { p.Workload.Raw.OperationsPerSecond = new(int64(-1)) }, "workload.raw.operationsPerSecond", "from 1"},
		"ReadPercent":      {func(p *Plan) { p.Workload.Raw.Pattern = bench.PatternRandomMixed }, "workload.raw.readPercent", "give it with them"},
		"ReadPercentOf":    {func(p *Plan) { p.Workload.Raw.ReadPercent = new(int32(70)) }, "workload.raw.readPercent", "RandomMixed"},
		"CapacityRate":     {func(p *Plan) { seeks(p); p.Workload.Raw.OperationsPerSecond = new(int64(5)) }, "workload.raw.operationsPerSecond", "chooses the rates"},
		"CapacityCopy":     {func(p *Plan) { seeks(p); p.Workload.Raw.Pattern = bench.PatternCopy }, "workload.raw.pattern", "use Mixed"},
		"CapacityClients":  {func(p *Plan) { seeks(p); p.Clients = 101 }, "clients", "use fewer clients"},
		"NoBound":          {func(p *Plan) { seeks(p); p.Workload.Raw.Capacity.Microseconds = nil }, "workload.raw.capacity", "without one latency"},
		"ManyBounds":       {func(p *Plan) { p.Workload.Raw.OperationsPerSecond, p.Workload.Raw.Capacity = nil, fiveBounds() }, "workload.raw.capacity.alsoAt", "0 to 3"},
		"BoundTwice":       {func(p *Plan) { seeks(p); p.Workload.Raw.Capacity.AlsoAt[0].Percentile = "p99" }, "workload.raw.capacity", "p99 of 1 ms twice"},
		"BoundLong":        {func(p *Plan) { seeks(p); p.Workload.Raw.Capacity.Microseconds = new(int64(1e9)) }, "workload.raw.capacity.microseconds", "to 10000000"},
		"Percentile":       {func(p *Plan) { seeks(p); p.Workload.Raw.Capacity.Percentile = "p42" }, "workload.raw.capacity.percentile", "p999"},
		"Arrivals":         {func(p *Plan) { seeks(p); p.Workload.Raw.Capacity.Arrivals = "x" }, "workload.raw.capacity.arrivals", "Poisson"},
		"MinCapacity":      {func(p *Plan) { p.Expect.MinCapacity = new(int64(5)) }, "expect.minCapacity", "give capacity"},
		"DirectoryOutside": {func(p *Plan) { p.Workload.Raw.Directory = "../x" }, "workload.raw.directory", "name of one directory"},
		"DirectoryRoot":    {func(p *Plan) { p.Workload.Raw.Directory = "." }, "workload.raw.directory", "name of one directory"},
		"Duration":         {func(p *Plan) { p.Schedule.DurationSeconds = 0 }, "schedule.durationSeconds", "from 1"},
		"Repetitions":      {func(p *Plan) { p.Schedule.Repetitions = 0 }, "schedule.repetitions", "from 1"},
		"Timeout":          {func(p *Plan) { p.Schedule.TimeoutSeconds = 60 }, "schedule.timeoutSeconds", "takes 235 s"},
		"Interval":         {func(p *Plan) { p.Collect.IntervalMilliseconds = 1 }, "collect.intervalMilliseconds", "from 100"},
		"SourceKind":       {func(p *Plan) { p.Collect.Sources[0].Kind = "snmp" }, "collect.sources[0].kind", "embedded"},
		"SourceURL":        {func(p *Plan) { p.Collect.Sources[0].URL = "file:///etc" }, "collect.sources[0].url", "http"},
		"SourcePassword":   {func(p *Plan) { p.Collect.Sources[0].URL = "https://a:b@c" }, "collect.sources[0].url", "credentials"},
		"SourceInterval":   {func(p *Plan) { p.Collect.Sources[0].IntervalMilliseconds = 1 }, "collect.sources[0].intervalMilliseconds", "from 100"},
		"SourceSecret":     {func(p *Plan) { p.Collect.Sources[0].Credentials = "../etc" }, "collect.sources[0].credentials", "one folder"},
		"SourceCA":         {func(p *Plan) { p.Collect.Sources[0].CABundle = "ca.crt" }, "collect.sources[0].caBundle", "PEM"},
		"NoExporter":       {func(p *Plan) { p.Collect.Sources[0].Kind = SourceExporter }, "collect.sources[0].nodes", "name the servers"},
		"ExporterURL": {func(p *Plan) {
			p.Collect.Sources[0] = Source{Kind: SourceExporter, Name: "x", Nodes: []SourceNode{{Name: "a", URL: "nfs1"}}}
		}, "collect.sources[0].nodes[0].url", "http"},
		"Link":      {func(p *Plan) { p.Link.BitsPerSecond = *bench.Bits(10) }, "link.bitsPerSecond", "from 1000000"},
		"MTU":       {func(p *Plan) { p.Link.MTU = 100 }, "link.mtu", "from 576"},
		"Percent":   {func(p *Plan) { p.Expect.MinWirePercent = new(int32(101)) }, "expect.minWirePercent", "to 100"},
		"Variation": {func(p *Plan) { p.Expect.MaxVariationPercent = new(int32(101)) }, "expect.maxVariationPercent", "to 100"},
	})
}

func TestValidateFindsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	var ps Problems
	if !errors.As(new(Plan).Validate(), &ps) || len(ps) < 6 {
		t.Fatalf("problems = %v", ps)
	}
	if lines := strings.Count(ps.Error(), "\n") + 1; lines != len(ps) {
		t.Errorf("%d lines for %d problems", lines, len(ps))
	}
}

func TestTheWarmupOfALevelIsShort(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ warmup, window, want int32 }{{5, 8, 2}, {1, 8, 1}, {0, 8, 0}, {5, 1, 1}, {5, 30, 5}} {
		if got := (Schedule{WarmupSeconds: tc.warmup, DurationSeconds: tc.window}).LevelWarmupSeconds(); got != tc.want {
			t.Errorf("%d s before a window of %d s became %d, want %d", tc.warmup, tc.window, got, tc.want)
		}
	}
}

func TestASearchOfOthersIsReadWithinBounds(t *testing.T) {
	t.Parallel()
	const first, done = `{"index":1,"round":1,"operationsPerSecond":64,"seconds":5}`, `{"index":1,"round":1,"operationsPerSecond":64,"seconds":5,"outcome":{}}`
	for text, says := range map[string]string{
		`{"levels":[` + first + `]}`:             "",
		`{"levels":[` + done + `],"ended":true}`: "",
		`{"levels":[` + first + `,{"index":2,"round":2,"operationsPerSecond":64,"seconds":5}]}`:               "",
		`{"levels":[` + first + `,{"index":2,"round":1,"operationsPerSecond":64,"seconds":5}]}`:               "level 1 has no outcome",
		`{"levels":[` + done + `,` + first + `]}`:                                                             "level 1 of load is in place 2",
		`{"levels":[` + first + `],"ended":true}`:                                                             "the search has ended",
		`{"levels":[{"index":1,"operationsPerSecond":0,"seconds":5}]}`:                                        "0 operations per second",
		`{"levels":[{"index":1,"operationsPerSecond":3000000000,"seconds":5}]}`:                               "3000000000 operations",
		`{"levels":[{"index":1,"operationsPerSecond":64,"seconds":0}]}`:                                       "lasts 0 s",
		`{"levels":[{"index":1,"operationsPerSecond":64,"seconds":9999999}]}`:                                 "lasts 9999999 s",
		`{"levels":[{"index":1,"operationsPerSecond":64,"seconds":5,"outcome":{"bounds":[{},{},{},{},{}]}}]}`: "5 bounds",
		`{"levels":[` + strings.Repeat(`{},`, maxSearchElements) + first + `]}`:                               "elements",
		`{"levels":[]}`: "0 levels", `{`: "read the levels", strings.Repeat(" ", MaxSearchBytes) + `{}`: "more than",
	} {
		_, err := ReadCapacitySearch([]byte(text))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s: error %v, want %q", text, err, says)
		}
	}
}

func TestTheReportsOfManySearchesHaveFewerParts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		clients, repetitions int32
		bounds, want         int
	}{{1, 1, 1, 32}, {1, 20, 1, 32}, {1, 20, 4, 32}, {100, 1, 1, 13}, {5, 20, 1, 13}, {100, 1, 4, 8}} {
		p := directPlan()
		p.Clients, p.Schedule.Repetitions = tc.clients, tc.repetitions
		p.Workload.Raw.Capacity = capacityWithin("", make([]LatencyBound, tc.bounds)...)
		if got := p.ReportParts(); got != tc.want {
			t.Errorf("%+v: got %d parts", tc, got)
		}
	}
	of := func(n int64, times int) []int64 { return slices.Repeat([]int64{n}, times) }
	long := LevelReport{Due: of(3, 10), Done: of(2, 10), Slow: [][]int64{of(1, 10)}}
	want := LevelReport{Seconds: 10, Due: []int64{9, 6, 9, 6}, Done: []int64{6, 4, 6, 4}, Slow: [][]int64{{3, 2, 3, 2}}}
	if diff := cmp.Diff(want, long.InParts(4)); diff != "" {
		t.Errorf("10 s (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(LevelReport{Seconds: 10, Due: of(15, 2), Done: of(10, 2), Slow: [][]int64{of(5, 2)}}, want.InParts(2)); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	for seconds := 9; seconds <= 100; seconds++ {
		if got := (LevelReport{Due: of(1, seconds)}).InParts(8); len(got.Due) != 8 {
			t.Errorf("%d s: %d parts", seconds, len(got.Due))
		}
	}
	if got := (LevelReport{Due: of(1, 32)}).InParts(32); len(got.Due) != 32 || got.Seconds != 0 {
		t.Errorf("32 s became %+v", got)
	}
}
