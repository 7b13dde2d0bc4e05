package judge

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestTheArrayObservesTheProtocol takes its list of clients, which the mount
// beside Direct NFS is on, too: it agrees, or says nothing.
func TestTheArrayObservesTheProtocol(t *testing.T) {
	client := runfile.StorageClient{Address: "10.244.0.5", Server: "10.0.1.61", Protocol: "nfs3"}
	cases := map[string]struct {
		declared bench.NFSVersion
		client   runfile.StorageClient
		want     statement
	}{
		"as declared":      {"NFSv3", client, agrees},
		"another version":  {"NFSv4.1", client, silent},
		"another address":  {"NFSv3", runfile.StorageClient{Address: "10.244.0.5", Server: "10.0.9.9", Protocol: "nfs3"}, silent},
		"4.1":              {"NFSv4.1", runfile.StorageClient{Address: "a", Server: "10.0.1.61", Protocol: "nfs4.1"}, agrees},
		"4.0 as nfs4":      {"NFSv4.0", runfile.StorageClient{Address: "a", Server: "10.0.1.61", Protocol: "nfs4"}, agrees},
		"pNFS is 4.1":      {"pNFS", runfile.StorageClient{Address: "a", Server: "10.0.1.61", Protocol: "nfs4.1"}, agrees},
		"pNFS is not nfs4": {"pNFS", runfile.StorageClient{Address: "a", Server: "10.0.1.61", Protocol: "nfs4"}, silent},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := runfile.Result{Clients: []runfile.ClientResult{{Observed: &runfile.Observed{Windows: []runfile.ObservedWindow{
				{Kind: runfile.SpanMeasure, Storage: []runfile.StorageWindow{{Clients: []runfile.StorageClient{tc.client}}}},
			}}}}}
			r.Plan.Engine.NFSVersion, r.Plan.Engine.Channels = tc.declared, runfile.ChannelsTo("10.0.1.61")
			if w := newFacts(r).arrayObservation(); w.text != "" {
				t.Error("there is no array, and it speaks")
			}
			r.Plan.Collect.Sources = []runfile.Source{{Kind: runfile.SourceONTAP}}
			w := newFacts(r).arrayObservation()
			if w.text == "" || w.says != tc.want || w.proof {
				t.Errorf("it says %d with proof %v: %s", w.says, w.proof, w.text)
			}
			if w.says == agrees && !strings.Contains(w.text, tc.client.Address+" by "+tc.client.Protocol) {
				t.Errorf("who it was is not told: %s", w.text)
			}
		})
	}
}
