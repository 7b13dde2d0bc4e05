package runfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// Words describes the load of each client, such as "Raw Read 1Mi" and "4 jobs x depth 8", and its target,
// such as "files of 1Gi". A status has room only for the load.
func (p Plan) Words() (load, on []string) {
	w := p.Workload
	load = []string{w.Name()}
	switch {
	case w.Raw != nil:
		load[0] += " " + human.Size(w.Raw.BlockBytes())
		if reads := bench.OrZero(w.Raw.ReadPercent); reads > 0 {
			load = append(load, fmt.Sprintf("%d %% reads", reads))
		}
		load = append(load, fmt.Sprintf("%s x depth %d", human.Count(w.Raw.Jobs, "job"), w.Raw.Depth))
		if rate := bench.OrZero(w.Raw.OperationsPerSecond); rate > 0 {
			load = append(load, fmt.Sprintf("paced at %d/s", rate))
		}
	case w.Calibrate != nil:
		load = append(load, human.Count(w.Calibrate.PhysicalDisks, "disk"),
			fmt.Sprintf("at most %d ms", w.Calibrate.MaxLatencyMilliseconds))
	case w.SLOB != nil:
		load = append(load, usersWords(w.SLOB.Ramp()))
		if w.SLOB.UpdatePercent > 0 {
			load = append(load, fmt.Sprintf("%d %% updates", w.SLOB.UpdatePercent))
		}
		if w.SLOB.Kit != nil {
			load = append(load, "your own kit")
		}
	}
	var bounds []string
	for _, b := range Bounds(w.Capacity()) {
		bounds = append(bounds, b.String())
	}
	if len(bounds) > 0 {
		load = append(load, "capacity within "+strings.Join(bounds, " and "))
	}
	return load, p.filesWords()
}

// usersWords describes the steps of a ramp.
func usersWords(ramp []int32) string {
	if len(ramp) == 1 {
		return human.Count(ramp[0], "user")
	}
	return fmt.Sprintf("%d to %d users in %d steps", slices.Min(ramp), slices.Max(ramp), len(ramp))
}

// filesWords describes the program that makes the load of a database, and the size of the data.
func (p Plan) filesWords() []string {
	w, f := p.Workload, p.Files()
	var on []string
	switch {
	case w.Raw != nil:
		return []string{"files of " + human.Size(f.SizeBytes)}
	case p.Database != nil:
		on = append(on, "Oracle")
	default:
		on = append(on, "native engine")
	}
	switch {
	case f.Count > 0:
		on = append(on, human.Count(f.Count, "file")+" of "+human.Size(f.SizeBytes))
	case w.SLOB != nil && w.SLOB.Kit == nil:
		on = append(on, human.Count(w.SLOB.Schemas, "schema")+" of "+human.Size(w.SLOB.TableBytes()))
	}
	return on
}
