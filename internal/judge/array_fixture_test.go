package judge

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// twoNodes is good against an array of two nodes that told everything: volume
// ora1 is on node a, and the load goes to the one LIF of the node that is named.
// The other node is idle, or passes on.
func twoNodes(node string) func(testing.TB) runfile.Result {
	return func(t testing.TB) runfile.Result {
		t.Helper()
		r := good(t)
		addresses := map[string]string{"a": "10.0.1.61", "b": "10.0.2.61"}
		r.Plan.Engine.Server, r.Plan.Engine.Channels = "array1", runfile.ChannelsTo(addresses[node])
		r.Plan.Link.BitsPerSecond = *bench.Bits(20e9)
		r.Plan.Collect.Sources = []runfile.Source{{Kind: runfile.SourceONTAP, Name: "array", SVM: "svm1", OneClient: true}}
		r.Plan.Survey = survey()
		eachRep(&r, func(rep *runfile.Repetition) {
			rep.Channels = []runfile.Channel{{Local: "10.0.9.9", Path: addresses[node], State: "Up", BytesRead: goodBytes}}
		})
		eachWindow(&r, runfile.SpanBaseline, func(w *runfile.ObservedWindow) {
			w.Storage[0].Nodes = cpus(20, 10)
		})
		eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
			s := &w.Storage[0]
			s.Nodes, s.VolumeNodes = cpus(320, 20), []string{"a"}
			s.Paths = []runfile.StoragePath{
				{Address: "10.0.1.61", Name: "lif1", Node: "a", ReadBytes: new(int64(0)), WriteBytes: new(int64(0))},
				{Address: "10.0.2.61", Name: "lif2", Node: "b", ReadBytes: new(int64(0)), WriteBytes: new(int64(0))},
			}
			if node == "b" {
				s.Nodes = cpus(330, 350)
				s.Paths[1].ReadBytes = new(goodBytes)
			} else {
				s.Paths[0].ReadBytes = new(goodBytes)
			}
			s.ReadMicroseconds = new(int64(goodOps * 9_000))
			w.CollectorCPUMicroseconds = new(int64(300_000))
		})
		return r
	}
}

func cpus(a, b int32) []runfile.StorageNodeWindow {
	return []runfile.StorageNodeWindow{{Name: "b", CPUPermille: &b}, {Name: "a", CPUPermille: &a}}
}

func survey() *runfile.Survey {
	return &runfile.Survey{
		Version: runfile.SurveyVersion, Source: "array", Array: "ONTAP 9.14.1, cluster c1, SVM svm1", Time: t0,
		Nodes: []runfile.SurveyNode{{Name: "a"}, {Name: "b"}},
		LIFs: []runfile.LIF{
			{Name: "lif1", Address: "10.0.1.61", Prefix: 24, Node: "a", HomeNode: "a", AtHome: new(true), Up: new(true)},
			{Name: "lif2", Address: "10.0.2.61", Prefix: 24, Node: "b", HomeNode: "b", AtHome: new(true), Up: new(true)},
		},
		Volume: &runfile.SurveyVolume{Name: "ora1", Node: "a", State: "online"},
		NFS:    &runfile.NFSService{TransferSizeBytes: new(int64(1 << 20))},
	}
}

// measured changes the storage's part of each measured window.
func measured(f func(*runfile.StorageWindow)) func(*runfile.Result) {
	return inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { f(&w.Storage[0]) })
}

// one changes it in one repetition only.
func one(repetition int32, f func(*runfile.StorageWindow)) func(*runfile.Result) {
	return func(r *runfile.Result) {
		eachWindow(r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
			if w.Repetition == repetition {
				f(&w.Storage[0])
			}
		})
	}
}

// sampled adds readings of the array: one before the first repetition, one in
// each, as f makes them.
func sampled(r *runfile.Result, f func(*runfile.StorageSample, int)) {
	for i := range 4 {
		s := runfile.StorageSample{Source: "array", Time: t0.Add(time.Duration(i)*100*time.Second + 30*time.Second), VolumeNode: "a", Paths: []runfile.StoragePath{{Address: "10.0.1.61", Node: "a"}}}
		f(&s, i)
		r.Clients[0].Observed.Storage = append(r.Clients[0].Observed.Storage, s)
	}
}

// pnfsRun is a pNFS mount by the LIF of node b, redirected to node a.
func pnfsRun(t testing.TB) runfile.Result {
	t.Helper()
	r, array := kernelRun(t), twoNodes("a")(t)
	r.Plan.Engine.NFSVersion, r.Plan.Survey, r.Plan.Collect = "pNFS", array.Plan.Survey, array.Plan.Collect
	m := r.Clients[0].Load.Mount
	m.Source, m.Options = "array:/vol", []string{"rw", "vers=4.1", "addr=10.0.2.61"}
	mounts := r.Clients[0].Observed.Windows
	for i, w := range array.Clients[0].Observed.Windows {
		w.Mount = mounts[i].Mount
		mounts[i] = w
	}
	eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Mount.PNFSReads = 1000 })
	return r
}
