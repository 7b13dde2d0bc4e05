package faults

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// dice is a seeded source for many goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, 1))} }

// one reports true once in n times.
func (d *dice) one(n int) bool { return d.below(n) == 0 }

func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// chaotic is a server that now and then does everything wrong that can be
// survived.
func chaotic(d *dice) *faulty.Server {
	return &faulty.Server{
		Hook: func(c faulty.Call) faulty.Action {
			if !isData(c) || !d.one(3000) {
				return faulty.Answer
			}
			acts := []faulty.Action{faulty.Disconnect, faulty.Lose, faulty.Truncate, faulty.TryLater}
			return acts[d.below(len(acts))]
		},
		Delay: func(c faulty.Call) time.Duration {
			switch {
			case !isData(c) || !d.one(20):
				return 0
			case d.one(50):
				return 500 * time.Millisecond
			}
			return time.Duration(d.below(20)) * time.Millisecond
		},
		// Whole sectors: two writes of one block may be under way at once, and what
		// comes of them is told sector by sector.
		Short: func(faulty.Call) uint32 {
			if d.one(50) {
				return content.SectorBytes * uint32(1+d.below(7))
			}
			return 0
		},
	}
}

func TestNothingIsLostInChaos(t *testing.T) {
	four := []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}
	for name, tc := range map[string]struct {
		seed   uint64
		at     []string
		change []func(*runfile.Plan)
	}{
		"depth 1024 on one channel": {1, four[:1], []func(*runfile.Plan){load(4096, 1024, 1)}},
		"depth 1024 on four":        {2, four, []func(*runfile.Plan){load(4096, 1024, 1), pattern(bench.PatternCopy)}},
		"four channels, four jobs":  {3, four, []func(*runfile.Plan){load(64<<10, 16, 4)}},
		"reads on four channels":    {4, four, []func(*runfile.Plan){load(16<<10, 64, 2), pattern(bench.PatternRandomRead)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDice(tc.seed)
			s := chaotic(d)
			s.Start(t, tc.at...)
			r := start(t, plan(site{paths: tc.at, port: s.Port()}, 10, tc.change...))
			r.await(runfile.SpanMeasure)
			r.goOn()
			for r.in() == runfile.SpanMeasure {
				pass(time.Duration(200+d.below(600)) * time.Millisecond)
				if d.one(4) {
					s.Restart()
				} else {
					s.Reset(tc.at[d.below(len(tc.at))])
				}
			}
			wantClean(t, r.finish())
		})
	}
}
