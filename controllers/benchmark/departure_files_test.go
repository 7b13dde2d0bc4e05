package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestOnlyARunThatCameToItsFilesHasAnyToRemove(t *testing.T) {
	at := func(span string) []runfile.Progress {
		return []runfile.Progress{{Event: runfile.Event{Span: span}}}
	}
	result := func(kinds ...string) *runfile.Result {
		c := runfile.ClientResult{}
		for _, k := range kinds {
			c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: k})
		}
		return &runfile.Result{Clients: []runfile.ClientResult{c}}
	}
	cases := map[string]struct {
		reason string
		scope  scope
		want   bool
	}{
		"nothing heard":             {"no pod has started", scope{}, false},
		"connecting":                {"the export was not reached yet", scope{progress: at(runfile.SpanConnect)}, false},
		"filling":                   {"files are being made", scope{progress: at(runfile.SpanFill)}, true},
		"ended at the mount":        {"a refused mount leaves nothing", scope{progress: at(runfile.SpanDone), result: result(runfile.SpanConnect, runfile.SpanDone)}, false},
		"ended in the fill":         {"a full export holds what was written", scope{progress: at(runfile.SpanDone), result: result(runfile.SpanConnect, runfile.SpanFill, runfile.SpanDone)}, true},
		"ended, its result is lost": {"it may have filled", scope{progress: at(runfile.SpanDone), result: &runfile.Result{}}, true},
		"crashed while it filled":   {"its progress stays where it was", scope{progress: at(runfile.SpanFill), result: result(runfile.SpanConnect)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := filesTouched(&tc.scope); got != tc.want {
				t.Errorf("filesTouched is %v: %s", got, tc.reason)
			}
		})
	}
}
