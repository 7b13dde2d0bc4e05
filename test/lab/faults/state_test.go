package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
	"github.com/nfsbench/nfsbench/test/lab/pnfs"
)

// stateful are the versions whose servers keep state that a crash loses.
func stateful() []bench.NFSVersion { return []bench.NFSVersion{bench.NFSv40, bench.NFSv41} }

func TestGaneshaThatForgetsItsClientsLosesNothing(t *testing.T) {
	// With a grace period, opens are reclaimed; without, they are made anew.
	const grace = 20
	for name, options := range map[string][]string{"reclaimed": {"--grace", fmt.Sprint(grace)}, "anew": nil} {
		for _, version := range stateful() {
			t.Run(string(version)+", "+name, func(t *testing.T) {
				a := ganesha.Start(t, "state", []string{"10.234.3.0/24", "10.234.4.0/24"}, options...)
				at := site{paths: a.LIFs, export: a.Export}
				l := keep(t, at, version, "a", "b")
				const crashes = 2
				var seconds []float64
				for range crashes {
					a.Crash(t)
					began := time.Now()
					a.Revive(t)
					l.goesOn()
					seconds = append(seconds, time.Since(began).Seconds())
				}
				// Who must wait for the end of the grace period has reclaimed nothing.
				measure.Expect(t, "until load goes on after a crash", "s", measure.AtMost(grace), seconds...)
				servers := l.balance(at)
				if len(servers) != 1 || servers[0].Recoveries < crashes || servers[0].RecoveryMilliseconds == 0 {
					t.Errorf("servers %+v do not tell of %d recoveries", servers, crashes)
				}
			})
		}
	}
}

func TestAGaneshaPathThatIsCutKeepsItsState(t *testing.T) {
	for _, version := range append(stateful(), bench.NFSv3) {
		t.Run(string(version), func(t *testing.T) {
			a := ganesha.Start(t, "state", []string{"10.234.3.0/24", "10.234.4.0/24"})
			at := site{paths: a.LIFs, export: a.Export}
			l := keep(t, at, version, "a", "b")
			a.Cut(t, 2)
			l.channel(1, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" })
			l.goesOn()
			before := l.tgt.Channels()[1]
			a.Heal(t, 2)
			l.channel(1, "the path is in use again", func(c runfile.Channel) bool {
				return c.State == "Up" && c.BytesRead > before.BytesRead && c.BytesWritten > before.BytesWritten
			})
			for _, s := range l.balance(at) {
				if s.Recoveries != 0 {
					t.Errorf("server %+v tells of recoveries, and lost nothing", s)
				}
			}
		})
	}
}

// layouts starts the pNFS array, and picks names of files of which one lies on each node. The
// first node is mounted.
func layouts(t *testing.T) (*pnfs.Array, site, []string) {
	t.Helper()
	a := pnfs.Start(t, pnfs.Options{Name: "state", Subnets: []string{"10.234.5.0/24", "10.234.6.0/24"}})
	at := site{paths: []string{a.Nodes[0].Address}, export: a.Export}
	dir, err := open(t, at, bench.NFSv3).Directory(t.Context(), ledgerDir, true)
	if err != nil {
		t.Fatal(err)
	}
	var names [2]string
	for i := 0; names[0] == "" || names[1] == ""; i++ {
		name := fmt.Sprintf("f%d", i)
		f, err := dir.Open(t.Context(), name, target.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		names[a.Owner(t, ledgerDir+"/"+name)] = name
		if err := dir.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return a, at, names[:]
}

// dataServer returns the place of the channel to a data server, when it carries I/O.
func dataServer(l *ledger, address string) int {
	l.t.Helper()
	at := -1
	l.until("the data server "+address+" carries I/O", func() bool {
		at = slices.IndexFunc(l.tgt.Channels(), func(c runfile.Channel) bool {
			return c.Path == address && c.Role == bench.PathDataServer && c.BytesRead > 0 && c.BytesWritten > 0
		})
		return at >= 0
	})
	return at
}

// moves waits until a data server has carried a good deal more than in before.
func moves(l *ledger, ds int, before runfile.Channel) {
	l.t.Helper()
	l.channel(ds, "the data server is in use again", func(c runfile.Channel) bool {
		const enough = ledgerStep / 8 * ledgerBlock
		return c.State == "Up" && c.BytesRead > before.BytesRead+enough && c.BytesWritten > before.BytesWritten+enough
	})
}

func TestAGaneshaDataServerThatDiesIsReplacedByTheMetadataServer(t *testing.T) {
	a, at, names := layouts(t)
	l := keep(t, at, bench.PNFS, names...)
	ds := dataServer(l, a.Nodes[1].Address)
	fallbacks := func() int64 { return l.tgt.Servers()[0].LayoutFallbacks }
	before := fallbacks()
	a.Nodes[1].Crash(t)
	l.channel(ds, "the data server is given up", func(c runfile.Channel) bool { return c.State == "Down" })
	l.goesOn()
	l.until("the metadata server does its I/O", func() bool { return fallbacks() > before+ledgerStep/4 })
	moved := l.tgt.Channels()[ds]
	a.Nodes[1].Revive(t)
	moves(l, ds, moved)
	for _, s := range l.balance(at) {
		if s.Role == bench.PathMetadata && (s.Recoveries != 0 || s.LayoutFallbackBytes == 0 || s.LayoutType != runfile.LayoutTypeFiles) {
			t.Errorf("metadata server %+v, want fallbacks, and nothing recovered", s)
		}
		if s.Role == bench.PathDataServer && slices.Contains(s.Addresses, a.Nodes[1].Address) && s.Recoveries == 0 {
			t.Errorf("data server %+v, want a recovery", s)
		}
	}
}

func TestAGaneshaMetadataServerThatDiesGivesNewLayouts(t *testing.T) {
	a, at, names := layouts(t)
	l := keep(t, at, bench.PNFS, names...)
	ds := dataServer(l, a.Nodes[1].Address)
	granted := l.tgt.Servers()[0].LayoutsGranted
	a.Nodes[0].Crash(t)
	a.Nodes[0].Revive(t)
	l.until("the state is recovered", func() bool { return l.tgt.Servers()[0].Recoveries > 0 })
	l.until("layouts are granted again", func() bool {
		return l.tgt.Servers()[0].LayoutsGranted >= granted+int64(len(names))
	})
	moves(l, ds, l.tgt.Channels()[ds])
	l.goesOn()
	if s := l.balance(at)[0]; s.RecoveryMilliseconds == 0 || s.LayoutFallbacks == 0 {
		t.Errorf("metadata server %+v does not tell how long it was away, or of the I/O without layouts", s)
	}
}
