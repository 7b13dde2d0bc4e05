package runfile

import (
	"fmt"
	"math/bits"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
)

// Problem is one error in a plan.
type Problem struct {
	Path string // of the field in the JSON file, such as workload.raw.depth
	Fix  string // what is wrong, and what to write instead
}

// Problems lists all errors in a plan, in the order of its fields. Plan.Validate returns it as its error.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps {
		lines = append(lines, p.Path+": "+p.Fix)
	}
	return strings.Join(lines, "\n")
}

// Validate sets absent fields to their defaults, and checks the plan without access to storage. It finds all
// problems at once and returns them as Problems, or nil.
func (p *Plan) Validate() error {
	c := &checker{}
	c.check(p.Version == PlanVersion, "version", "is %q; write %q", p.Version, PlanVersion)
	c.check(p.Run.Name != "", "run.name", "is empty; give the run a name")
	c.between("clients", int64(p.Clients), 1, 1024)
	c.within("engine", &p.Engine)
	c.engine(p.Engine, p.Database)
	c.within("workload", &p.Workload)
	c.workload(*p)
	c.schedule(p)
	c.within("collect", &p.Collect)
	c.collect(p.Collect)
	c.within("expect", &p.Expect)
	c.check(p.Expect == nil || p.Expect.MinCapacity == nil || p.Workload.Capacity() != nil, "expect.minCapacity",
		"is set, but the workload has no capacity to compare with; remove it, or give capacity")
	c.within("link", &p.Link)
	if l := p.Link; l != nil {
		c.between("link.bitsPerSecond", l.BitsPerSecond.Value(), 1e6, 1e13)
	}
	if p.Database != nil {
		c.within("database", p.Database)
		c.database(*p.Database, *p)
	}
	return c.err()
}

// err returns the problems as an error; nil without problems.
func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

// checker collects problems.
type checker struct{ problems Problems }

func (c *checker) check(ok bool, path, format string, args ...any) {
	if !ok {
		c.problems = append(c.problems, Problem{Path: path, Fix: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) between(path string, v, lowest, highest int64) {
	c.check(v >= lowest && v <= highest, path, "is %d; write a number from %d to %d", v, lowest, highest)
}

func oneOf[T ~string](c *checker, path string, v T, allowed ...T) {
	if slices.Contains(allowed, v) {
		return
	}
	var words []string
	for _, a := range allowed {
		if a != "" {
			words = append(words, string(a))
		}
	}
	c.check(false, path, "is %q; write one of %s", v, strings.Join(words, ", "))
}

// Limits of a plan. They are far outside the useful range, so that they reject a typing error but no real
// experiment.
const (
	maxBlockBytes     = 64 << 20
	maxInFlightBytes  = 16 << 30 // jobs x depth x block: the loader's buffers
	minIntervalMillis = 100
	maxIntervalMillis = 60_000
)

func (c *checker) engine(e Engine, db *Database) {
	c.check(e.Client != bench.ClientDirectNFS || e.NFSVersion != bench.NFSv42, "engine.nfsVersion",
		"is %q; DirectNFS speaks NFSv3, NFSv4.0, NFSv4.1 and pNFS, and the client Kernel also NFSv4.2", e.NFSVersion)
	c.check(e.Client != bench.ClientDirectNFS || e.Transport != bench.TransportRDMA, "engine.transport",
		"is %q; DirectNFS uses TCP, and the client Kernel also RDMA", e.Transport)
	c.check(e.NFSVersion != bench.PNFS || e.Security == "" || e.Security == bench.SecuritySys, "engine.security",
		"is %q; pNFS needs sys", e.Security)
	c.engineFiles(e, db)
	hasSessions := e.NFSVersion == bench.NFSv41 || e.NFSVersion == bench.PNFS
	c.check(e.Sessions <= 1 || e.Client == bench.ClientDirectNFS && hasSessions && db == nil, "engine.sessions",
		"is %d; only DirectNFS without a database has them, over NFSv4.1 and pNFS: remove it", e.Sessions)
	c.check(e.TransferSizeBytes%1024 == 0, "engine.transferSizeBytes",
		"is %d; write a multiple of 1024, or 0 for what the server offers", e.TransferSizeBytes)
}

// engineFiles checks how the files are reached: by the addresses of an oranfstab, by a mount, or by both,
// because Oracle's Direct NFS needs the kernel's mount, too. It does not check the mounts of an existing
// database.
func (c *checker) engineFiles(e Engine, db *Database) {
	external := db != nil && db.Kind == DatabaseExternal
	mounted := db != nil && !external || db == nil && e.Client == bench.ClientKernel
	switch {
	case mounted:
		c.check(path.IsAbs(e.MountPath), "engine.mountPath", "is %q; write the absolute path where the volume is mounted",
			e.MountPath)
	case external:
		c.check(e.MountPath == "", "engine.mountPath", "is set, but a database that exists has its own mounts; remove it")
	case e.Client == bench.ClientDirectNFS:
		c.check(e.MountPath == "", "engine.mountPath",
			"is set, but DirectNFS mounts nothing; remove it, or set engine.client to %s", bench.ClientKernel)
	}
	switch e.Client {
	case bench.ClientDirectNFS:
		c.check(db != nil || len(e.Channels) > 0, "engine.channels", // Oracle finds the mount without an oranfstab
			"is empty; DirectNFS needs the address of the server in the path of at least one")
		c.channels(e)
		for i, ch := range e.Channels {
			c.check(db == nil || ch.LocalInterface == "", fmt.Sprintf("engine.channels[%d].localInterface", i),
				"is set, but an oranfstab has addresses only; write the address into local")
		}
	case bench.ClientKernel:
		c.check(len(e.Channels) == 0, "engine.channels",
			"is set, but the kernel chooses its connections; remove it, or set engine.client to %s", bench.ClientDirectNFS)
	}
}

// channels checks the server and its addresses. It renders them to check that they can be written into an
// oranfstab.
func (c *checker) channels(e Engine) {
	if len(e.Channels) == 0 {
		return
	}
	c.check(e.Server != "", "engine.server", "is empty; write a label for the server")
	c.check(path.IsAbs(e.Export), "engine.export", "is %q; write the absolute path of the export", e.Export)
	for i, ch := range e.Channels {
		c.check(ch.Path != "", fmt.Sprintf("engine.channels[%d].path", i), "is empty; write the address of the server")
		c.check(ch.Local == "" || ch.LocalInterface == "", fmt.Sprintf("engine.channels[%d].localInterface", i),
			"is set beside local; remove one of them")
	}
	c.check(len(e.Channels) <= oranfstab.MaxPaths, "engine.channels", "has %d entries; write 1 to %d", len(e.Channels),
		oranfstab.MaxPaths)
	if len(c.problems) == 0 {
		_, err := e.Oranfstab()
		c.check(err == nil, "engine", "%v", err)
	}
}

func (c *checker) capacity(at string, s *bench.Capacity) {
	for _, b := range append(s.AlsoAt, bench.LatencyBound{Milliseconds: s.Milliseconds, Microseconds: s.Microseconds}) {
		c.check((b.Milliseconds == nil) != (b.Microseconds == nil), at,
			"has a bound without one latency; give milliseconds or microseconds")
	}
	bounds := Bounds(s)
	for i, b := range bounds {
		c.check(!slices.Contains(bounds[:i], b), at, "has the bound %s twice; remove one", b)
	}
}

func (c *checker) blockSize(at string, size int64) {
	c.between(at, size, 512, maxBlockBytes)
	c.check(size <= 0 || bits.OnesCount64(uint64(size)) == 1, at,
		"is %d; write a power of two of at least 512, or direct I/O cannot be aligned", size)
}

// files checks the files of the native engine.
func (c *checker) files(at string, size, block int64) {
	c.check(size > 0 && (block <= 0 || size%block == 0), at, "is %d; write a multiple of the size of an I/O (%d)",
		size, block)
}

func (c *checker) schedule(p *Plan) {
	c.within("schedule", &p.Schedule)
	s := p.Schedule
	if p.Workload.Capacity() != nil {
		c.check(s.DurationSeconds <= MaxLevelSeconds, "schedule.durationSeconds",
			"is %d; a level of a search for capacity lasts %d s at most", s.DurationSeconds, MaxLevelSeconds)
		c.check(s.Repetitions <= maxSearches, "schedule.repetitions",
			"is %d, each a whole search for capacity; write %d at most", s.Repetitions, maxSearches)
		c.check(int64(s.Repetitions)*int64(p.Clients) <= maxClientSearches || s.Repetitions > maxSearches, "clients",
			"is %d, each with %d searches for capacity, and the results of more than %d do not fit; use fewer clients or "+
				"schedule.repetitions", p.Clients, s.Repetitions, maxClientSearches)
	}
	c.check(s.TimeoutSeconds >= 0, "schedule.timeoutSeconds", "is %d; write 0 for none", s.TimeoutSeconds)
	// The timeout must cover the schedule, if its length is known in advance.
	if steps := p.ScheduledSteps(); s.TimeoutSeconds > 0 && steps.Exact {
		c.check(int64(s.TimeoutSeconds) >= steps.Seconds, "schedule.timeoutSeconds",
			"is %d, but the schedule alone takes %d s; write more, or 0 for none", s.TimeoutSeconds, steps.Seconds)
	}
}

func (c *checker) collect(col Collect) {
	if col.IntervalMilliseconds != 0 || len(col.Sources) > 0 {
		c.between("collect.intervalMilliseconds", int64(col.IntervalMilliseconds), minIntervalMillis, maxIntervalMillis)
	}
	names := map[string]bool{}
	for i, s := range col.Sources {
		at := fmt.Sprintf("collect.sources[%d]", i)
		c.check(s.Name != "" && !names[s.Name], at+".name", "is %q; give each source a name of its own", s.Name)
		names[s.Name] = true
		c.source(at, s)
	}
}

// source checks one source; at is its path in the file.
func (c *checker) source(at string, s Source) {
	if s.Kind == SourceExporter {
		c.check(len(s.Nodes) > 0, at+".nodes", "is empty; name the servers and their metrics addresses")
		for i, n := range s.Nodes {
			node := fmt.Sprintf("%s.nodes[%d]", at, i)
			c.check(n.Name != "", node+".name", "is empty; give each server a name")
			c.address(node+".url", n.URL)
		}
	} else {
		c.address(at+".url", s.URL)
	}
	c.check(!strings.ContainsAny(s.Credentials, `/\`+"\x00") && s.Credentials != "." && s.Credentials != "..",
		at+".credentials",
		"is %q; write the name of one folder below that of the secrets", s.Credentials)
	c.check(s.CABundle == "" || strings.Contains(s.CABundle, "-----BEGIN CERTIFICATE-----"), at+".caBundle",
		"holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
}

// address checks an HTTP address. It refuses a password, which would be in every copy of the plan, and does
// not repeat it.
func (c *checker) address(at, address string) {
	u, err := url.Parse(address)
	if err == nil && u.User != nil {
		c.check(false, at, "holds a user name or password; put them into the credentials")
		return
	}
	c.check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", at,
		"is %q; write an http or https URL with a host", address)
}

const (
	maxSurveySeconds  = 3600
	maxAggregateBytes = 255
)

// Validate checks the request without access to the array. It finds all problems at once and returns them as
// Problems, or nil.
func (q SurveyRequest) Validate() error {
	c := &checker{}
	c.check(q.Version == SurveyVersion, "version", "is %q; write %q", q.Version, SurveyVersion)
	c.check(q.Source.Name != "", "source.name", "is empty; give the source a name")
	oneOf(c, "source.kind", q.Source.Kind, SourceONTAP, SourceFlashBlade)
	if q.Source.Kind != "" {
		c.source("source", q.Source)
	}
	c.check(q.Export == "" || strings.HasPrefix(q.Export, "/"), "export",
		"is %q; write a path that begins with /", q.Export)
	c.check(q.Export != "" || q.Source.Volume != "", "export",
		"is empty, and so is source.volume; name one of them, or nothing tells which volume is meant")
	c.check(q.MoveTo == "" || q.Source.Kind == SourceONTAP, "moveTo",
		"is %q; only a volume of ONTAP can be moved", q.MoveTo)
	c.check(len(q.MoveTo) <= maxAggregateBytes, "moveTo", "has %d bytes; write the name of an aggregate", len(q.MoveTo))
	c.between("timeoutSeconds", int64(q.TimeoutSeconds), 0, maxSurveySeconds)
	return c.err()
}
