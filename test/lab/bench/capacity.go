package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
	"github.com/nfsbench/nfsbench/test/lab/cpulimit"
)

// The methods of the contenders in a capacity row.
const (
	howSearch = "search"         // nfsbench load --capacity
	howSweep  = "sweep"          // nfsbench load --ops-per-second, at each rate
	howTarget = "latency_target" // fio, by the number of outstanding operations
)

// The servers with a known limit, besides the slow links. All are the NFS-Ganesha of placeServer.
const (
	placeRelay = "relay" // behind the relay, over the loopback
	placeCPU   = "cpu"   // with limited processor time, over the loopback

	relayRate  = 4000 // replies a second
	cpuPercent = 30   // percent of one processor
)

// The bounds are far above the latency of an idle server on a machine with its own noise, and far
// below the queueing time of a busy one. The bound of the limited server is shorter than its stall
// after it has used up its share of a period.
const (
	boundOfLink  = 5 * time.Millisecond
	boundOfRelay = 20 * time.Millisecond
	boundOfCPU   = 20 * time.Millisecond
)

// The rates of a sweep around the capacity that the search found. No rate equals that capacity, so
// an exact search has a rate on each side.
const (
	sweepStep = 0.025
	sweepFrom = 0.5
	sweepTo   = 1.1
	// nearFrom and nearTo are the range of a sweep in the short form. Its time counts as that of the whole sweep, which
	// is known in advance.
	nearFrom = 0.93
	nearTo   = 1.1
	// sweepWarmup is the warm-up of each rate, and of each level of the search after the first.
	sweepWarmup = 1
	// leastLongest is the minimum, in seconds, for the longest level of a search.
	leastLongest = 9
)

// capacityRows compare the search for capacity with an exhaustive sweep. fio takes part where
// closed and open loop are equivalent: a server with a fixed maximum of requests a second reaches
// it under any load that keeps it busy.
func capacityRows() []row {
	w := work{"randread", oracle, 1, 64}
	link := capacityRow("capacity-link", "a link of 200 Mbit/s", entry{Work: w, Links: []int{slowOne}, Bound: boundOfLink})
	// With half of these outstanding, the bound would hold whatever fio tries.
	deep := work{"randread", oracle, 1, 128}
	relay := capacityRow("capacity-relay", fmt.Sprintf("a relay of %d replies/s", relayRate), entry{Work: deep, Place: placeRelay, Bound: boundOfRelay})
	for _, r := range []*row{&link, &relay} {
		e := r.Entries[0]
		e.Name, e.Tool, e.How = "fio, "+howTarget, toolFio, howTarget
		r.Entries = append(r.Entries, e)
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricCapacity, Of: toolOurs, To: e.Name, AtLeast: 0.95, AtMost: 1.05})
	}
	limited := fmt.Sprintf("a server with %d %% of a core", cpuPercent)
	return []row{link, relay, capacityRow("capacity-cpu", limited, entry{Work: w, Place: placeCPU, Bound: boundOfCPU})}
}

// capacityRow has the search, the sweep, and the search again.
func capacityRow(name, server string, e entry) row {
	r := row{
		Name: name, Title: fmt.Sprintf("%s, randread 8 KiB, p99 within %v", server, e.Bound),
		Unit: score.UnitCapacity, Warmup: sweepWarmup, Stretch: 3, Once: true,
	}
	for _, c := range []struct{ name, how string }{{toolOurs, howSearch}, {howSweep, howSweep}, {againName, howSearch}} {
		e.Name, e.Tool, e.How = c.name, toolOurs, c.how
		r.Entries = append(r.Entries, e)
	}
	for _, of := range []string{howSweep, againName} {
		r.Checks = append(r.Checks, score.Check{Metric: score.MetricCapacity, Of: toolOurs, To: of, AtLeast: 0.95, AtMost: 1.05})
	}
	r.Checks = append(r.Checks, score.Check{Metric: score.MetricTime, Of: toolOurs, To: howSweep, AtMost: 0.2})
	return r
}

const (
	capacityPrefix = "capacity" // prefix of the names of capacity rows
	againName      = "the search again"
)

// shortForm removes the second search.
func shortForm(rows []row) {
	for i, r := range rows {
		rows[i].Entries = slices.DeleteFunc(slices.Clone(r.Entries), func(e entry) bool { return e.Name == againName })
		rows[i].Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c score.Check) bool { return c.To == againName })
	}
}

// capacityReminders describe how the capacity rows were measured.
func capacityReminders(short bool) []string {
	text := "capacity rows: the sweep runs nfsbench load --ops-per-second at rates of half the capacity to 1.1 of it, in steps of 2.5 %, each as long as a level of the search may last, because who sweeps does not know which rate needs it; the time of the search is that of the whole program, the time of the sweep that of its warm-ups and windows"
	if short {
		text += "; short form: it tried the rates from 0.93 to 1.1 of the capacity only"
	}
	return []string{
		text,
		"capacity rows, fio: latency_target with 99 % in windows of 2 s; it changes the number of operations outstanding (closed loop), so it is compared where the rate of the server does not depend on that",
	}
}

// sweepRates returns the rates of a complete sweep, ascending.
func sweepRates(found float64) []int64 {
	var rates []int64
	n := math.Floor(math.Log(sweepFrom) / math.Log1p(sweepStep))
	for ; ; n++ {
		factor := math.Pow(1+sweepStep, n+0.5)
		if factor > sweepTo {
			return rates
		}
		if factor >= sweepFrom {
			rates = append(rates, max(1, int64(math.Round(found*factor))))
		}
	}
}

// upAndDown orders rates so that a change of the server during the sweep affects both high and low
// rates: every other rate upwards, then the rest downwards.
func upAndDown(rates []int64) []int64 {
	var up, down []int64
	for i, r := range rates {
		if i%2 == 0 {
			up = append(up, r)
		} else {
			down = append([]int64{r}, down...)
		}
	}
	return append(up, down...)
}

// takeCapacity measures one contender of a capacity row.
func (s *session) takeCapacity(ctx context.Context, j job, patience time.Duration, sample *score.Sample) error {
	j.Seconds = max(j.Seconds, leastLongest)
	sample.Capacity = &score.Capacity{}
	began := time.Now()
	switch j.How {
	case howSweep:
		found := s.searched[sample.Row]
		if found == nil {
			return errors.New("the search before has found no capacity to sweep around")
		}
		return s.sweep(ctx, j, found.OperationsPerSecond, patience, sample.Capacity)
	case howTarget:
		if _, err := s.child(ctx, j, patience, sample); err != nil {
			return err
		}
		output, err := os.ReadFile(j.Output)
		if err != nil {
			return err
		}
		sample.Capacity.Seconds = time.Since(began).Seconds()
		return parseTarget(output, sample)
	default:
		output, err := s.child(ctx, j, patience, sample)
		if err != nil {
			return err
		}
		sample.Capacity.Seconds = time.Since(began).Seconds()
		if err := parseSearch(output, sample.Capacity); err != nil {
			return err
		}
		if s.searched[sample.Row] == nil { // the subject is the first
			s.searched[sample.Row] = sample.Capacity
		}
		return nil
	}
}

func (s *session) sweep(ctx context.Context, j job, found float64, patience time.Duration, c *score.Capacity) error {
	c.LongestSeconds, c.WarmupSeconds = j.Seconds, j.Warmup
	rates := sweepRates(found)
	c.Seconds = float64(len(rates) * (j.Warmup + j.Seconds))
	for _, rate := range upAndDown(rates) {
		if s.short && (float64(rate) < nearFrom*found || float64(rate) > nearTo*found) {
			continue
		}
		var one score.Sample
		j.Rate = rate
		output, err := s.child(ctx, j, patience, &one)
		if err != nil {
			return err
		}
		if err := parseOurs(output, &one); err != nil {
			return err
		}
		c.Rates = append(c.Rates, score.Rate{
			OperationsPerSecond: float64(rate), Seconds: j.Seconds, P99Microseconds: *one.P99Microseconds,
			Holds: *one.P99Microseconds <= j.Bound.Microseconds(),
		})
	}
	c.Conclude()
	switch {
	case c.Low == 0:
		return fmt.Errorf("no rate of the sweep holds the bound, from %.0f operations/s", c.High)
	case s.short && c.High == 0:
		return fmt.Errorf("each rate of the short sweep holds the bound, up to %.0f operations/s", c.Low)
	default:
		return nil
	}
}

// loadFlags returns the flags that a capacity row adds to our command line.
func (j job) loadFlags() []string {
	switch {
	case j.How == howSearch:
		return []string{"--capacity", fmt.Sprintf("p99=%v", j.Bound), "--arrivals", "fixed"} // like a sweep
	case j.Rate > 0:
		return []string{"--ops-per-second", strconv.FormatInt(j.Rate, 10)}
	default:
		return nil
	}
}

// parseSearch computes the capacity from the levels of a result.
func parseSearch(output []byte, c *score.Capacity) error {
	result, load, err := oneLoad(output)
	if err != nil {
		return err
	}
	wanted := result.Plan.Workload.Capacity()
	if wanted == nil || len(runfile.Bounds(wanted)) == 0 {
		return errors.New("result of nfsbench is not one of a search for capacity")
	}
	var levels []runfile.CapacityLevel
	for _, rep := range load.Repetitions {
		l, ok := capacity.Level(runfile.Bounds(wanted), rep)
		if !ok {
			continue
		}
		levels = append(levels, l)
		holds, _ := capacity.Sure(runfile.Bounds(wanted)[0], l)
		c.LongestSeconds = max(c.LongestSeconds, int(l.Seconds))
		c.Rates = append(c.Rates, score.Rate{
			OperationsPerSecond: float64(l.OperationsPerSecond), Seconds: int(l.Seconds),
			Holds: holds,
		})
	}
	found := capacity.Estimates(runfile.Bounds(wanted), levels)
	if len(found) == 0 || found[0].OperationsPerSecond == 0 {
		return fmt.Errorf("nfsbench found no capacity by %d levels", len(levels))
	}
	c.OperationsPerSecond = float64(found[0].OperationsPerSecond)
	c.Low, c.High = float64(found[0].Low), float64(found[0].High)
	return nil
}

// targetFlags make fio double the number of outstanding operations, then bisect to the highest
// number at which 99 % of the operations of a window end in time. Its report covers a last window.
func (j job) targetFlags() []string {
	return []string{
		"--time_based", fmt.Sprintf("--runtime=%d", targetMost), fmt.Sprintf("--latency_target=%dus", j.Bound.Microseconds()),
		fmt.Sprintf("--latency_window=%ds", targetWindow), "--latency_percentile=99",
	}
}

const (
	targetWindow = 2                 // seconds
	targetMost   = 16 * targetWindow // seconds for all windows
)

func parseTarget(output []byte, s *score.Sample) error {
	if err := parseFio(output, s); err != nil {
		return err
	}
	if s.Capacity.Depth < 1 || s.Seconds > 2*targetWindow {
		return errors.New("fio found no depth within the bound")
	}
	s.Capacity.OperationsPerSecond = float64(s.Ops) / s.Seconds
	return nil
}

// confine gives the server the limit of processor time that the place needs, or removes it.
func (a *arena) confine(ctx context.Context, place string) error {
	if (place == placeCPU) == (a.limit != nil) {
		return nil
	}
	if a.limit != nil {
		limit := a.limit
		a.limit = nil
		return limit.Remove()
	}
	pid, err := a.serverPID(ctx)
	if err != nil {
		return err
	}
	if a.limit, err = cpulimit.New("nfsbench-" + a.name); err != nil {
		return err
	}
	return errors.Join(a.limit.Limit(cpuPercent/100.), a.limit.Move(pid))
}

// serverPID finds NFS-Ganesha by its network namespace.
func (a *arena) serverPID(ctx context.Context) (int, error) {
	out, err := exec.CommandContext(ctx, "ip", "netns", "pids", a.Netns).Output()
	if err != nil {
		return 0, fmt.Errorf("list the processes of %s: %w", a.Netns, err)
	}
	for field := range strings.FieldsSeq(string(out)) {
		if fileText(filepath.Join("/proc", field, "comm")) == "ganesha.nfsd" {
			return strconv.Atoi(field)
		}
	}
	return 0, fmt.Errorf("no NFS-Ganesha runs in %s", a.Netns)
}
