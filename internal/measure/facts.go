package measure

import (
	"iter"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Facts are all that can be said of a result in numbers. Nothing writes to them after Of.
type Facts struct {
	result runfile.Result

	Plan      runfile.Plan
	Simulated bool                   // a stand-in took part
	Clients   []Client               // that gave a result
	Survey    runfile.Survey         // what the array said before the run; its zero value says nothing
	Volume    runfile.SurveyVolume   // that the load was on; its zero value is not known
	Declared  []PathPair             // the channels of the plan
	Oracles   []runfile.Oracle       // what the loaders found of the database
	Databases []runfile.OracleWindow // what databases counted in the windows that count
	Cores     float64                // that the database can use at most; 0 = not known, or all of its machine
	Block     int64                  // bytes of one I/O of the load; 0 = not known
	Transfer  [2]int64               // bytes that one READ or WRITE moves, by direction
	Wire      *WireLimit             // nil: not known
	timelines map[int32]*timeline    // by client

	Repetitions  []RepetitionFacts // that count, of all steps
	warmups      []RepetitionFacts // of those that do not
	Steps        []StepSummary
	Calibrations []Calibration
	Bounds       []runfile.LatencyBound // of a search for capacity; none for another load
	Searches     []Search               // by round
	Capacity     *Capacity              // nil: no search
	Headline     []RepetitionFacts      // those that Overall is the median of
	Overall      *RepetitionFacts       // nil: nothing was measured
	Database     *DatabaseSummary
	Variation    *int32
	Indirect     []Indirection
	Silent       []Silence
	Unreadable   []string // why latency histograms cannot be read
}

// RepetitionFacts is one repetition over all clients, with what the checks need beside its numbers.
type RepetitionFacts struct {
	Summary

	parts          []part
	Together       float64                 // share of the shortest window in which all clients ran
	points         []stats.Point           // of all clients
	StorageWindows []runfile.StorageWindow // of each source once
	owner          string                  // the node that owned the data, if known
	Used           []string                // the addresses of the storage that the load went to
	Mount          mountLoad               // what the mounts of the kernel moved
	Databases      []runfile.OracleWindow  // what databases counted
	// Late operations began after they were due, and Dropped ones not at all.
	Late, Dropped int64
}

// part is one client's part in a repetition.
type part struct {
	client  runfile.ClientResult
	rep     runfile.Repetition
	seconds float64
	window  *runfile.ObservedWindow // nil when the collector has none
}

func (c *Facts) parts(index int32) []part {
	var parts []part
	for _, cl := range c.result.Clients {
		for _, rep := range cl.Load.Repetitions {
			seconds := rep.End.Sub(rep.Start).Seconds()
			if rep.Index != index || seconds <= 0 {
				continue
			}
			parts = append(parts, part{client: cl, rep: rep, seconds: seconds, window: windowOf(cl, runfile.SpanMeasure, index)})
		}
	}
	return parts
}

// windowsOf are the windows of a kind that a client's collector has.
func windowsOf(cl runfile.ClientResult, kind string) iter.Seq[*runfile.ObservedWindow] {
	return func(yield func(*runfile.ObservedWindow) bool) {
		windows := bench.OrZero(cl.Observed).Windows
		for i := range windows {
			if windows[i].Kind == kind && !yield(&windows[i]) {
				return
			}
		}
	}
}

func windowOf(cl runfile.ClientResult, kind string, index int32) *runfile.ObservedWindow {
	for w := range windowsOf(cl, kind) {
		if w.Repetition == index {
			return w
		}
	}
	return nil
}

// Raw is the raw workload; its zero value for another one.
func (c *Facts) Raw() bench.RawWorkload { return bench.OrZero(c.Plan.Workload.Raw) }

// Native says that our own user-space client carried the load.
func (c *Facts) Native() bool { return !c.Kernel() && c.Plan.Database == nil }

// Kernel reports whether the client of the kernel did the I/O.
func (c *Facts) Kernel() bool { return c.Plan.Engine.Client == bench.ClientKernel }

// External says that the load was that of a database on machines of its own.
func (c *Facts) External() bool {
	return bench.OrZero(c.Plan.Database).Kind == runfile.DatabaseExternal
}

// IsPNFS reports whether pNFS was declared.
func (c *Facts) IsPNFS() bool { return c.Plan.Engine.NFSVersion == bench.PNFS }
