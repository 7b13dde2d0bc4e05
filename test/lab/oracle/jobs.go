package oracle

import (
	"context"
	"time"
)

// startJobs starts the jobs that Oracle runs by itself in a new database, also
// after a restart. They read the dictionary.
func (i *Instance) startJobs() {
	until := i.cat.Created.Add(i.cfg.Autotasks)
	if i.params.get("job_queue_processes") == "0" || !i.now().Before(until) {
		return
	}
	ctx, stop := context.WithCancel(context.Background()) //nolint:usetesting // no test; the life of the instance
	i.stopJobs = stop
	p := i.newProcess("J000", 50)
	i.mu.Lock()
	i.job = p
	i.mu.Unlock()
	i.serving.Go(func() {
		defer i.endProcess(p)
		defer func() {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.job = nil
		}()
		system := i.cat.tablespace(1, "SYSTEM")
		buf := aligned(blockBytes)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for block := int64(0); i.now().Before(until); block++ {
			if _, err := p.read(ctx, system, buf, block%system.Formatted, eventSingle); err != nil {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}
