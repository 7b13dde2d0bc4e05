package plan

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// DatabasePath is the data directory of Oracle's images, where a run with a database mounts its volume.
	DatabasePath = "/opt/oracle/oradata"
	// RedoPath is the mount path of a second export for the online redo logs.
	RedoPath = "/opt/oracle/oraredo"
	// listener is the address of the database within its pod.
	listener   = "localhost:1521/"
	userSys    = "sys"
	roleSYSDBA = "SYSDBA"
)

const (
	mebibyte = 1 << 20
	// defaultMemoryBytes is the memory request of a database container if the user sets none; Oracle's images do not start
	// with less than 2 GiB.
	defaultMemoryBytes = 4 << 30
	// Oracle Free and Express use at most 2 GiB for SGA and PGA together.
	freeSGAMegabytes = 1536
	freePGAMegabytes = 512
)

// NeedsVolume reports whether the kernel mounts the storage into the pods of a run: for its own client, and for the
// container of a database, whose Direct NFS needs the kernel mount besides its own.
//
// An existing database has its mounts already.
func NeedsVolume(b *v1alpha1.NFSBenchmark) bool {
	if d := b.Spec.Database; d != nil {
		return d.Container != nil
	}
	return b.Spec.Protocol.Client == bench.ClientKernel
}

// DataDirectory returns the mount path of the volume in the pods of a run, which the oranfstab names too. For an
// existing database database.external.mountPath names it.
func DataDirectory(b *v1alpha1.NFSBenchmark) string {
	if Container(b) != nil {
		return DatabasePath
	}
	return MountPath
}

// RedoExport returns the export of the redo logs; empty if they are with the data.
func RedoExport(b *v1alpha1.NFSBenchmark) string {
	if Container(b) == nil || b.Spec.Storage.Export == nil {
		return ""
	}
	return b.Spec.Storage.Export.RedoPath
}

// Container returns the database that the run starts; nil = none.
func Container(b *v1alpha1.NFSBenchmark) *v1alpha1.DatabaseContainer {
	if b.Spec.Database == nil {
		return nil
	}
	return b.Spec.Database.Container
}

// External returns the database that exists already and that the run loads; nil = none.
func External(b *v1alpha1.NFSBenchmark) *v1alpha1.DatabaseExternal {
	if b.Spec.Database == nil {
		return nil
	}
	return b.Spec.Database.External
}

// Instance holds the values that follow from the spec of a database container.
type Instance struct {
	SID, PDB    string // upper case
	MemoryBytes int64  // limit of the container, or its request
	// HugePagesBytes are additional to MemoryBytes, and for the SGA alone.
	HugePagesBytes int64
	SGAMegabytes   int64 // 2^20 bytes; half of the memory
	PGAMegabytes   int64 // 2^20 bytes; an eighth of it
	CPUs           int64 // cpu_count
}

// InstanceOf returns the instance, with the defaults of the images for the fields that the user left out.
func InstanceOf(c *v1alpha1.DatabaseContainer) Instance {
	i := Instance{
		SID: strings.ToUpper(c.SID), PDB: strings.ToUpper(c.PDB),
		MemoryBytes: memory(c), HugePagesBytes: hugePages(c),
	}
	sid := map[v1alpha1.DatabaseEdition]string{v1alpha1.EditionFree: "FREE", v1alpha1.EditionExpress: "XE"}[c.Edition]
	pdb := sid + "PDB1"
	if sid == "" {
		sid, pdb = "ORCLCDB", "ORCLPDB1"
	}
	if i.SID == "" {
		i.SID = sid
	}
	if i.PDB == "" {
		i.PDB = pdb
	}
	i.SGAMegabytes, i.PGAMegabytes = i.MemoryBytes/2/mebibyte, i.MemoryBytes/8/mebibyte
	i.CPUs, _ = cpus(c)
	if isLimited(c) {
		i.SGAMegabytes, i.PGAMegabytes = min(i.SGAMegabytes, freeSGAMegabytes), min(i.PGAMegabytes, freePGAMegabytes)
	}
	return i
}

func memory(c *v1alpha1.DatabaseContainer) int64 {
	if c.Resources != nil {
		for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
			if m, ok := list[corev1.ResourceMemory]; ok && m.Value() > 0 {
				return m.Value()
			}
		}
	}
	return defaultMemoryBytes
}

// database describes how the loader reaches the database; nil = native engine.
func database(b *v1alpha1.NFSBenchmark) *runfile.Database {
	d := b.Spec.Database
	if d == nil {
		return nil
	}
	direct := b.Spec.Protocol.Client == bench.ClientDirectNFS
	if x := d.External; x != nil {
		return external(x, direct)
	}
	c := d.Container
	i := InstanceOf(c)
	_, most := cpus(c)
	out := &runfile.Database{
		Kind:                  runfile.DatabaseContainer,
		RedoLogBytes:          bytesOf(c.RedoLogSize),
		UndoBytes:             bytesOf(c.UndoSize),
		TablespaceBytes:       calibratedBytes(b),
		AdminConnect:          listener + i.SID,
		Connects:              []string{listener + i.PDB},
		User:                  userSys,
		Role:                  roleSYSDBA,
		DirectNFS:             direct,
		Parameters:            parameters(b, i, direct),
		RestartBeforeRun:      c.RestartBeforeRun != bench.Disabled,
		DataDirectory:         DatabasePath,
		StartupTimeoutSeconds: c.StartupTimeoutSeconds,
		SID:                   i.SID,
		CPUMillis:             most,
	}
	if export := RedoExport(b); export != "" {
		out.RedoExport, out.RedoDirectory = export, RedoPath
	}
	return out
}

// bytesOf returns a size; 0 if none is declared.
func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

func external(x *v1alpha1.DatabaseExternal, direct bool) *runfile.Database {
	d := &runfile.Database{
		Kind: runfile.DatabaseExternal, AdminConnect: string(x.ConnectString), Role: roleSYSDBA, DirectNFS: direct,
		DataDirectory: x.MountPath, TablespaceDirectory: x.TablespaceDirectory,
		AllowRedo: x.LoadingWithRedo == v1alpha1.LoadingWithRedoAllow,
	}
	if x.Role == v1alpha1.RoleNone {
		d.Role = ""
	}
	for _, s := range x.Services {
		d.Connects = append(d.Connects, string(s))
	}
	if len(d.Connects) == 0 {
		d.Connects = []string{d.AdminConnect}
	}
	return d
}

// parameters returns the user's parameters, and those that a fair comparison needs: the memory and CPUs of the
// container instead of the node's, processes for all users, and asynchronous direct I/O for the kernel's NFS, which
// Direct NFS always uses. Automatic memory management stays off, because it needs all of the SGA in /dev/shm; a user
// who enables it sizes the memory. Random reads read one block each, as SLOB recommends: Oracle does not count batched
// or prefetched reads as db file sequential read. No job of the database runs beside the load, such as the gathering of
// statistics in a new database.
func parameters(b *v1alpha1.NFSBenchmark, i Instance, direct bool) map[string]string {
	c := Container(b)
	out := map[string]string{}
	derive := func(name, value string, unless ...string) {
		for _, u := range append(unless, name) {
			if _, given := c.Parameters[u]; given {
				return
			}
		}
		out[name] = value
	}
	derive("sga_target", fmt.Sprintf("%dM", i.SGAMegabytes), "sga_max_size", "memory_target", "memory_max_target")
	derive("pga_aggregate_target", fmt.Sprintf("%dM", i.PGAMegabytes), "pga_aggregate_limit", "memory_target",
		"memory_max_target")
	derive("cpu_count", strconv.FormatInt(i.CPUs, 10))
	if n := sessions(b.Spec.Workload) + otherProcesses; n > leastProcesses {
		derive("processes", strconv.FormatInt(n, 10))
	}
	if !direct {
		derive("filesystemio_options", "SETALL")
	}
	derive("job_queue_processes", "0")
	if w := b.Spec.Workload.SLOB; w != nil && w.Access == bench.SLOBRandomRead {
		for _, name := range runfile.SingleReadParameters() {
			derive(name, "0")
		}
	}
	for name, value := range c.Parameters {
		out[name] = string(value)
	}
	return out
}
