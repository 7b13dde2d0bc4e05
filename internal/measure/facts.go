package measure

import (
	"iter"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Facts holds the numbers of a result. Nothing changes them after Of returns.
type Facts struct {
	result runfile.Result
	engine engine

	Plan      runfile.Plan
	Simulated bool                   // a stand-in took part
	Clients   []Client               // those that returned a result
	Survey    runfile.Survey         // from the array before the run; zero = unknown
	Volume    runfile.SurveyVolume   // under load; zero = unknown
	Declared  []PathPair             // the channels of the plan
	Oracles   []runfile.Oracle       // what the loaders found out about the database
	Databases []runfile.OracleWindow // database counters of the windows that count
	Cores     float64                // most cores that the database can use; 0 = unknown, or all cores of its machine
	Block     int64                  // bytes of one I/O of the load; 0 = unknown
	Transfer  [2]int64               // bytes that one READ or WRITE moves, by direction
	Wire      *WireLimit             // nil: unknown
	timelines map[int32]*timeline    // by client

	Repetitions  []RepetitionFacts // those that count, of all steps
	warmups      []RepetitionFacts // those that do not count
	Steps        []StepSummary
	Calibrations []Calibration
	Bounds       []runfile.LatencyBound // of a search for capacity; empty for other loads
	Searches     []Search               // by round
	Capacity     *Capacity              // nil: no search
	Headline     []RepetitionFacts      // Overall is the median of these
	Overall      *RepetitionFacts       // nil: nothing was measured
	Database     *DatabaseSummary
	Variation    *int32
	Indirect     []Indirection
	Silent       []Silence
	Unreadable   []string // why latency histograms cannot be read
}

// RepetitionFacts holds the facts of one repetition over all clients: its summary, and the numbers that are not in
// it.
type RepetitionFacts struct {
	Summary

	parts          []part
	Together       float64                 // share of the shortest window in which all clients ran
	points         []stats.Point           // of all clients
	StorageWindows []runfile.StorageWindow // of each source once
	owner          string                  // the node that owned the data, if known
	Used           []string                // the storage addresses that carried the load
	Mount          MountLoad               // what the kernel mounts moved
	Databases      []runfile.OracleWindow  // database counters
	// Late operations began after they were due. Dropped operations never began.
	Late, Dropped int64
}

// Seconds returns the length of the longest window of a client.
func (s RepetitionFacts) Seconds() (longest float64) {
	for _, p := range s.parts {
		longest = max(longest, p.seconds)
	}
	return longest
}

// part is one client's part in a repetition.
type part struct {
	client  runfile.ClientResult
	rep     runfile.Repetition
	seconds float64
	window  *runfile.ObservedWindow // nil if the collector has none
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

// windowsOf returns the windows of a kind from a client's collector.
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

// Raw returns the raw workload; its zero value for other workloads.
func (c *Facts) Raw() bench.RawWorkload { return bench.OrZero(c.Plan.Workload.Raw) }

// Native reports whether our user-space client carried the load.
func (c *Facts) Native() bool { return !c.Kernel() && c.Engine() == EngineNative }

// Kernel reports whether the kernel's client did the I/O.
func (c *Facts) Kernel() bool { return c.Plan.Engine.Client == bench.ClientKernel }

// External reports whether a database on machines of its own made the load.
func (c *Facts) External() bool {
	return bench.OrZero(c.Plan.Database).Kind == runfile.DatabaseExternal
}

// IsPNFS reports whether pNFS was declared.
func (c *Facts) IsPNFS() bool { return c.Plan.Engine.NFSVersion == bench.PNFS }
