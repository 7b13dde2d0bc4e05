package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	// probePatience bounds one attempt over all paths. All attempts together take less than two minutes; a start of
	// Direct NFS that the server refuses hangs for at least ten minutes.
	probePatience = 20 * time.Second
	probeAttempts = 3  // a server may be starting
	maxProbed     = 16 // paths
	// transferUnit divides the wtmax of each server that Direct NFS uses (installation guides for
	// Linux, and "Invalid filer wtmax" in the alert log).
	transferUnit = 32 << 10
)

// probeAdvice names the server settings that admit a database in a pod.
const probeAdvice = "Direct NFS of a pod needs an export that admits the address of the pod and ports above 1023 " +
	"(ONTAP: vserver nfs modify -vserver SVM -mount-rootonly disabled -nfs-rootonly disabled; Linux: insecure in " +
	"/etc/exports; FlashBlade: insecure in the NFS rule)"

// probeServers mounts each export over each path as Direct NFS would, from this pod and from a port above 1023, and
// unmounts it. It returns the answer of each path, or why it probed no server.
//
// The error says why Direct NFS cannot start. With NFSv3 there is no error: oradism uses privileged ports, so a
// server may accept it although it refuses the probe.
func (o Options) probeServers(ctx context.Context) (all []runfile.ServerProbe, skipped string, err error) {
	for _, v := range o.volumes() {
		probes, without, problem := v.probeExport(ctx)
		for i := range probes {
			if v.DataDirectory != o.DataDirectory {
				probes[i].Export = o.RedoExport
			}
		}
		all, skipped = append(all, probes...), cmp.Or(skipped, without)
		if problem != nil {
			return all, skipped, problem // return at once, within the time limit
		}
	}
	return all, skipped, nil
}

func (o Options) probeExport(ctx context.Context) (probes []runfile.ServerProbe, skipped string, err error) {
	if !o.DirectNFS || o.Engine == nil {
		return nil, "", nil
	}
	if s := o.Engine.Security; s != "" && s != "sys" {
		return nil, "the client of the probe speaks security sys only, and the benchmark uses " + string(s), nil
	}
	if len(o.Engine.Channels) == 0 {
		e, err := o.engineOfMount()
		if err != nil {
			return nil, clip(err.Error()), nil
		}
		o.Engine = &e
	}
	for attempt := 1; ; attempt++ {
		probes, err = o.probeOnce(ctx)
		if err == nil || attempt == probeAttempts || runloop.Wait(ctx, o.HealthInterval) != nil {
			return probes, "", err
		}
	}
}

// engineOfMount returns the engine with the server and export of the volume's mount. Without an oranfstab Direct NFS
// uses these, over one path.
func (o Options) engineOfMount() (runfile.Engine, error) {
	e := *o.Engine
	m, err := o.mount()
	if err != nil {
		return e, err
	}
	server, export, ok := runfile.CutMountSource(m.Source)
	if !ok || !m.IsNFS() {
		return e, fmt.Errorf("no NFS server is mounted at %q", o.DataDirectory)
	}
	e.Server, e.Export = server, export
	e.Channels = []bench.ResolvedPath{{Path: e.Server}}
	return e, nil
}

func (o Options) probeOnce(ctx context.Context) ([]runfile.ServerProbe, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	channels := o.Engine.Channels[:min(len(o.Engine.Channels), maxProbed)]
	probes, errs := make([]runfile.ServerProbe, len(channels)), make([]error, len(channels))
	var wg sync.WaitGroup
	for i, ch := range channels {
		wg.Go(func() {
			probes[i].Path = ch.Path
			if probes[i].WriteMaxBytes, errs[i] = o.probe(ctx, ch); errs[i] != nil {
				probes[i].Problem = clip(errs[i].Error())
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if oracle.CodeOf(err) == runfile.FailureUnsupported {
			return probes, fmt.Errorf("%s: %w", probes[i].Path, err)
		}
	}
	for _, err := range errs {
		if err == nil {
			return probes, nil // Direct NFS needs one path
		}
	}
	code := target.CodeOf(errs[0])
	refused := code == runfile.FailureAccessDenied || code == runfile.FailureUnreachable
	if !refused || o.Engine.NFSVersion == "" || o.Engine.NFSVersion == bench.NFSv3 {
		return probes, nil
	}
	return probes, oracle.Failf(code, "Direct NFS of the database would hang at its start: %w; %s", errs[0], probeAdvice)
}

// probe mounts the export over one path, and checks the path. It returns the server's wtmax.
func (o Options) probe(ctx context.Context, ch bench.ResolvedPath) (size int64, err error) {
	e := *o.Engine
	e.Channels = []bench.ResolvedPath{ch}
	e.MountTimeoutSeconds, e.CallTimeoutSeconds = int32(probePatience/time.Second), int32(probePatience/time.Second)
	e.TransferSizeBytes = 0 // our transfer size is not that of Direct NFS
	t, err := direct.Open(ctx, direct.Options{Engine: e, Now: o.Now, HighPorts: true})
	if err != nil {
		return 0, err
	}
	size = t.(*direct.Target).WriteMaxBytes()
	err = errors.Join(target.Check(ctx, t), t.Close())
	if size%transferUnit != 0 {
		return size, oracle.Failf(runfile.FailureUnsupported, "the server takes writes of %d bytes at most (wtmax), and "+
			"Direct NFS of Oracle uses only servers with a multiple of %d: it would silently use the kernel's client; set the "+
			"transfer size of the server to 65536 or more (ONTAP: -tcp-max-xfer-size; Linux: /proc/fs/nfsd/max_block_size)",
			size, transferUnit)
	}
	return size, err
}

// problems joins the problems of the probes in a sentence; empty = there are none.
func problems(probes []runfile.ServerProbe) string {
	var all []string
	for _, p := range probes {
		if p.Problem != "" {
			all = append(all, p.String()+": "+p.Problem)
		}
	}
	return strings.Join(all, "; ")
}
