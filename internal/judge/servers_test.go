package judge

import (
	"regexp"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// over is good over a version of NFSv4 with the native engine, whose paths the server joined
// as trunking says.
func over(version string, trunking bench.Trunking) func(testing.TB) runfile.Result {
	return func(t testing.TB) runfile.Result {
		t.Helper()
		r := good(t)
		r.Plan.Engine.NFSVersion, r.Clients[0].Load.Mount.NFSVersion = bench.NFSVersion(version), version
		eachRep(&r, func(rep *runfile.Repetition) {
			rep.Servers = []runfile.NFSServer{{
				ID: 1, Role: bench.PathMetadata, NFSVersion: version, Addresses: []string{"10.0.1.61", "10.0.2.61"}, Owner: "array1", OwnerMinor: "0",
				Scope: "array1", Trunking: trunking, Slots: 64, Sessions: 1, LeaseSeconds: 90,
			}}
			for i := range rep.Channels {
				rep.Channels[i].Server = 1
			}
		})
		return r
	}
}

// nativePNFS reads from data servers at the addresses, by the metadata path of the wrong LIF:
// node b, while the volume is on node a.
func nativePNFS(addresses ...string) func(testing.TB) runfile.Result {
	return func(t testing.TB) runfile.Result {
		t.Helper()
		r := twoNodes("a")(t)
		r.Plan.Engine.NFSVersion, r.Plan.Engine.Channels = bench.PNFS, runfile.ChannelsTo("10.0.2.61")
		r.Plan.Link.BitsPerSecond = *bench.Bits(20e9 / int64(max(len(addresses), 1)))
		r.Clients[0].Load.Mount.NFSVersion = "NFSv4.1"
		eachRep(&r, func(rep *runfile.Repetition) {
			rep.Channels = []runfile.Channel{{Local: "10.0.9.9", Path: "10.0.2.61", State: "Up", Server: 1, Sends: 40}}
			rep.Servers = []runfile.NFSServer{{
				ID: 1, Role: bench.PathMetadata, NFSVersion: "NFSv4.1", Addresses: []string{"10.0.2.61"}, Slots: 64, Sessions: 1,
				LayoutType: runfile.LayoutTypeFiles, LayoutsGranted: 4,
			}}
			for i, a := range addresses {
				id := int32(i + 2)
				rep.Channels = append(rep.Channels, runfile.Channel{
					ID: id, Local: "10.0.9.9", Path: a, State: "Up", Server: id, Role: bench.PathDataServer,
					BytesRead: goodBytes / int64(len(addresses)),
				})
				rep.Servers = append(rep.Servers, runfile.NFSServer{
					ID: id, Role: bench.PathDataServer, NFSVersion: "NFSv4.1", Addresses: []string{a}, Slots: 64, Sessions: 1,
				})
			}
			if len(addresses) == 0 {
				rep.Channels[0].BytesRead = goodBytes
			}
		})
		return r
	}
}

func server(f func(*runfile.NFSServer)) func(*runfile.Result) {
	return func(r *runfile.Result) { eachRep(r, func(rep *runfile.Repetition) { f(&rep.Servers[0]) }) }
}

func TestTheNativeEngineProvesItsVersionByWhatServersAnswer(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	nothing := func(*runfile.Result) {}
	cases := map[string]struct {
		base     func(testing.TB) runfile.Result
		mutate   func(*runfile.Result)
		verified *bool
		mismatch bool
		observed string
		message  string
	}{
		"v3":                 {good, nothing, yes, false, "DirectNFS NFSv3 over 2 of 2 paths", `channels with NFSv3\.$`},
		"v4.0":               {over("NFSv4.0", bench.TrunkingClientID), nothing, yes, false, "DirectNFS NFSv4.0 over 2 paths (client ID trunking)", `NFSv4\.0`},
		"session trunking":   {over("NFSv4.1", bench.TrunkingSession), nothing, yes, false, "DirectNFS NFSv4.1 over 2 paths (session trunking)", `channels with NFSv4\.1 \(session trunking\)\.$`},
		"separate servers":   {over("NFSv4.1", bench.TrunkingSeparate), nothing, yes, false, "DirectNFS NFSv4.1 over 2 paths (separate servers)", `NFSv4\.1`},
		"another version":    {over("NFSv4.1", ""), server(func(s *runfile.NFSServer) { s.NFSVersion = "NFSv4.0" }), no, true, "DirectNFS NFSv4.0 over 2 paths", `NFSv4\.1 was declared and NFSv4\.0 carried`},
		"a path is down":     {over("NFSv4.1", bench.TrunkingSession), inRepetitions(func(rep *runfile.Repetition) { rep.Channels[1].State = "Down" }), no, false, "DirectNFS NFSv4.1 over 1 of 2 paths (session trunking)", `1 of 2 declared paths`},
		"pNFS":               {nativePNFS("10.0.1.61"), nothing, yes, false, "DirectNFS pNFS over 1 path and 1 data server", `100\.0 % of that by layouts to 1 data server\. Metadata went to node b, and data to node a\.$`},
		"two data servers":   {nativePNFS("10.0.1.61", "10.0.3.61"), nothing, yes, false, "DirectNFS pNFS over 1 path and 2 data servers", `to 2 data servers`},
		"multipath":          {nativePNFS("10.0.1.61", "10.0.3.61"), oneDataServer, yes, false, "DirectNFS pNFS over 1 path and 1 data server", `to 1 data server`},
		"the same address":   {nativePNFS("10.0.2.61"), nothing, yes, false, "DirectNFS pNFS over 1 path and 1 data server", `layouts to 1`},
		"no layout":          {nativePNFS(), nothing, no, true, "DirectNFS NFSv4.1 over 1 path", `pNFS was declared and the client used no layout`},
		"pNFS over v4.0":     {nativePNFS("10.0.1.61"), server(func(s *runfile.NFSServer) { s.NFSVersion = "NFSv4.0" }), no, true, "", `pNFS was declared and NFSv4\.0 carried`},
		"data server is off": {nativePNFS("10.0.1.61", "10.0.3.61"), inRepetitions(func(rep *runfile.Repetition) { rep.Channels[2].State = "Down" }), yes, false, "DirectNFS pNFS over 1 path and 2 data servers", ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tc.base(t)
			tc.mutate(&r)
			j := Judge(r)
			e := j.Protocol
			if e.Verified == nil || *e.Verified != *tc.verified || e.Mismatch != tc.mismatch {
				t.Errorf("verified %v, mismatch %v: %s", e.Verified, e.Mismatch, e.Message)
			}
			if tc.observed != "" && e.Observed != tc.observed {
				t.Errorf("observed %q, want %q", e.Observed, tc.observed)
			}
			if !regexp.MustCompile(tc.message).MatchString(e.Message) {
				t.Errorf("message %q does not match %q", e.Message, tc.message)
			}
			if tc.mismatch != (j.Validity == bench.ValidityInvalid) {
				t.Errorf("validity %s", j.Validity)
			}
		})
	}
}

// oneDataServer makes all addresses of data servers those of one.
func oneDataServer(r *runfile.Result) {
	eachRep(r, func(rep *runfile.Repetition) {
		ds := rep.Servers[1]
		for _, s := range rep.Servers[2:] {
			ds.Addresses = append(ds.Addresses, s.Addresses...)
		}
		rep.Servers = []runfile.NFSServer{rep.Servers[0], ds}
	})
}

func serverCases() map[string]findingCase {
	local := nativePNFS("10.0.1.61")
	v41 := over("NFSv4.1", bench.TrunkingSession)
	nothing := func(*runfile.Result) {}
	fallback := func(ios, bytes int64) func(*runfile.Result) {
		return func(r *runfile.Result) {
			s := &r.Clients[0].Load.Repetitions[1].Servers[0]
			s.LayoutFallbacks, s.LayoutFallbackBytes = ios, bytes
		}
	}
	recovered := func(times, ms int64) func(*runfile.Result) {
		return func(r *runfile.Result) {
			s := &r.Clients[0].Load.Repetitions[2].Servers[0]
			s.Recoveries, s.RecoveryMilliseconds = times, ms
		}
	}
	slots := func(granted, asked, sessions, depth int32) func(*runfile.Result) {
		return func(r *runfile.Result) {
			r.Plan.Workload.Raw.Jobs, r.Plan.Workload.Raw.Depth = 8, depth
			eachRep(r, func(rep *runfile.Repetition) {
				s := &rep.Servers[0]
				s.Slots, s.SlotsAsked, s.Sessions = granted, asked, sessions
			})
		}
	}
	waits := func(of, waits, ms int64, wanted int32) func(*runfile.Result) {
		return func(r *runfile.Result) {
			s := &r.Clients[0].Load.Repetitions[1].Servers[0]
			s.Slots, s.SlotsWanted, s.SlotRequests, s.SlotWaits, s.SlotWaitMilliseconds = 64, wanted, of, waits, ms
		}
	}
	return map[string]findingCase{
		"waits for slots":       {v41, waits(1000, 500, 2000, 0), SlotsLimited, bench.SeverityWarning, bench.ValidityValid, `^500 of 1000 READs and WRITEs \(50\.0 %\) waited .* 4000 us each on average, in repetition 2: .* grants 64 slots a session, and a job has 1, .* -v4\.x-session-num-slots\), or lower jobs x depth`},
		"waits for a target":    {v41, waits(1000, 10, 20, 8), SlotsLimited, bench.SeverityWarning, bench.ValidityValid, `grants 64 slots a session, and wanted no more than 8 used at times, and a job has 1,`},
		"few waits for slots":   {v41, waits(1000, 9, 20, 0), SlotsLimited, "", bench.ValidityValid, ""},
		"fewer I/Os than slots": {v41, slots(64, 64, 2, 32), SessionSlots, "", bench.ValidityValid, ""},
		"fallback":              {local, fallback(2000, goodBytes/10), LayoutFallback, bench.SeverityWarning, bench.ValiditySuspect, `^2000 I/Os with 12\.5 GiB \(3\.3 %\) .* in repetition 2\. .*port 2049`},
		"small fallback":        {local, fallback(1, 1<<20), LayoutFallback, bench.SeverityInfo, bench.ValidityValid, `^1 I/Os`},
		"no layout": {nativePNFS(), server(func(s *runfile.NFSServer) {
			s.LayoutsGranted, s.LayoutFallbacks, s.LayoutFallbackBytes = 0, 2000, goodBytes
		}), LayoutFallback, bench.SeverityWarning, bench.ValidityInvalid, `The server gave no layout, a data server did not answer`},
		"no fallback":           {local, nothing, LayoutFallback, "", bench.ValidityValid, ""},
		"fallback of v4.1":      {v41, fallback(1, 1<<20), LayoutFallback, "", bench.ValidityValid, ""},
		"blocks":                {nativePNFS(), server(func(s *runfile.NFSServer) { s.LayoutType = "blocks" }), LayoutTypeUnsupported, bench.SeverityWarning, bench.ValidityInvalid, `type blocks, and this client speaks files`},
		"files":                 {local, nothing, LayoutTypeUnsupported, "", bench.ValidityValid, ""},
		"recovered":             {v41, recovered(2, 1500), StateRecovered, bench.SeverityWarning, bench.ValiditySuspect, `again 2 times under load, in repetition 3: .* waited 1500 ms`},
		"recovered at once":     {v41, recovered(1, 50), StateRecovered, bench.SeverityInfo, bench.ValidityValid, `again 1 times`},
		"never recovered":       {v41, nothing, StateRecovered, "", bench.ValidityValid, ""},
		"separate":              {over("NFSv4.1", bench.TrunkingSeparate), nothing, PathsNotTrunked, bench.SeverityWarning, bench.ValidityValid, `10\.0\.1\.61, 10\.0\.2\.61 lead to servers that share no state.*-v4\.1-trunking enabled`},
		"client ID":             {over("NFSv4.1", bench.TrunkingClientID), nothing, PathsNotTrunked, bench.SeverityInfo, bench.ValidityValid, `one client ID and a session each`},
		"client ID of v4.0":     {over("NFSv4.0", bench.TrunkingClientID), nothing, PathsNotTrunked, "", bench.ValidityValid, ""},
		"trunked":               {v41, nothing, PathsNotTrunked, "", bench.ValidityValid, ""},
		"fewer slots than I/Os": {v41, slots(8, 16, 9, 4), SessionSlots, bench.SeverityInfo, bench.ValidityValid, `^32 I/Os \(jobs x depth\) .* in 9 sessions .* granted 8 slots a session where 16 were asked for\. .* most 8 I/Os outstanding`},
		"more than a mount":     {v41, slots(64, 64, 5, 32), SessionSlots, bench.SeverityInfo, bench.ValidityValid, `^256 I/Os .* in 5 sessions of NFSv4\.1\. A mount .* most 64 I/Os outstanding`},
		"as many as a mount":    {v41, slots(64, 64, 5, 8), SessionSlots, "", bench.ValidityValid, ""},
		"slots of NFSv4.0":      {over("NFSv4.0", ""), slots(0, 0, 0, 32), SessionSlots, "", bench.ValidityValid, ""},
		"not redirected":        {nativePNFS(), nothing, PNFSNotRedirected, bench.SeverityWarning, bench.ValidityInvalid, `no data server moved a byte, and the server granted 4 layouts`},
		"redirected":            {local, nothing, PNFSNotRedirected, "", bench.ValidityValid, ""},
		"data on the owner":     {local, nothing, IndirectPath, "", bench.ValidityValid, ""},
		"data elsewhere":        {nativePNFS("10.0.2.61"), nothing, IndirectPath, bench.SeverityWarning, bench.ValidityValid, `Path 10\.0\.2\.61 \(lif2\) is indirect`},
		"metadata is no path":   {local, nothing, PathUnused, "", bench.ValidityValid, ""},
		"uneven data servers":   {nativePNFS("10.0.1.61", "10.0.3.61"), uneven, PathImbalance, bench.SeverityWarning, bench.ValidityValid, `^The data servers carried different shares: data server 10\.0\.9\.9 -> 10\.0\.1\.61 75\.0 %`},
		"even data servers":     {nativePNFS("10.0.1.61", "10.0.3.61"), nothing, PathImbalance, "", bench.ValidityValid, ""},
		"data server lost": {nativePNFS("10.0.1.61", "10.0.3.61"), func(r *runfile.Result) {
			still(5)(r) // only channel 1 carries something
			r.Clients[0].Load.Repetitions[1].Channels[2].DownMilliseconds = 3000
		}, ChannelLost, bench.SeverityWarning, bench.ValiditySuspect, `data server 10\.0\.9\.9 -> 10\.0\.3\.61 was down for 3\.0 s .*through the metadata server meanwhile`},
	}
}

func uneven(r *runfile.Result) {
	eachRep(r, func(rep *runfile.Repetition) {
		rep.Channels[1].BytesRead, rep.Channels[2].BytesRead = goodBytes-goodBytes/4, goodBytes/4
	})
}

func TestAGoodRunOverEachVersionHasNoFinding(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]func(testing.TB) runfile.Result{
		"v4.0": over("NFSv4.0", bench.TrunkingClientID), "v4.1": over("NFSv4.1", bench.TrunkingSession),
		"pNFS": nativePNFS("10.0.1.61"), "pNFS of two": nativePNFS("10.0.1.61", "10.0.3.61"),
	} {
		if j := Judge(base(t)); len(j.Findings) > 0 || j.Validity != bench.ValidityValid {
			t.Errorf("%s: %s %+v", name, j.Validity, j.Findings)
		}
	}
}

func TestTheWireOfPNFSIsThatOfTheDataServers(t *testing.T) {
	t.Parallel()
	for n, addresses := range [][]string{{}, {"10.0.1.61"}, {"10.0.1.61", "10.0.3.61"}} {
		r := nativePNFS(addresses...)(t)
		r.Plan.Link.BitsPerSecond = *bench.Bits(10e9)
		w := Judge(r).Wire
		if w == nil || len(w.Links) != max(n, 1) {
			t.Errorf("%d data servers: %+v", n, w)
		}
	}
	r := nativePNFS("10.0.1.61")(t)
	discover(&r, 10e9)
	r.Clients[0].Observed.Interfaces = []runfile.Interface{
		{Name: "eth0", Addresses: []string{"10.0.9.9"}, SpeedBitsPerSecond: new(int64(25e9))},
		{Name: "eth1", Addresses: []string{"10.0.8.8"}, SpeedBitsPerSecond: new(int64(1e9))},
	}
	eachRep(&r, func(rep *runfile.Repetition) { rep.Channels[0].Local = "10.0.8.8" })
	if w := Judge(r).Wire; w == nil || len(w.Links) != 1 || w.Links[0].Label != "eth0" {
		t.Errorf("the interface of the metadata counts: %+v", w)
	}
}

func TestClientsThatSeeOneServerAreOneRow(t *testing.T) {
	t.Parallel()
	r := over("NFSv4.1", bench.TrunkingSession)(t)
	other := over("NFSv4.1", bench.TrunkingSession)(t).Clients[0]
	other.Index, other.Host.Node = 1, "node1"
	other.Load.Repetitions[0].Servers[0].ID = 9
	other.Load.Repetitions[0].Servers[0].Slots = 32
	other.Load.Repetitions[0].Servers[0].RecoveryMilliseconds = 70
	other.Load.Repetitions[0].Servers[0].Recoveries = 1
	r.Clients[0].Load.Repetitions[0].Servers[0].RecoveryMilliseconds = 30
	r.Clients[0].Load.Repetitions[0].Servers[0].Recoveries = 1
	r.Clients = append(r.Clients, other)
	got := newFacts(r).Repetitions[0].Servers
	if len(got) != 1 || got[0].Sessions != 2 || got[0].Slots != 32 || got[0].Recoveries != 2 || got[0].RecoveryMilliseconds != 70 {
		t.Errorf("%+v", got)
	}
}
