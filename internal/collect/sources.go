package collect

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/connect"
)

// problemMount is the source of problems with the mount of the load.
const problemMount = "mountstats"

// hostReader samples the client. One goroutine at a time uses it.
type hostReader struct {
	proc      procfs.Reader
	volumes   []string       // mount points of the volumes of the load; empty when none is mounted
	cgroup    *procfs.Cgroup // nil when the control group of the load cannot be read
	mountedAt []string       // mount points that hold volumes, one of each file system, once known
	ownCPU    bool           // the CPU time of this process is the cost of collecting
	database  bool           // in this pod, which needs asynchronous I/O of the node
	problem   func(source string, err error)
}

// newHostReader reads the control group only if the load runs in this process: it cannot read the control
// group of another container, and its own would say nothing about the load.
func newHostReader(o Options, problem func(string, error)) *hostReader {
	h := &hostReader{proc: procfs.Reader{Root: o.Root}, problem: problem, ownCPU: !o.SameProcess}
	// The kernel's mount under Oracle's Direct NFS must carry no I/O, which only the counters of the mount show.
	d := o.Plan.Database
	h.database = d != nil && d.Kind == runfile.DatabaseContainer
	if o.Plan.Engine.Client == bench.ClientKernel || h.database {
		if v := o.Plan.Engine.MountPath; v != "" {
			h.volumes = append(h.volumes, v)
		}
		if d != nil && d.RedoDirectory != "" {
			h.volumes = append(h.volumes, d.RedoDirectory)
		}
	}
	if o.SameProcess {
		if g, err := h.proc.Cgroup(); err == nil {
			h.cgroup = &g
		}
	}
	return h
}

// sample reads all counters. Counters that cannot be read stay nil.
func (h *hostReader) sample(at time.Time) runfile.HostSample {
	s := runfile.HostSample{Time: at}
	if cpu, err := h.proc.CPU(); err != nil {
		h.problem("host cpu", err)
	} else {
		s.NodeBusyMicroseconds, s.NodeTotalMicroseconds = &cpu.BusyMicroseconds, &cpu.TotalMicroseconds
		if h.database {
			s.Cores = cpu.Cores
		}
	}
	s.TCPRetransmittedSegment = h.counter("host tcp", h.proc.RetransmittedSegments)
	s.TCPOutOfOrderSegments = h.counter("host tcp order", h.proc.OutOfOrderSegments)
	interfaces, err := h.proc.InterfaceCounters()
	if err != nil {
		h.problem("host network", err)
	}
	s.Interfaces = interfaces
	if h.cgroup != nil {
		s.CgroupCPUMicroseconds, s.CgroupThrottledMicros = h.cgroup.CPU()
	}
	if h.ownCPU {
		cpu, _ := runloop.ProcessUsage()
		s.CollectorCPUMicroseconds = new(cpu.Microseconds())
	}
	h.sampleAsyncIO(&s)
	if len(h.volumes) > 0 {
		counters, err := h.mount()
		if err != nil {
			h.problem(problemMount, err)
		}
		s.Mount = counters
	}
	return s
}

// counter returns nil for a counter that cannot be read.
func (h *hostReader) counter(source string, read func() (int64, error)) *int64 {
	value, err := read()
	if err != nil {
		h.problem(source, err)
		return nil
	}
	return &value
}

func (h *hostReader) sampleAsyncIO(s *runfile.HostSample) {
	if !h.database {
		return
	}
	a, err := h.proc.AsyncIO()
	if err != nil {
		h.problem("host aio", err)
		return
	}
	s.AsyncIO = &a
}

// mount adds up the counters of all volumes. Mounts from one server share its connections, so the transports
// are those of the first mount.
func (h *hostReader) mount() (*runfile.MountCounters, error) {
	if h.mountedAt == nil {
		points, err := h.findMounts()
		if err != nil {
			return nil, err
		}
		h.mountedAt = points
	}
	mounts, err := h.proc.NFSMounts()
	if err != nil {
		return nil, err
	}
	var sum *runfile.MountCounters
	for _, point := range h.mountedAt {
		m, ok := procfs.NFSMountAt(mounts, point)
		if !ok {
			return nil, fmt.Errorf("no statistics of the mount at %q", point)
		}
		if sum == nil {
			sum = &m.Counters
			continue
		}
		more := mountFields(&m.Counters)
		for i, field := range mountFields(sum) {
			*field += *more[i]
		}
		sum.Operations = addOperations(sum.Operations, m.Counters.Operations)
	}
	return sum, nil
}

// addOperations adds up operations of the same kind.
func addOperations(sum, more []runfile.OperationCounters) []runfile.OperationCounters {
	for _, o := range more {
		if have := find(sum, func(s runfile.OperationCounters) bool { return s.Name == o.Name }); have != nil {
			have.Operations += o.Operations
			have.Transmissions += o.Transmissions
			continue
		}
		sum = append(sum, o)
	}
	return sum
}

// findMounts returns the mount point of each volume. Two exports of one file system of the server may be one
// file system of the client, whose counters count once.
func (h *hostReader) findMounts() (points []string, err error) {
	mounts, err := h.proc.Mounts()
	if err != nil {
		return nil, err
	}
	var devices []string
	for _, v := range h.volumes {
		m, ok := procfs.MountOf(mounts, v)
		if !ok || !m.IsNFS() {
			return nil, fmt.Errorf("%q is on %s, not on NFS: there are no mount counters", v,
				cmp.Or(m.Type, "nothing known"))
		}
		if !slices.Contains(devices, m.Device) {
			points, devices = append(points, m.Point), append(devices, m.Device)
		}
	}
	return points, nil
}

// HostFacts describes the machine or pod of this process. It omits facts that cannot be read.
//
// The limits of the control group are those of this process. A sidecar must not report them as those of the
// loader: set ownCgroup only if the load runs in this process.
func HostFacts(proc procfs.Reader, ownCgroup bool) runfile.Host {
	var host runfile.Host
	// An error omits its fact; a missing fact means "unknown" in the result.
	host.Name, _ = os.Hostname()
	host.Kernel, _ = proc.KernelRelease()
	if cpu, err := proc.CPU(); err == nil {
		host.CPUs = cpu.Online
	}
	host.MemoryBytes, _ = proc.MemoryBytes()
	host.NUMANodes, _ = proc.NUMANodes()
	host.TCPSlots, _ = proc.TCPSlots()
	if !ownCgroup {
		return host
	}
	if group, err := proc.Cgroup(); err == nil {
		host.CPULimit = group.CPULimit()
		if limit := group.MemoryLimitBytes(); limit > 0 && (host.MemoryBytes == 0 || limit < host.MemoryBytes) {
			host.MemoryBytes = limit
		}
	}
	return host
}

// planSources opens the sources of the plan. It reports a source that cannot be opened as a problem, and
// returns the others.
func planSources(o Options, problem func(source string, err error)) []storage.Source {
	var sources []storage.Source
	for _, s := range o.Plan.Collect.Sources {
		if s.OneClient && o.Client != 0 {
			continue
		}
		source, err := connect.Open(s, connect.Options{SecretsDir: o.SecretsDir, Now: o.Now})
		if err != nil {
			problem(s.Name, err)
			continue
		}
		sources = append(sources, named{Source: source, name: s.Name})
	}
	return sources
}

// named is a source with its name in the plan.
type named struct {
	storage.Source
	name string
}

func (n named) Name() string { return n.name }

// Close closes the source.
func (n named) Close() error { return storage.Close(n.Source) }
