package runfile

import (
	"fmt"
	"math"
	"math/bits"
	"path"
	"strings"
)

// The bounds of a plan. They are far outside of what makes sense, so that a
// slipped digit is refused and no real experiment is.
const (
	maxJobs           = 1024
	maxDepth          = 1024
	maxBlockBytes     = 64 << 20
	maxInFlightBytes  = 16 << 30 // jobs x depth x block: the loader's buffers
	maxSpanSeconds    = 7 * 24 * 3600
	minIntervalMillis = 100
	maxIntervalMillis = 60_000
	maxChannels       = 64
)

func (c *checker) engine(e Engine, db *Database) {
	c.oneOf("engine.client", e.Client, ClientKernel, ClientDirectNFS)
	c.oneOf("engine.nfsVersion", e.NFSVersion, "", "NFSv3", "NFSv4.0", "NFSv4.1", "pNFS")
	c.oneOf("engine.security", e.Security, "", "sys", "krb5", "krb5i", "krb5p")
	c.check(e.NFSVersion != "pNFS" || e.Security == "" || e.Security == "sys", "engine.security",
		"is %q; pNFS needs sys", e.Security)
	c.engineFiles(e, db)
	if e.TransferSizeBytes != 0 {
		c.between("engine.transferSizeBytes", e.TransferSizeBytes, 1024, 16<<20)
		c.check(e.TransferSizeBytes%1024 == 0, "engine.transferSizeBytes",
			"is %d; write a multiple of 1024, or 0 for what the server offers", e.TransferSizeBytes)
	}
	c.between("engine.mountTimeoutSeconds", int64(e.MountTimeoutSeconds), 0, maxSpanSeconds)
	c.between("engine.callTimeoutSeconds", int64(e.CallTimeoutSeconds), 0, maxSpanSeconds)
	c.between("engine.ports.nfs", int64(e.Ports.NFS), 0, 65535)
	c.between("engine.ports.mount", int64(e.Ports.Mount), 0, 65535)
	c.between("engine.ports.portmap", int64(e.Ports.Portmap), 0, 65535)
}

// engineFiles checks where the files are reached: by the addresses of an
// oranfstab, below a mount, or both, for Oracle's Direct NFS wants the kernel's
// mount beside its own. What an existing database has mounted is not ours to say.
func (c *checker) engineFiles(e Engine, db *Database) {
	external := db != nil && db.Kind == DatabaseExternal
	mounted := db != nil && !external || db == nil && e.Client == ClientKernel
	switch {
	case mounted:
		c.check(path.IsAbs(e.MountPath), "engine.mountPath", "is %q; write the absolute path where the volume is mounted",
			e.MountPath)
	case external:
		c.check(e.MountPath == "", "engine.mountPath", "is set, but a database that exists has its own mounts; remove it")
	case e.Client == ClientDirectNFS:
		c.check(e.MountPath == "", "engine.mountPath",
			"is set, but DirectNFS mounts nothing; remove it, or set engine.client to %s", ClientKernel)
	}
	switch e.Client {
	case ClientDirectNFS:
		c.check(external || len(e.Channels) > 0, "engine.channels",
			"is empty; DirectNFS needs the address of the server in the path of at least one")
		c.channels(e)
	case ClientKernel:
		c.check(len(e.Channels) == 0, "engine.channels",
			"is set, but the kernel chooses its connections; remove it, or set engine.client to %s", ClientDirectNFS)
	}
}

// channels checks the server and its addresses. How they are written into an
// oranfstab is checked by rendering it.
func (c *checker) channels(e Engine) {
	if len(e.Channels) == 0 {
		return
	}
	c.check(e.Server != "", "engine.server", "is empty; write a label for the server")
	c.check(path.IsAbs(e.Export), "engine.export", "is %q; write the absolute path of the export", e.Export)
	c.check(len(e.Channels) <= maxChannels, "engine.channels", "are %d; use %d at most", len(e.Channels), maxChannels)
	for i, ch := range e.Channels {
		c.check(ch.Path != "", fmt.Sprintf("engine.channels[%d].path", i), "is empty; write the address of the server")
	}
	if len(c.problems) == 0 {
		_, err := e.Oranfstab()
		c.check(err == nil, "engine", "%v", err)
	}
}

func (c *checker) raw(r Raw) {
	const at = "workload.raw"
	c.oneOf(at+".pattern", r.Pattern, Patterns()...)
	c.blockSize(at+".blockSizeBytes", r.BlockSizeBytes)
	c.check(r.FileSizeBytes >= r.BlockSizeBytes, at+".fileSizeBytes",
		"is %d, less than one block; write at least %d", r.FileSizeBytes, r.BlockSizeBytes)
	c.check(r.BlockSizeBytes <= 0 || r.FileSizeBytes%r.BlockSizeBytes == 0, at+".fileSizeBytes",
		"is %d; write a multiple of blockSizeBytes (%d)", r.FileSizeBytes, r.BlockSizeBytes)
	c.between(at+".jobs", int64(r.Jobs), 1, maxJobs)
	c.between(at+".depth", int64(r.Depth), 1, maxDepth)
	if r.BlockSizeBytes > 0 && r.BlockSizeBytes <= maxBlockBytes && r.Jobs <= maxJobs && r.Depth <= maxDepth {
		all := int64(r.Jobs) * int64(r.Depth) * r.BlockSizeBytes
		c.check(all <= maxInFlightBytes, at+".depth",
			"jobs x depth x blockSizeBytes is %d bytes of buffers; keep it at or below %d", all, int64(maxInFlightBytes))
	} // else it is said already, and the product could overflow
	c.between(at+".operationsPerSecond", r.OperationsPerSecond, 0, math.MaxInt32)
	c.directory(at+".directory", r.Directory)
}

func (c *checker) blockSize(at string, size int64) {
	c.between(at, size, 512, maxBlockBytes)
	c.check(size <= 0 || bits.OnesCount64(uint64(size)) == 1, at,
		"is %d; write a power of two of at least 512, or direct I/O cannot be aligned", size)
}

func (c *checker) directory(at, dir string) {
	ok := dir != "" && dir != "." && dir != ".." && !strings.ContainsAny(dir, "/\x00")
	c.check(ok, at, "is %q; write the name of one directory below the export", dir)
}

func (c *checker) schedule(p Plan) {
	s := p.Schedule
	c.between("schedule.baselineSeconds", int64(s.BaselineSeconds), 0, maxSpanSeconds)
	c.between("schedule.warmupSeconds", int64(s.WarmupSeconds), 0, maxSpanSeconds)
	c.between("schedule.durationSeconds", int64(s.DurationSeconds), 1, maxSpanSeconds)
	c.between("schedule.cooldownSeconds", int64(s.CooldownSeconds), 0, maxSpanSeconds)
	c.between("schedule.repetitions", int64(s.Repetitions), 1, 1000)
	c.check(s.TimeoutSeconds >= 0, "schedule.timeoutSeconds", "is %d; write 0 for none", s.TimeoutSeconds)
	// It must be enough for what is scheduled, as far as that is known before.
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

// MTU is the declared MTU, or the 1500 of Ethernet.
func (l Link) MTU() int32 {
	if l.MTUBytes == 0 {
		return 1500
	}
	return l.MTUBytes
}

func within[T int32 | int64](c *checker, path string, v *T, highest int64) {
	if v != nil {
		c.between(path, int64(*v), 1, highest)
	}
}
