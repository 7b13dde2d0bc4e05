package judge

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// paused is good with a pause of 12.5 s in the second repetition, from 20.2 s on. The rate was half of what it was
// for five seconds afterwards, and then as before.
func paused(t testing.TB) runfile.Result {
	t.Helper()
	r := good(t)
	eachRep(&r, func(rep *runfile.Repetition) { rep.Pauses = &runfile.Pauses{LeastMilliseconds: 100} })
	r.Clients[0].Load.Repetitions[1].Pauses.Client = []runfile.Pause{{StartMilliseconds: 20_200, Milliseconds: 12_500}}
	for i := range r.Clients[0].Load.Samples {
		s := &r.Clients[0].Load.Samples[i]
		switch second := i % 60; {
		case s.Repetition != 2:
		case second >= 20 && second < 32:
			s.Read = nil
		case second >= 32 && second < 37:
			s.Read.Count /= 2
		}
	}
	return r
}

func TestAPauseIsFoundWithItsBeginItsLengthAndItsCost(t *testing.T) {
	t.Parallel()
	j := Judge(paused(t))
	// 12 s without any operation and 5 s with half of them, of 2125 a second.
	want := "Client 0 had no answer for 12.5 s, although operations waited, from 20.2 s of repetition 2 on " +
		"(2026-09-01 12:03:40.2 UTC). At the rate before it, 30815 more operations would have ended in that time; 4.3 s after it, the " +
		"rate was back at 95 %, and the level afterwards is 100.0 % of the one before."
	if !hasFinding(j, Paused, want) {
		t.Errorf("%+v", j.Findings)
	}
	if got := j.Summary.LongestPauseMicroseconds; got == nil || *got != 12_500_000 {
		t.Errorf("the summary has %v", got)
	}
}

func TestTheLongestPauseOfAllRepetitionsIsCompared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most   int64
		change func(*runfile.Result)
		want   bench.Verdict
	}{
		"longer":          {most: 12_000, want: bench.VerdictFail},
		"as long":         {most: 12_500, want: bench.VerdictPass},
		"none":            {most: 100, change: inRepetitions(func(rep *runfile.Repetition) { rep.Pauses.Client = nil }), want: bench.VerdictPass},
		"nobody knows it": {most: 100, change: inRepetitions(func(rep *runfile.Repetition) { rep.Pauses = nil }), want: bench.VerdictInconclusive},
	} {
		r := paused(t)
		r.Plan.Expect = &bench.Expect{MaxPauseMilliseconds: new(c.most)}
		if c.change != nil {
			c.change(&r)
		}
		if j := Judge(r); j.Verdict != c.want {
			t.Errorf("%s: %s, %+v", name, j.Verdict, j.Findings)
		}
	}
}

func TestWhatIsNoPauseIsNoFinding(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*runfile.Pauses, *runfile.Repetition){
		"shorter than a second": func(p *runfile.Pauses, _ *runfile.Repetition) { p.Client[0].Milliseconds = 999 },
		"operations take as long": func(_ *runfile.Pauses, rep *runfile.Repetition) {
			rep.Read.Histogram = histogram(t, 1000, 2_000_000)
		},
		"answers are as far apart": func(_ *runfile.Pauses, rep *runfile.Repetition) { rep.Read.Count = 40 },
		"a path that its client waits for": func(p *runfile.Pauses, _ *runfile.Repetition) {
			p.Client, p.Paths = nil, []runfile.PathPause{{Path: "path 10.0.1.61", Pause: runfile.Pause{StartMilliseconds: 20_200, Milliseconds: 900}}}
		},
		"before the window": func(p *runfile.Pauses, _ *runfile.Repetition) { p.Client[0].StartMilliseconds = -1 },
		"behind the window": func(p *runfile.Pauses, _ *runfile.Repetition) { p.Client[0].StartMilliseconds = math.MaxInt64 },
		"without a length":  func(p *runfile.Pauses, _ *runfile.Repetition) { p.Client[0].Milliseconds = math.MinInt64 },
	} {
		r := paused(t)
		rep := &r.Clients[0].Load.Repetitions[1]
		if change(rep.Pauses, rep); hasFinding(Judge(r), Paused, "") {
			t.Errorf("%s: %+v", name, Judge(r).Findings)
		}
	}
}

func TestAPauseEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	r := paused(t)
	r.Clients[0].Load.Repetitions[1].Pauses.Client[0].Milliseconds = math.MaxInt64
	j := Judge(r)
	if got := j.Summary.LongestPauseMicroseconds; got == nil || *got != 39_800_000 {
		t.Errorf("%v", got)
	}
}

func TestAPathThatStandsStillAloneIsANote(t *testing.T) {
	t.Parallel()
	r := paused(t)
	p := r.Clients[0].Load.Repetitions[1].Pauses
	of := runfile.PathPause{Path: "path 10.0.1.61", Pause: runfile.Pause{StartMilliseconds: 20_000, Milliseconds: 12_600}}
	if p.Paths = []runfile.PathPause{of}; strings.Contains(texts(Judge(r)), "path 10.0.1.61, client") {
		t.Error("the client stood still with it, which is said")
	}
	of.Milliseconds = 25_000
	p.Paths = []runfile.PathPause{of}
	want := "On path 10.0.1.61, client 0 had no answer for 25.0 s, while other paths had answers, from 20.0 s of repetition 2"
	if j := Judge(r); !hasFinding(j, Paused, want) {
		t.Errorf("%+v", j.Findings)
	}
}

// texts are all messages of a judgement.
func texts(j Judgement) string {
	var b strings.Builder
	for _, f := range j.Findings {
		b.WriteString(f.Message)
	}
	return b.String()
}

func TestAClientThatStoodStillItselfIsSaid(t *testing.T) {
	t.Parallel()
	for late, want := range map[int64]bool{6_000_000: false, 6_300_000: true, 12_400_000: true} {
		r := paused(t)
		r.Clients[0].Load.Repetitions[1].WakeUps = &runfile.WakeUps{Count: 1000, MaxMicroseconds: late}
		if j := Judge(r); hasFinding(j, Paused, "The client itself stood still in this repetition: it woke up to "+human.Seconds(late/1000)+" late.") != want {
			t.Errorf("%d us late: %+v", late, j.Findings)
		}
	}
}

func TestManyPausesAreOneFinding(t *testing.T) {
	t.Parallel()
	r := paused(t)
	p := r.Clients[0].Load.Repetitions[1].Pauses
	p.Client = append([]runfile.Pause{{StartMilliseconds: 10_000, Milliseconds: 2000}}, p.Client...)
	j := Judge(r)
	if !hasFinding(j, Paused, "It is the longest of 2 such pauses, which last 14.5 s together.") || strings.Count(texts(j), "had no answer") != 1 {
		t.Errorf("%+v", j.Findings)
	}
	p.Client = nil
	for i := range int64(1000) { // a file may say anything
		p.Client = append(p.Client, runfile.Pause{StartMilliseconds: 30 * i, Milliseconds: 2000})
	}
	if got := Judge(r).Repetitions[1].Pauses; len(got) != runfile.MaxPauses {
		t.Errorf("%d pauses", len(got))
	}
}

func TestTheRateThatDoesNotReturnIsSaid(t *testing.T) {
	t.Parallel()
	r := paused(t)
	for i := range r.Clients[0].Load.Samples {
		if s := &r.Clients[0].Load.Samples[i]; s.Repetition == 2 && i%60 >= 37 {
			s.Read.Count = s.Read.Count * 3 / 5
		}
	}
	want := "the rate did not return to 95 % of that until the end of the window, and the level afterwards is 60.0 % of the one before."
	if j := Judge(r); !hasFinding(j, Paused, want) {
		t.Errorf("%+v", j.Findings)
	}
	r.Clients[0].Load.Samples = nil
	if j := Judge(r); !hasFinding(j, Paused, "UTC). Look for what happened") {
		t.Errorf("without samples: %+v", j.Findings)
	}
}

func TestAPauseSaysHowItsConnectionsWentOn(t *testing.T) {
	t.Parallel()
	begin := t0.Add(220_200 * time.Millisecond)
	for name, c := range map[string]struct {
		losses [2][]runfile.ChannelLoss
		want   string
	}{
		"no connection was lost": {want: "UTC). At the rate"},
		"one that was over before": {
			losses: [2][]runfile.ChannelLoss{{{Start: begin.Add(-9 * time.Second), AnsweredMilliseconds: new(int64(8000))}}},
			want:   "UTC). At the rate",
		},
		"one that began afterwards": {losses: [2][]runfile.ChannelLoss{{{Start: begin.Add(13 * time.Second)}}}, want: "UTC). At the rate"},
		"the one that was answered first": {
			losses: [2][]runfile.ChannelLoss{
				{{Start: begin, NoticedMilliseconds: 400, ConnectedMilliseconds: new(int64(9000)), AnsweredMilliseconds: new(int64(14_000))}},
				{{Start: begin, NoticedMilliseconds: 500, ConnectedMilliseconds: new(int64(8000)), AnsweredMilliseconds: new(int64(12_500))}},
			},
			want: "The client gave up a connection of path 10.0.2.5 -> 10.0.2.61 0.5 s after its last answer, had another after 8.0 s and an answer over it after 12.5 s.",
		},
		"one without an answer": {
			losses: [2][]runfile.ChannelLoss{{{Start: begin, NoticedMilliseconds: 400, ConnectedMilliseconds: new(int64(9000))}}},
			want:   "0.4 s after its last answer, had another 9.0 s after that answer, and got nothing over it.",
		},
		"one without a connection": {
			losses: [2][]runfile.ChannelLoss{nil, {{Start: begin, NoticedMilliseconds: 400}}}, want: "0.4 s after its last answer and got no other.",
		},
	} {
		r := paused(t)
		rep := &r.Clients[0].Load.Repetitions[1]
		rep.Channels = slices.Clone(rep.Channels)
		rep.Channels[0].Losses, rep.Channels[1].Losses = c.losses[0], c.losses[1]
		if j := Judge(r); !hasFinding(j, Paused, c.want) {
			t.Errorf("%s: %+v", name, j.Findings)
		}
	}
}
