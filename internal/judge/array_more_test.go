package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func counterCases(t *testing.T) map[string]findingCase {
	t.Helper()
	reads := func(pct int64) func(*runfile.Result) {
		return measured(func(w *runfile.StorageWindow) { w.ReadBytes = new(goodBytes * pct / 100) })
	}
	part := func(seconds float64, pct int64) func(*runfile.Result) {
		return measured(func(w *runfile.StorageWindow) {
			w.Seconds, w.ReadBytes = seconds, new(int64(float64(goodBytes*pct/100)*seconds/60))
		})
	}
	scraped := func(seconds float64) func(*runfile.Result) {
		return func(r *runfile.Result) {
			r.Plan.Collect.Sources[0].Kind = runfile.SourcePrometheus
			part(seconds, 30)(r)
		}
	}
	return map[string]findingCase{
		"ArrayMore":      {nil, reads(150), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `Storage array counted 3342\.\d MB/s of reads and the clients 2228\.\d MB/s \(repetition 1, 2, 3\): somebody else uses it`},
		"ArrayLess":      {nil, reads(50), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `counted 1114\.\d MB/s of reads and the clients 2228\.\d MB/s .*a cache on the way .*storage\.array names another volume`},
		"ArrayAlike":     {nil, reads(109), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayAlikeLess": {nil, reads(91), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayForeignWrites": {
			nil, measured(func(w *runfile.StorageWindow) { w.WriteBytes = new(int64(6e9)) }), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect,
			`counted 100\.0 MB/s of writes and the clients 0\.0 MB/s`,
		},
		"ArrayOnce":         {nil, one(2, func(w *runfile.StorageWindow) { w.ReadBytes = new(goodBytes * 2) }), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `\(repetition 2\)`},
		"ArrayWorst":        {nil, both(reads(150), one(3, func(w *runfile.StorageWindow) { w.ReadBytes = new(goodBytes * 2) })), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `counted 4456\.\d MB/s .*1, 2, 3`},
		"ArrayHalfSeen":     {nil, part(30, 55), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayHalfSeenLess": {nil, part(30, 30), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `a cache`},
		"ArrayHardlySeen":   {nil, part(1, 1), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayOneReading":   {nil, measured(func(w *runfile.StorageWindow) { *w = runfile.StorageWindow{Source: "array"} }), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayReset":        {nil, one(1, func(w *runfile.StorageWindow) { w.Reset, w.ReadBytes = true, new(int64(0)) }), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayUnknown":      {nil, measured(func(w *runfile.StorageWindow) { w.ReadBytes, w.WriteBytes = nil, nil }), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayScraped":      {nil, scraped(60), ArrayDisagrees, "", bench.ValidityValid, ""},
		"ArrayPageCache": {pnfsRun, func(r *runfile.Result) {
			reads(50)(r)
			eachWindow(r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Mount.ServerReadBytes = goodBytes / 2 })
		}, ArrayDisagrees, "", bench.ValiditySuspect, ""},
		"ArrayCacheOfItsOwn": {nil, func(r *runfile.Result) {
			reads(50)(r)
			r.Plan.Workload.Raw.FileSize = *bench.Bytes(1 << 30)
			h := histogram(t, 100, 120)
			eachRep(r, func(rep *runfile.Repetition) { rep.Read.Histogram = h })
		}, ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `a cache`},
		"StorageCPUBound":     {nil, measured(func(w *runfile.StorageWindow) { w.Nodes = cpus(900, 20) }), StorageCPUBound, bench.SeverityWarning, bench.ValidityValid, `storage node a was 90\.0 % busy`},
		"StorageCPUOfOthers":  {nil, measured(func(w *runfile.StorageWindow) { w.Nodes = cpus(320, 950) }), StorageCPUBound, "", bench.ValidityValid, ""},
		"StorageCPUOfAnEntry": {twoNodes("b"), measured(func(w *runfile.StorageWindow) { w.Nodes = cpus(320, 950) }), StorageCPUBound, bench.SeverityWarning, bench.ValidityValid, `storage node b`},
		"StorageCPUOfManyOwners": {nil, func(r *runfile.Result) {
			r.Plan.Survey.Volume.Node = ""
			measured(func(w *runfile.StorageWindow) { w.Nodes, w.VolumeNodes = cpus(320, 950), nil })(r)
		}, StorageCPUBound, bench.SeverityWarning, bench.ValidityValid, `storage node b`},
		"StorageCPUNearlyFull": {nil, measured(func(w *runfile.StorageWindow) { w.Nodes = cpus(899, 20) }), StorageCPUBound, "", bench.ValidityValid, ""},
	}
}

func TestLongWindowsOfAPrometheusAreCompared(t *testing.T) {
	t.Parallel()
	r := twoNodes("a")(t)
	r.Plan.Collect.Sources[0].Kind = runfile.SourcePrometheus
	eachRep(&r, func(rep *runfile.Repetition) { rep.End = rep.Start.Add(300e9) })
	measured(func(w *runfile.StorageWindow) { w.Seconds, w.ReadBytes = 300, new(goodBytes/3) })(&r)
	if j := Judge(r); !hasFinding(j, ArrayDisagrees, "") {
		t.Errorf("%+v", j.Findings)
	}
}

// A Prometheus reports values that are a minute or two older than their timestamp.
func TestTheValuesOfAPrometheusAreNotComparedWithTheSamplesOfTheirTime(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{runfile.SourcePrometheus: false, runfile.SourceONTAP: true} {
		r := twoNodes("a")(t)
		r.Plan.Collect.Sources[0].Kind = kind
		cl := &r.Clients[0]
		rep := &cl.Load.Repetitions[0]
		rep.End = rep.Start.Add(400 * time.Second)
		rep.Read.Bytes = goodBytes / 60 * 400
		cl.Load.Repetitions, cl.Load.Samples = cl.Load.Repetitions[:1], nil
		for i := range 400 {
			cl.Load.Samples = append(cl.Load.Samples, runfile.LoadSample{
				Time: rep.Start.Add(time.Duration(i+1) * time.Second), Span: runfile.SpanMeasure, Repetition: 1,
				Read: &runfile.SampleOps{Bytes: goodBytes / 60},
			})
		}
		measured(func(w *runfile.StorageWindow) { w.Seconds, w.ReadBytes = 385, new(goodBytes/60*385*11/10) })(&r)
		eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
			w.Storage[0].Start, w.Storage[0].End = w.Start, w.Start.Add(385*time.Second)
		})
		if f := findingOf(Judge(r), ArrayDisagrees); (f != nil) != want {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

func moveCases() map[string]findingCase {
	during := one(2, func(w *runfile.StorageWindow) { w.VolumeNodes = []string{"a", "b"} })
	after := one(3, func(w *runfile.StorageWindow) { w.VolumeNodes = []string{"b"} })
	readings := func(r *runfile.Result) {
		sampled(r, func(s *runfile.StorageSample, i int) {
			if i >= 2 {
				s.VolumeNode = "b"
			}
		})
	}
	lif := both(one(3, func(w *runfile.StorageWindow) { w.Paths[0].Node = "b" }))
	return map[string]findingCase{
		"VolumeMoved":        {nil, both(during, after), VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `^Volume ora1 moved from node a to b \(seen in repetition 2\)`},
		"VolumeMovedWhen":    {nil, both(during, after, readings), VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `to b at 2026-09-01T12:03:50Z \(seen`},
		"VolumeMovedBefore":  {nil, measured(func(w *runfile.StorageWindow) { w.VolumeNodes = []string{"b"} }), VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `from node a to b \(seen in repetition 1\)`},
		"VolumeMovedBetween": {nil, after, VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `seen in repetition 3`},
		"VolumeOfAnotherArray": {nil, func(r *runfile.Result) {
			measured(func(w *runfile.StorageWindow) { w.VolumeNodes = []string{"b"} })(r)
			r.Plan.Survey.Source = "other"
		}, VolumeMoved, "", bench.ValidityValid, ""},
		"VolumeStays":       {nil, func(*runfile.Result) {}, VolumeMoved, "", bench.ValidityValid, ""},
		"VolumeNodeUnknown": {nil, measured(func(w *runfile.StorageWindow) { w.VolumeNodes = nil }), VolumeMoved, "", bench.ValidityValid, ""},
		"LIFMoved":          {nil, lif, VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `^LIF lif1 \(10\.0\.1\.61\) moved from node a to b \(seen in repetition 3\)`},
		"LIFMovedWhen": {nil, both(lif, func(r *runfile.Result) {
			sampled(r, func(s *runfile.StorageSample, i int) {
				if i == 3 {
					s.Paths[0].Node = "b"
				}
			})
		}), VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `to b at 2026-09-01T12:05:30Z`},
		"LIFMovedBefore": {nil, measured(func(w *runfile.StorageWindow) { w.Paths[0].Node = "b" }), VolumeMoved, bench.SeverityWarning, bench.ValiditySuspect, `^LIF lif1 .*seen in repetition 1`},
		"LIFMovedUnused": {nil, one(3, func(w *runfile.StorageWindow) { w.Paths[1].Node = "a" }), VolumeMoved, "", bench.ValidityValid, ""},
	}
}

func settingCases() map[string]findingCase {
	capped := func(array, wanted int64) func(*runfile.Result) {
		return func(r *runfile.Result) {
			r.Plan.Survey.NFS.TransferSizeBytes = &array
			r.Clients[0].Load.Mount.ReadSizeBytes, r.Plan.Engine.TransferSizeBytes = 65536, wanted
		}
	}
	qos := func(q runfile.QoS, change ...func(*runfile.Result)) func(*runfile.Result) {
		q.Policy = "gold"
		return both(append(change, func(r *runfile.Result) { r.Plan.Survey.Volume.QoS = &q })...)
	}
	offset := func(ms int64) func(*runfile.Result) {
		return func(r *runfile.Result) { r.Plan.Survey.ClockOffsetMilliseconds = &ms }
	}
	const rate = goodBytes / 60
	return map[string]findingCase{
		"TransferSizeCapped":        {nil, capped(65536, 0), TransferSizeCapped, bench.SeverityWarning, bench.ValidityValid, `READ moves 64Ki, so each block of 1Mi takes several: the array allows 64Ki\. .*-vserver svm1 -tcp-max-xfer-size 1048576,`},
		"TransferSizeCappedWanted":  {nil, capped(65536, 262144), TransferSizeCapped, bench.SeverityWarning, bench.ValidityValid, `where 256Ki were asked for: the array allows 64Ki\. .*-tcp-max-xfer-size 262144,`},
		"TransferSizeNotTheArrays":  {nil, capped(1<<20, 0), TransferSizeReduced, bench.SeverityWarning, bench.ValidityValid, `the array allows 1Mi: the limit is that of the mount`},
		"TransferSizeCappedNotSaid": {nil, capped(1<<20, 0), TransferSizeCapped, "", bench.ValidityValid, ""},
		"TransferSizeSaidOnce":      {nil, capped(65536, 0), TransferSizeReduced, "", bench.ValidityValid, ""},
		"TransferSizeFull":          {nil, capped(65536, 65536), TransferSizeCapped, "", bench.ValidityValid, ""},
		"TransferSizeUnknown": {nil, func(r *runfile.Result) {
			r.Plan.Survey.NFS = nil
			r.Clients[0].Load.Mount.ReadSizeBytes = 65536
		}, TransferSizeReduced, bench.SeverityWarning, bench.ValidityValid, `tcp-max-xfer-size\), then mount again`},
		"QoSThrottledIOPS":  {nil, qos(runfile.QoS{MaxIOPS: new(int64(2230))}), QoSThrottled, bench.SeverityWarning, bench.ValidityValid, `policy gold of volume ora1 was reached: 2125 of 2230 IOPS\..*-policy-group gold`},
		"QoSThrottledBytes": {nil, qos(runfile.QoS{MaxBytesPerSecond: new(rate)}), QoSThrottled, bench.SeverityWarning, bench.ValidityValid, `2228\.2 MB/s of 2228\.2 MB/s`},
		"QoSOfAnotherLayer": {nil, qos(runfile.QoS{MaxIOPS: new(int64(8500))}, measured(func(w *runfile.StorageWindow) { w.ReadOps = new(int64(goodOps * 16)) })), QoSThrottled, "", bench.ValidityValid, ""},
		"QoSThrottledParts": {nil, qos(runfile.QoS{MaxIOPS: new(int64(8500))}, inRepetitions(func(rep *runfile.Repetition) { rep.Channels[0].Receives = goodOps * 4 })), QoSThrottled, bench.SeverityWarning, bench.ValidityValid, `8500 of 8500 IOPS`},
		"QoSNotReached":     {nil, qos(runfile.QoS{MaxIOPS: new(int64(2240)), MaxBytesPerSecond: new(rate * 11 / 10)}), QoSThrottled, "", bench.ValidityValid, ""},
		"QoSWithoutCeiling": {nil, qos(runfile.QoS{MaxIOPS: new(int64(0))}), QoSThrottled, "", bench.ValidityValid, ""},
		"ArrayClockAhead":   {nil, offset(7000), ClockSkew, bench.SeverityWarning, bench.ValidityValid, `clock of the array is 7 s ahead of that of the machine that surveyed it`},
		"ArrayClockBehind":  {nil, offset(-5000), ClockSkew, bench.SeverityWarning, bench.ValidityValid, `5 s behind that of the machine`},
		"ArrayClockGood":    {nil, offset(-4999), ClockSkew, "", bench.ValidityValid, ""},
		"StandInArray":      {nil, func(r *runfile.Result) { r.Plan.Survey.Array = "ONTAP stand-in 9.14.1" }, SimulatedStorage, bench.SeverityInfo, bench.ValidityValid, `nothing about an array`},
		"StandInSource":     {nil, func(r *runfile.Result) { r.Plan.Collect.Sources[0].Name = "stand-in" }, SimulatedStorage, bench.SeverityInfo, bench.ValidityValid, ""},
		"RealArray":         {nil, func(*runfile.Result) {}, SimulatedStorage, "", bench.ValidityValid, ""},
	}
}

func partialCases() map[string]findingCase {
	missing := func(m runfile.MissingFact) func(*runfile.Result) {
		return func(r *runfile.Result) { r.Plan.Survey.Missing = []runfile.MissingFact{m} }
	}
	problem := func(r *runfile.Result) {
		r.Clients[0].Observed.Problems = []runfile.CollectionError{{Source: "array", Message: "401: refused.", Count: 12}}
	}
	silent := inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Storage = nil })
	return map[string]findingCase{
		"ArrayMissing": {
			nil, missing(runfile.MissingFact{What: "CPU of the nodes", Why: "the account may not read it (403).", Fix: "Use an account of the cluster"}), ArrayMetricsPartial, bench.SeverityInfo, bench.ValidityValid,
			`^The array did not report CPU of the nodes: the account may not read it \(403\)\. Use an account of the cluster\.$`,
		},
		"ArrayMissingWithoutFix": {nil, missing(runfile.MissingFact{What: "QoS", Why: "unknown field"}), ArrayMetricsPartial, bench.SeverityInfo, bench.ValidityValid, `unknown field\.$`},
		"ArraySilent":            {nil, silent, ArrayMetricsPartial, bench.SeverityWarning, bench.ValidityValid, `Source array has no usable counters in 3 of 3 repetitions: there are no two readings`},
		"ArraySameReading":       {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Storage = []runfile.StorageWindow{{Source: "array"}} }), ArrayMetricsPartial, bench.SeverityWarning, bench.ValidityValid, `did not change between two readings.*durationSeconds of 60`},
		"ArrayResetOnce":         {nil, one(2, func(w *runfile.StorageWindow) { w.Reset = true }), ArrayMetricsPartial, bench.SeverityWarning, bench.ValidityValid, `in 1 of 3 repetitions: its counters went back`},
		"ArrayUnreadable":        {nil, both(silent, problem), ArrayMetricsPartial, bench.SeverityWarning, bench.ValidityValid, `in 3 of 3 repetitions: it could not be read 12 times \(401: refused\)\.$`},
		"ArrayUnreadableOnce":    {nil, both(silent, problem), NotCollected, "", bench.ValidityValid, ""},
		"ArrayReadAgain":         {nil, problem, NotCollected, bench.SeverityInfo, bench.ValidityValid, `array could not be read 12 times`},
		"ArrayReadAgainIsWhole":  {nil, problem, ArrayMetricsPartial, "", bench.ValidityValid, ""},
		"EmbeddedIsNoArray":      {nil, both(silent, func(r *runfile.Result) { r.Plan.Collect.Sources[0].Kind = runfile.SourceEmbedded }), ArrayMetricsPartial, "", bench.ValidityValid, ""},
		"NothingCollected":       {nil, func(r *runfile.Result) { r.Clients[0].Observed = nil }, ArrayMetricsPartial, "", bench.ValidityValid, ""},
	}
}

// One client's collector asks the array for all: where the others ran at another
// time, its window has only a part of their load.
func TestTheArrayIsNotBlamedForClientsThatRanApart(t *testing.T) {
	t.Parallel()
	for apart, found := range map[time.Duration]bool{0: true, 20 * time.Second: false} {
		r := twoNodes("a")(t)
		other := r.Clients[0]
		other.Index, other.Observed = 1, nil
		other.Load.Repetitions = slices.Clone(other.Load.Repetitions)
		for i := range other.Load.Repetitions {
			rep := &other.Load.Repetitions[i]
			rep.Start, rep.End = rep.Start.Add(apart), rep.End.Add(apart)
		}
		r.Clients = append(r.Clients, other)
		measured(func(w *runfile.StorageWindow) { w.ReadBytes = new(goodBytes * 2 * 5 / 6) })(&r)
		if hasFinding(Judge(r), ArrayDisagrees, "") != found {
			t.Errorf("clients %v apart: found is not %v: %+v", apart, found, Judge(r).Findings)
		}
	}
}

// An array counts the volume of the data. What a database writes to redo logs elsewhere is not on it.
func TestTheArrayIsNotBlamedForRedoOnAnotherExport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		directory    string
		read, writes float64 // MB/s that the array counted of 100
		found        int
	}{
		"with the data":              {"", 100, 50, 1},
		"elsewhere":                  {"/redo", 100, 50, 0},
		"elsewhere, and more writes": {"/redo", 100, 200, 1},
		"elsewhere, and fewer reads": {"/redo", 50, 100, 1},
	} {
		f := &facts{Facts: &measure.Facts{Plan: runfile.Plan{Database: &runfile.Database{RedoDirectory: c.directory, DirectNFS: true}}}}
		f.Plan.Engine.Client = bench.ClientDirectNFS
		s := measure.RepetitionFacts{Together: 1, Summary: measure.Summary{DurationMilliseconds: 60_000, Total: measure.Direction{Ops: 1}, Read: &measure.Direction{ByteRate: 100e6}, Write: &measure.Direction{ByteRate: 100e6}}}
		w := runfile.StorageWindow{Seconds: 60, ReadBytes: new(int64(c.read * 60e6)), WriteBytes: new(int64(c.writes * 60e6))}
		if got := f.disagreements(s, w); len(got) != c.found {
			t.Errorf("%s: %+v, want %d", name, got, c.found)
		}
	}
}

// The array's readings cover 45 s of the 60 s of a repetition. Its counts are compared with the
// client samples of the same seconds.
func TestTheArrayIsComparedWithTheSecondsThatItCounted(t *testing.T) {
	t.Parallel()
	const perSecond = goodBytes / 60
	cases := map[string]struct {
		begin, end   int // seconds of the repetition that the array counted
		counted      int64
		interval     int32 // of the readings, in seconds
		change       func(*runfile.Result)
		more, absent bool
	}{
		"others read a tenth":               {begin: 10, end: 55, counted: 45 * perSecond * 10 / 9, more: true},
		"a cache answers a tenth":           {begin: 10, end: 55, counted: 45 * perSecond * 9 / 10},
		"alike, and a little more":          {begin: 10, end: 55, counted: 45 * perSecond * 102 / 100, absent: true},
		"alike, and a little less":          {begin: 10, end: 55, counted: 45 * perSecond * 98 / 100, absent: true},
		"the clocks differ by a reading":    {begin: 15, end: 60, counted: 40 * perSecond, interval: 5, absent: true},
		"the clocks cannot differ so much":  {begin: 15, end: 60, counted: 40 * perSecond, interval: 1},
		"others, and the clocks may differ": {begin: 15, end: 60, counted: 45 * perSecond * 10 / 9, interval: 5, more: true},
		"the load was slower elsewhere": {begin: 15, end: 60, counted: 45 * perSecond, absent: true, change: func(r *runfile.Result) {
			slower(r, 80)
			for i, s := range r.Clients[0].Load.Samples {
				if i%60 < 15 {
					s.Read.Bytes = s.Read.Bytes / 5
				}
			}
		}},
		"samples were left out": {begin: 10, end: 55, counted: 45 * perSecond * 10 / 9, absent: true, change: func(r *runfile.Result) {
			r.Clients[0].Load.SampleSeconds = 2
		}},
		"stamps of whole seconds, later":   {begin: 10, end: 55, counted: 46 * perSecond, absent: true},
		"stamps of whole seconds, earlier": {begin: 10, end: 55, counted: 44 * perSecond, absent: true},
		"more than stamps can hide":        {begin: 10, end: 55, counted: 484 * perSecond / 10, more: true},
		"less than stamps can hide":        {begin: 10, end: 55, counted: 418 * perSecond / 10},
		"samples that miss half of the load": {begin: 10, end: 55, counted: 45 * perSecond, absent: true, change: func(r *runfile.Result) {
			for i := range r.Clients[0].Load.Samples {
				r.Clients[0].Load.Samples[i].Read.Bytes /= 2
			}
		}},
		"samples that miss the seconds at the ends": {begin: 0, end: 60, counted: 60 * perSecond, absent: true, change: func(r *runfile.Result) {
			r.Clients[0].Load.Samples = slices.DeleteFunc(r.Clients[0].Load.Samples, func(s runfile.LoadSample) bool {
				return s.Time.Sub(t0)%(100*time.Second) <= 4*time.Second
			})
		}},
		"nothing is known of the seconds before": {begin: 0, end: 60, counted: 63 * perSecond, absent: true},
		"samples that are not in order": {begin: 10, end: 55, counted: 45 * perSecond * 10 / 9, absent: true, change: func(r *runfile.Result) {
			slices.Reverse(r.Clients[0].Load.Samples)
		}},
		"nodes that count at times of their own": {begin: 10, end: 55, counted: 45 * perSecond * 10 / 9, absent: true, change: func(r *runfile.Result) {
			r.Plan.Survey.Volume.Style = "flexgroup"
		}},
		"a window of half the size": {begin: 10, end: 35, counted: 25 * perSecond * 12 / 10, absent: true},
		"times are not known":       {counted: 45 * perSecond * 10 / 9, absent: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := twoNodes("a")(t)
			r.Plan.Collect.Sources[0].IntervalMilliseconds = 1000 * tc.interval
			if tc.change != nil {
				tc.change(&r)
			}
			eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
				s := &w.Storage[0]
				s.Seconds, s.ReadBytes = 45, new(tc.counted)
				if tc.end > 0 {
					s.Seconds = float64(tc.end - tc.begin)
					s.Start, s.End = w.Start.Add(time.Duration(tc.begin)*time.Second), w.Start.Add(time.Duration(tc.end)*time.Second)
				}
			})
			want := "a cache"
			if tc.more {
				want = "somebody else"
			}
			f := findingOf(Judge(r), ArrayDisagrees)
			if tc.absent && f != nil || !tc.absent && (f == nil || !strings.Contains(f.Message, want)) {
				t.Errorf("found %+v, want %q", f, want)
			}
		})
	}
}

func findingOf(j Judgement, code Code) *bench.Finding {
	for i, f := range j.Findings {
		if f.Code == code {
			return &j.Findings[i]
		}
	}
	return nil
}

// A client whose clock is slow counts in the same seconds.
func TestTheSamplesOfAnotherClientAreMovedByItsClock(t *testing.T) {
	t.Parallel()
	r := twoNodes("a")(t)
	r.Plan.Clients = 2
	other := client(t, 1)
	const behind = 20 * time.Second
	for i := range other.Load.Samples {
		other.Load.Samples[i].Time = other.Load.Samples[i].Time.Add(-behind)
	}
	for i := range other.Load.Repetitions {
		rep := &other.Load.Repetitions[i]
		rep.Start, rep.End = rep.Start.Add(-behind), rep.End.Add(-behind)
	}
	r.Clients[0].Observed.ClockOffsetMilliseconds = new(int64(0))
	other.Observed = &runfile.Observed{ClockOffsetMilliseconds: new(behind.Milliseconds())}
	r.Clients = append(r.Clients, other)
	for counted, want := range map[int64]bool{2 * goodBytes / 60 * 45: false, 2 * goodBytes / 60 * 40: true} {
		measured(func(w *runfile.StorageWindow) { w.Seconds, w.ReadBytes = 45, new(counted) })(&r)
		eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
			w.Storage[0].Start, w.Storage[0].End = w.Start.Add(10*time.Second), w.Start.Add(55*time.Second)
		})
		if f := findingOf(Judge(r), ArrayDisagrees); (f != nil) != want {
			t.Errorf("the array counted %d: %+v", counted, f)
		}
	}
}
