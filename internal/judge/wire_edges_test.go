package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// docs/findings.md says from which share on each finding is told.
func TestFindingsOfTheWireBeginWhereTheDocsSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		permille int64
		want     Code // of the wire; empty = none
	}{
		{849, BelowWireSpeed}, {851, ""}, {949, ""}, {951, LineSaturated}, {1019, LineSaturated}, {1022, AboveWireLimit},
	} {
		r := good(t)
		limit := newFacts(r).Wire.ReadBytesPerSecond
		eachRep(&r, func(rep *runfile.Repetition) {
			rep.Read.Bytes = limit * c.permille / 1000 * int64(rep.End.Sub(rep.Start).Seconds())
			for i := range rep.Channels {
				rep.Channels[i].BytesRead = rep.Read.Bytes / int64(len(rep.Channels))
			}
		})
		var got Code
		for _, f := range Judge(r).Findings {
			switch f.Code {
			case BelowWireSpeed, LineSaturated, AboveWireLimit:
				got = f.Code
			default:
			}
		}
		if got != c.want {
			t.Errorf("%d permille of the wire limit: %q, want %q", c.permille, got, c.want)
		}
	}
}

// Two pods of one machine share its interfaces; on two machines there are twice as
// many.
func TestClientsOfOneMachineShareItsLinks(t *testing.T) {
	t.Parallel()
	for node, links := range map[string]int{"node0": 2, "node1": 4} {
		r := good(t)
		discover(&r, 10e9)
		second := r.Clients[0]
		second.Index, second.Host.Node = 1, node
		r.Clients = append(r.Clients, second)
		if w := newFacts(r).Wire; w == nil || len(w.Links) != links {
			t.Errorf("the second client is on %s: %+v, want %d links", node, w, links)
		}
	}
}

// Requests that carry data have other headers than replies that do.
func TestWritesAreComparedWithTheLimitOfWrites(t *testing.T) {
	t.Parallel()
	r := good(t)
	limit := newFacts(r).Wire
	if limit.WriteBytesPerSecond == limit.ReadBytesPerSecond {
		t.Fatal("both directions have one limit: the test shows nothing")
	}
	eachRep(&r, func(rep *runfile.Repetition) {
		rep.Read, rep.Write = nil, rep.Read
		rep.Write.Bytes = limit.WriteBytesPerSecond * int64(rep.End.Sub(rep.Start).Seconds())
	})
	j := Judge(r)
	if got := *j.Summary.WirePermille; got != 1000 {
		t.Errorf("%d permille of the wire limit, want 1000", got)
	}
	want := human.Throughput(limit.WriteBytesPerSecond) + " of " + human.Throughput(limit.WriteBytesPerSecond)
	if !hasFinding(j, LineSaturated, want) {
		t.Errorf("no finding says %q: %+v", want, j.Findings)
	}
}

// The spec, the status and the records of suites have these shares in percent.
func TestSharesWithAThresholdAreInPercentInJSON(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(Judgement{
		VariationPermille: new(measure.Permille(41)),
		Summary:           &measure.Summary{WirePermille: new(measure.Permille(984)), Total: measure.Direction{WirePermille: new(measure.Permille(983))}},
		Steps:             []measure.StepSummary{{Users: 1, WirePermille: new(measure.Permille(7))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"variationPercent":4.1`, `"wirePercent":98.4`, `"wirePercent":98.3`, `"wirePercent":0.7`, `"users":1`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	if strings.Contains(string(raw), "wirePermille") || strings.Contains(string(raw), "variationPermille") {
		t.Errorf("two units of one thing in %s", raw)
	}
}
