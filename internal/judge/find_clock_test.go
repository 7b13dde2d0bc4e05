package judge

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// twoClients is a good result of two clients that ran together, as each saw it:
// the clock of the second is so far ahead of everybody's.
func twoClients(t *testing.T, ahead time.Duration, known bool) runfile.Result {
	t.Helper()
	r := good(t)
	r.Plan.Clients = 2
	other := good(t).Clients[0]
	other.Index, other.Host.Node = 1, "node-b"
	r.Clients = append(r.Clients, other)
	for i := range other.Load.Repetitions {
		rep := &other.Load.Repetitions[i]
		rep.Start, rep.End = rep.Start.Add(ahead), rep.End.Add(ahead)
	}
	if known {
		r.Clients[0].Observed.ClockOffsetMilliseconds = new(int64(300)) // as sure as it gets
		r.Clients[1].Observed.ClockOffsetMilliseconds = new(-ahead.Milliseconds() - 400)
	}
	return r
}

func TestAClockThatIsAMinuteOffIsNamedAndDoesNotTearClientsApart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ahead time.Duration
		says  string
	}{
		"ahead":  {time.Minute, `Client 1: the clock of node-b is 60 s ahead of that of the API server`},
		"behind": {-time.Minute, `Client 1: the clock of node-b is 60 s behind that of the API server`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := Judge(twoClients(t, tc.ahead, true))
			if !hasFinding(j, ClockSkew, tc.says) {
				t.Errorf("findings %+v, want one that says %s", j.Findings, tc.says)
			}
			if hasFinding(j, ClientsNotTogether, "") {
				t.Errorf("clients that ran together are told apart: %+v", j.Findings)
			}
			if want := Judge(twoClients(t, 0, true)); j.Validity != want.Validity || j.Summary.Total.BytesPerSecond != want.Summary.Total.BytesPerSecond {
				t.Errorf("validity %s and %d B/s, with right clocks %s and %d", j.Validity, j.Summary.Total.BytesPerSecond, want.Validity, want.Summary.Total.BytesPerSecond)
			}
		})
	}
}

func TestClocksThatAgreeAreNotCorrectedByTheErrorOfTheirOffsets(t *testing.T) {
	t.Parallel()
	r := twoClients(t, 0, true)
	for i := range r.Clients {
		for n := range r.Clients[i].Load.Repetitions {
			rep := &r.Clients[i].Load.Repetitions[n]
			rep.End = rep.Start.Add(5 * time.Second)
		}
	}
	r.Clients[1].Observed.ClockOffsetMilliseconds = new(int64(-600))
	if j := Judge(r); hasFinding(j, ClockSkew, "") || hasFinding(j, ClientsNotTogether, "") {
		t.Errorf("findings %+v", j.Findings)
	}
}

func TestTheShortLevelsOfASearchMayBeginApart(t *testing.T) {
	t.Parallel()
	apart := func(late time.Duration, seconds ...int) runfile.Result {
		r := searched(t, storageOf{40_000, 200}, 1, inSearch()...)
		r.Clients = append(r.Clients, searched(t, storageOf{40_000, 200}, 1, inSearch()...).Clients[0])
		r.Clients[1].Index = 1
		for i, s := range seconds {
			a, b := &r.Clients[0].Load.Repetitions[i], &r.Clients[1].Load.Repetitions[i]
			lasts := time.Duration(s) * time.Second
			a.End, b.Start, b.End = a.Start.Add(lasts), b.Start.Add(late), b.Start.Add(late+lasts)
		}
		return r
	}
	if j := Judge(apart(600*time.Millisecond, 2, 4, 14, 15)); hasFinding(j, ClientsNotTogether, "") {
		t.Errorf("%+v", j.Findings)
	}
	j := Judge(apart(3*time.Second, 2, 4, 20, 15, 16))
	n := 0
	for _, f := range j.Findings {
		if f.Code == ClientsNotTogether {
			n++
		}
	}
	if n != 1 || !hasFinding(j, ClientsNotTogether, "In repetition 4 (4096 operations/s, round 1) the clients ran together for only 80 %") {
		t.Errorf("%d findings: %+v", n, j.Findings)
	}
}

func TestWithoutOffsetsTheClocksOfTheClientsAreBelieved(t *testing.T) {
	t.Parallel()
	r := twoClients(t, time.Minute, false)
	if !hasFinding(Judge(r), ClientsNotTogether, "") {
		t.Error("nothing says that the clients ran together")
	}
	r.Clients[0].Observed.ClockOffsetMilliseconds = new(int64(60_000))
	if !hasFinding(Judge(r), ClientsNotTogether, "") {
		t.Error("the offset of one client says nothing of the other")
	}
}
