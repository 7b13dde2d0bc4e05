package oracle

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// calibrated is the row of DBA_RSRC_IO_CALIBRATE.
type calibrated struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	IOPS    int64     `json:"iops"`
	MBPS    int64     `json:"mbps"`
	PMBPS   int64     `json:"pmbps"`
	Latency int64     `json:"latency"`
	Disks   int64     `json:"disks"`
}

const (
	calibrateLargeBytes = 1 << 20 // of the large random reads
	calibrateProcesses  = 8       // that read; each has one read under way
)

// calibrateIO is DBMS_RESOURCE_MANAGER.CALIBRATE_IO: random reads of single blocks over
// all datafiles, then random reads of a mebibyte, half of the time each.
func (i *Instance) calibrateIO(ctx context.Context, s *session, q statement) ([]row, error) {
	disks, limit, err := q.ints("disks", "latency_ms")
	if err != nil {
		return nil, err
	}
	if disks < 1 || limit < 10 {
		return nil, ora(29355, "NULL or invalid argument specified")
	}
	if err := i.mayCalibrate(s); err != nil {
		return nil, err
	}
	defer func() {
		i.mu.Lock()
		i.calibrating = false
		i.mu.Unlock()
	}()
	g, loading := errgroup.WithContext(ctx)
	var result *calibrated
	ended := make(chan struct{})
	g.Go(func() (err error) {
		defer close(ended)
		result, err = i.calibrate(loading, disks, time.Duration(limit)*time.Millisecond)
		return err
	})
	g.Go(func() error { return i.recursive(loading, s, ended) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	i.cat.mu.Lock()
	defer i.cat.mu.Unlock()
	i.cat.Calibrate = result
	if err := i.saveCatalog(ctx); err != nil {
		return nil, err
	}
	return []row{{
		"disks": disks, "latency_ms": limit, "max_iops": result.IOPS, "max_mbps": result.MBPS, "actual_latency_ms": result.Latency,
	}}, nil
}

// recursive reads blocks of the dictionary while the load runs, as the SQL behind
// every call of a package does.
func (i *Instance) recursive(ctx context.Context, s *session, ended <-chan struct{}) error {
	i.cat.mu.Lock()
	system := i.cat.tablespace(1, "SYSTEM")
	i.cat.mu.Unlock()
	tick := time.NewTicker(i.cfg.Calibrate / 64)
	defer tick.Stop()
	for block := int64(0); ; block++ {
		if _, err := s.process.read(ctx, system, s.buffer(blockBytes), block%system.Formatted, eventSingle); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ended:
			return nil
		}
	}
}

func (i *Instance) mayCalibrate(s *session) error {
	switch {
	case s.container != 1:
		return ora(65040, "operation not allowed from within a pluggable database")
	case i.params.get("timed_statistics") != "true":
		return ora(56709, "timed_statistics set to FALSE")
	case i.cfg.Faults.NoKernelAIO && i.direct == nil:
		i.alert.linef("ORA-27090: Unable to reserve kernel resources for asynchronous disk I/O\n" +
			"Linux-x86_64 Error: 11: Resource temporarily unavailable")
		fallthrough
	case i.asynchIO() != "ASYNC_ON":
		return ora(56708, "Could not find any datafiles with asynchronous i/o capability")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calibrating {
		return ora(56718, "I/O calibration is already running")
	}
	i.calibrating = true
	return nil
}

func (i *Instance) calibrate(ctx context.Context, disks int64, limit time.Duration) (*calibrated, error) {
	result := &calibrated{Start: i.now(), Disks: disks}
	var processes []*process
	defer func() {
		for _, p := range processes {
			i.endProcess(p)
		}
	}()
	readers := int(min(disks, calibrateProcesses))
	for range readers {
		processes = append(processes, i.newProcess("CS00", 60))
	}
	small, err := i.burst(ctx, processes, blockBytes)
	if err != nil {
		return nil, err
	}
	// Whoever is too slow with all readers is asked again with one.
	if small.latency > limit && len(processes) > 1 {
		if small, err = i.burst(ctx, processes[:1], blockBytes); err != nil {
			return nil, err
		}
	}
	large, err := i.burst(ctx, processes, calibrateLargeBytes)
	if err != nil {
		return nil, err
	}
	result.IOPS = int64(float64(small.reads) / small.took.Seconds())
	result.MBPS = int64(float64(large.reads) * calibrateLargeBytes / 1e6 / large.took.Seconds())
	result.PMBPS = result.MBPS / int64(readers)
	result.Latency = small.latency.Milliseconds()
	result.End = i.now()
	return result, nil
}

type measured struct {
	reads   int64
	took    time.Duration
	latency time.Duration // mean
}

// burst reads at random places of all datafiles, half as long as a calibration
// lasts, and each process once at least.
func (i *Instance) burst(ctx context.Context, processes []*process, size int) (measured, error) {
	ranges := i.cat.readable(int64(size / blockBytes))
	began := i.now()
	var reads, waited atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for n, p := range processes {
		g.Go(func() error {
			random := rand.New(rand.NewPCG(uint64(i.cat.DBID), uint64(n)))
			buf := aligned(size)
			for more := true; more; more = i.now().Sub(began) < i.cfg.Calibrate/2 {
				r := ranges[random.IntN(len(ranges))]
				took, err := p.read(ctx, r.file, buf, r.first+random.Int64N(r.places), eventCalibrate)
				if err != nil {
					return err
				}
				reads.Add(1)
				waited.Add(int64(took))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return measured{}, err
	}
	m := measured{reads: reads.Load(), took: i.now().Sub(began)}
	m.latency = time.Duration(waited.Load() / m.reads)
	return m, nil
}

func calibrateResult(cat *catalog, _ *session, _ statement) []row {
	c := cat.Calibrate
	if c == nil {
		return nil
	}
	return []row{{
		"start_time": c.Start, "end_time": c.End, "max_iops": c.IOPS, "max_mbps": c.MBPS, "max_pmbps": c.PMBPS,
		"latency": c.Latency, "num_physical_disks": c.Disks, "additional_info": nil,
	}}
}

// calibrateSample are sums of V$IOSTAT_FILE over the data files.
func (i *Instance) calibrateSample() []row {
	sum := row{}
	for _, column := range []string{"small_read_reqs", "small_read_servicetime", "large_read_reqs", "large_read_servicetime"} {
		total := int64(0)
		for _, file := range i.fileRows() {
			total += file[column].(int64)
		}
		sum[column] = total
	}
	return []row{sum}
}

// calibrateStatus is V$IO_CALIBRATION_STATUS.
func (i *Instance) calibrateStatus(context.Context, *session, statement) ([]row, error) {
	i.cat.mu.Lock()
	c := i.cat.Calibrate
	i.cat.mu.Unlock()
	i.mu.Lock()
	defer i.mu.Unlock()
	r := row{"status": "NOT AVAILABLE", "calibration_time": nil}
	if c != nil {
		r = row{"status": "READY", "calibration_time": c.End}
	}
	if i.calibrating {
		r = row{"status": "IN PROGRESS", "calibration_time": nil}
	}
	return []row{r}, nil
}
