package judge

import (
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// away takes the first path away in a repetition.
func away(repetition int, milliseconds, reconnects int64) func(*runfile.Result) {
	return func(r *runfile.Result) {
		ch := &r.Clients[0].Load.Repetitions[repetition-1].Channels[0]
		ch.DownMilliseconds, ch.Reconnects = milliseconds, reconnects
	}
}

// still says that for 8 s of repetition 2 no path carried anything but the second, which carried others.
func still(others int64) func(*runfile.Result) {
	return func(r *runfile.Result) {
		for i := range r.Clients[0].Load.Samples {
			s := &r.Clients[0].Load.Samples[i]
			s.Channels = []runfile.PathBytes{{ID: 0, BytesRead: 1}, {ID: 1, BytesRead: 1}}
			if second := i % 60; s.Repetition == 2 && second >= 10 && second < 18 {
				s.Channels = []runfile.PathBytes{{ID: 0}, {ID: 1, BytesRead: others}, {ID: 3}}
			}
		}
	}
}

func lossCases() map[string]findingCase {
	const first = `Path 10\.0\.1\.5 -> 10\.0\.1\.61 `
	return map[string]findingCase{
		"ChannelLost": {nil, both(away(2, 8200, 3), still(5)), ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, first +
			`was down for 8\.2 s of 180\.0 s that were measured \(4\.5 %\), in repetition 2\. New connections: 3\. The other paths carried its I/O`},
		"ChannelLostByAStandstill": {
			nil, both(away(2, 8200, 3), still(0)), ChannelLost, bench.SeverityWarning, bench.ValiditySuspect,
			`In 8 of the 8 seconds in which it carried nothing, no other path did either: I/O stood still`,
		},
		"ChannelLostBesideAStandstill": {
			nil, both(away(2, 8200, 3), still(5), func(r *runfile.Result) {
				for i := 60 + 10; i < 60+13; i++ {
					r.Clients[0].Load.Samples[i].Channels[1].BytesRead = 0
				}
			}), ChannelLost, bench.SeverityWarning, bench.ValiditySuspect,
			`Of the 8 seconds in which it carried nothing, other paths carried I/O in 5, and in the other 3 all I/O waited`,
		},
		"ChannelLostAndNoSamples":  {nil, away(2, 8200, 3), ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `New connections: 3\. Look at`},
		"ChannelLostAsLongAsShows": {nil, away(1, 600, 1), ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `down for 0\.6 s`},
		"ChannelLostForAMoment":    {nil, away(1, 590, 1), ChannelLost, bench.SeverityInfo, bench.ValidityValid, `down for 0\.6 s`},
		"ChannelLostForLeast":      {nil, away(1, 100, 1), ChannelLost, bench.SeverityInfo, bench.ValidityValid, `down for 0\.1 s`},
		"ChannelLostTwice": {nil, func(r *runfile.Result) {
			away(1, 60, 1)(r)
			away(3, 50, 1)(r)
		}, ChannelLost, bench.SeverityInfo, bench.ValidityValid, `down for 0\.1 s .* in repetitions 1, 3\. New connections: 2`},
		"ChannelLostForGood": {nil, func(r *runfile.Result) {
			away(3, 20_000, 0)(r)
			r.Clients[0].Load.Repetitions[2].Channels[0].State = "Down"
		}, ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `down for 20\.0 s .*; it was still down at the end`},
		"ChannelLostLongerThanTheWindow": {nil, away(1, 61_000, 1), ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `down for 60\.0 s`},
		"ChannelLostAlone": {nil, func(r *runfile.Result) {
			r.Plan.Engine.Channels = []bench.ResolvedPath{{Local: "10.0.1.5", Path: "10.0.1.61"}}
			away(2, 8200, 1)(r)
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels = rep.Channels[:1]
				rep.Channels[0].BytesRead = goodBytes
			})
		}, ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `There was no other path, so all I/O waited`},
		"ChannelLostByTheOtherClient": {nil, func(r *runfile.Result) {
			other := r.Clients[0]
			other.Index = 1
			other.Load.Repetitions = slices.Clone(other.Load.Repetitions)
			for i := range other.Load.Repetitions {
				other.Load.Repetitions[i].Channels = slices.Clone(other.Load.Repetitions[i].Channels)
			}
			r.Plan.Clients, r.Clients = 2, append(r.Clients, other)
			away(2, 7000, 1)(r)
			r.Clients[1].Load.Repetitions[1].Channels[0].DownMilliseconds = 8000
		}, ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `down for 8\.0 s of 180\.0 s`},
		"ChannelReconnected": {nil, away(2, 99, 2), ChannelReconnected, bench.SeverityInfo, bench.ValidityValid, first + `lost its connection 2 times in repetition 2, and connected again at once`},
		"BelowWireSpeedForALostPath": {nil, func(r *runfile.Result) {
			slower(r, 50)
			for rep := range 3 {
				away(rep+1, 30_000, 1)(r)
			}
		}, BelowWireSpeed, bench.SeverityWarning, bench.ValiditySuspect, `Most likely first: path 10\.0\.1\.5 -> 10\.0\.1\.61 was down for 30\.0 s`},
	}
}

func codesOf(r runfile.Result) []Code {
	var codes []Code
	for _, f := range Judge(r).Findings {
		codes = append(codes, f.Code)
	}
	return codes
}

func TestALossIsToldOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		mutate func(*runfile.Result)
		want   []Code
	}{
		"long":     {"a path that was down connected anew as well", away(2, 8200, 3), []Code{ChannelLost}},
		"short":    {"a path that was back at once was not lost", away(2, 50, 3), []Code{ChannelReconnected}},
		"no trace": {"nothing happened", away(2, 0, 0), nil},
		"uneven": {"a lost path has not its share: that needs no second word", func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels[0].DownMilliseconds = 30_000
				rep.Channels[0].BytesRead = goodBytes / 4
				rep.Channels[1].BytesRead = goodBytes - goodBytes/4
			})
		}, []Code{ChannelLost}},
		"never there": {"a path that was never connected is an unused one", func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels[0].State, rep.Channels[0].DownMilliseconds = "Down", 60_000
				rep.Channels[0].BytesRead, rep.Channels[1].BytesRead = 0, goodBytes
			})
		}, []Code{PathUnused}},
		"gone soon": {"a path that was lost early carried next to nothing, which says not why", func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels[0].State, rep.Channels[0].DownMilliseconds = "Down", 59_900
				rep.Channels[0].BytesRead, rep.Channels[1].BytesRead = goodBytes/1000, goodBytes-goodBytes/1000
			})
		}, []Code{PathUnused, ChannelLost}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good(t)
			c.mutate(&r)
			if got := codesOf(r); !slices.Equal(got, c.want) {
				t.Errorf("%s: findings %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

func TestAPathTellsHowLongItWasAway(t *testing.T) {
	t.Parallel()
	r := good(t)
	away(2, 8200, 3)(&r)
	j := Judge(r)
	if got := j.Repetitions[1].Paths[0].DownMilliseconds; got != 8200 {
		t.Errorf("the path was away for %d ms, want 8200", got)
	}
	if got := j.Repetitions[1].Paths[1].DownMilliseconds; got != 0 {
		t.Errorf("the other path was away for %d ms", got)
	}
}
