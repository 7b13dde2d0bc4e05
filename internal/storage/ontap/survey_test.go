package ontap_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/ports"
)

func TestASurveySaysEverything(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	began := time.Now()
	got, err := a.source().Survey(t.Context(), "/vol1")
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if o := got.ClockOffsetMilliseconds; o == nil || max(*o, -*o) > 1000+took.Milliseconds() {
		t.Errorf("the clock of this machine is %v ms off itself", o)
	}
	if since := got.Time.Sub(began); since < 0 || since > took {
		t.Errorf("the survey is dated %v, but it began at %v", got.Time, began)
	}
	got.ClockOffsetMilliseconds, got.Time = nil, time.Time{}
	yes, no := new(true), new(false)
	want := runfile.Survey{
		Version: runfile.SurveyVersion, Source: "array", Array: "ONTAP 9.14.1, cluster naclu1, SVM svm1",
		Nodes: []runfile.SurveyNode{{Name: "a", Model: "FAS8300", Up: yes}, {Name: "b", Model: "FAS8300", Up: yes}},
		LIFs: []runfile.LIF{
			{Name: "lif_a", Address: "10.0.1.61", Prefix: 24, Node: "a", HomeNode: "a", AtHome: yes, Up: yes},
			{Name: "lif_b", Address: "10.0.2.61", Prefix: 24, Node: "b", HomeNode: "a", AtHome: no, Up: yes},
		},
		Volume: &runfile.SurveyVolume{
			Name: "vol1", UUID: uuid, Export: "/vol1", Style: "flexvol", State: "online", Aggregate: "aggr_a", Node: "a",
			SizeBytes: new(int64(1 << 30)), AvailableBytes: new(int64(1 << 29)), ExportPolicy: "default",
		},
		NFS: &runfile.NFSService{Enabled: yes, V3: yes, V40: no, V41: yes, PNFS: no, TransferSizeBytes: new(int64(65536))},
		Rules: []runfile.ExportRule{
			{Index: 1, Clients: []string{"10.9.9.9"}, Protocols: []string{"any"}, ReadOnly: []string{"never"}, ReadWrite: []string{"never"}, SuperUser: []string{"never"}},
			{Index: 2, Clients: []string{"10.0.0.0/8", "@hosts"}, Protocols: []string{"nfs"}, ReadOnly: []string{"any"}, ReadWrite: []string{"sys"}, SuperUser: []string{"none"}},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, path := range []string{"/api/network/ip/interfaces", "/api/storage/volumes", "/api/protocols/nfs/services"} {
		for _, r := range a.requests(path) {
			if !strings.Contains(r, "svm.name=svm1") {
				t.Errorf("another SVM's would be read too: %s", r)
			}
		}
	}
}

func TestWithoutAnSVMThatOfTheVolumeIsSurveyed(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	s := a.source(func(s *runfile.Source) { s.SVM, s.Volume = "", "" })
	if _, err := s.Survey(t.Context(), "/vol1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.requests("/api/network/ip/interfaces") {
		if !strings.Contains(r, "svm.name=svm1") {
			t.Errorf("LIFs of all SVMs are read: %s", r)
		}
	}
	a.say("/api/storage/volumes", 200, records(volumeJSON("aggr_a", "", "ok", 1), strings.Replace(volumeJSON("aggr_a", "", "ok", 1), "svm1", "svm2", 1)))
	_, err := a.source(func(s *runfile.Source) { s.SVM = "" }).Survey(t.Context(), "/vol1")
	wantReason(t, err, runfile.SurveyNoVolume)
	if err != nil && !strings.Contains(err.Error(), "storage.array.ontap.svm") {
		t.Errorf("got %v", err)
	}
}

func TestNetmasksAreLengthsHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for mask, want := range map[string]int32{`"24"`: 24, `"64"`: 64, `16`: 16, `"255.255.255.0"`: 24, `"255.0.255.0"`: 0, `"::"`: 0, `"300"`: 0, `null`: 0} {
		a := newArray(t)
		a.say("/api/network/ip/interfaces", 200, records(strings.Replace(lifJSON("l", "10.0.0.1", "a", "a"), `"24"`, mask, 1)))
		if got, err := a.source().Survey(t.Context(), "/vol1"); err != nil || got.LIFs[0].Prefix != want {
			t.Errorf("%s: got %+v, %v", mask, got.LIFs, err)
		}
	}
}

func TestALIFIsUpWhenItIsEnabledAndItsStateSaysSo(t *testing.T) {
	t.Parallel()
	for facts, want := range map[string]*bool{
		`"enabled":true,"state":"up"`:    new(true),
		`"enabled":true,"state":"down"`:  new(false),
		`"enabled":false,"state":"up"`:   new(false),
		`"enabled":true`:                 nil,
		`"enabled":false,"state":"down"`: new(false),
	} {
		a := newArray(t)
		a.say("/api/network/ip/interfaces", 200, records(strings.Replace(lifJSON("l", "10.0.0.1", "a", "a"), `"enabled":true,"state":"up"`, facts, 1)))
		got, err := a.source().Survey(t.Context(), "/vol1")
		if err != nil || !cmp.Equal(want, got.LIFs[0].Up) {
			t.Errorf("%s: got %+v, %v", facts, got.LIFs, err)
		}
	}
}

func TestTheVersionIsTheOnePeopleCallIt(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"version":{"full":"NetApp Release 9.14.1P2: Fri Feb 2","generation":9,"major":14,"minor":1}}`: "ONTAP 9.14.1P2, SVM svm1",
		`{"version":{"full":"NetApp Release 9.14.1 (a stand-in): simulated"}}`:                          "ONTAP 9.14.1 (a stand-in), SVM svm1",
		`{"version":{"generation":9,"major":14,"minor":1}}`:                                             "ONTAP 9.14.1, SVM svm1",
		`{"name":"c"}`: "ONTAP, cluster c, SVM svm1",
	} {
		a := newArray(t)
		a.say("/api/cluster", 200, body)
		if got, err := a.source().Survey(t.Context(), "/vol1"); err != nil || got.Array != want {
			t.Errorf("got %q, %v, want %q", got.Array, err, want)
		}
	}
}

func TestTheClockOfTheArrayIsComparedWithOurs(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	now := time.Unix(2_000_000_000, 0)
	a.answer("/api/storage/volumes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", now.Add(90*time.Second).UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte(records(volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1))))
	})
	got, err := a.sourceAt(&now).Survey(t.Context(), "/vol1")
	if err != nil || got.ClockOffsetMilliseconds == nil || *got.ClockOffsetMilliseconds != 90_500 {
		t.Errorf("got %v, %v", got.ClockOffsetMilliseconds, err)
	}
}

func TestWhatTheRoleForbidsIsMissingWithTheCommandThatAllowsIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		path, what, api string
		cluster         bool
	}{
		"version":       {"/api/cluster", "version of ONTAP", "/api/cluster", false},
		"nodes":         {"/api/cluster/nodes", "CPU of the nodes", "/api/cluster/nodes", true},
		"LIFs":          {"/api/network/ip/interfaces", "LIFs and their nodes", "/api/network/ip/interfaces", false},
		"aggregates":    {"/api/storage/aggregates", "node that owns the volume", "/api/storage/aggregates", true},
		"service":       {"/api/protocols/nfs/services", "settings of the NFS service", "/api/protocols/nfs", false},
		"export policy": {rulesPath, "rules of export policy default", "/api/protocols/nfs", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.say(tc.path, 403, forbidden)
			got, err := a.source().Survey(t.Context(), "/vol1")
			if err != nil || len(got.Missing) != 1 {
				t.Fatalf("got %+v, %v", got.Missing, err)
			}
			m := got.Missing[0]
			if m.What != tc.what || m.Why != "the account may not read "+tc.api+" (403, code 6)" ||
				!strings.HasPrefix(m.Fix, "security login rest-role create -role nfsbench -api "+tc.api+" -access readonly (") ||
				strings.Contains(m.Fix, "management LIF of the cluster") != tc.cluster {
				t.Errorf("got %+v", m)
			}
		})
	}
}

// TestAPolicyWithoutRulesIsNotOneThatIsNotKnown: it admits nobody.
func TestAPolicyWithoutRulesIsNotOneThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for body, known := range map[string]bool{
		records(): true, `{"num_records":0}`: true, `{"num_records":1}`: false, `{}`: false, `{"records":null}`: false, `{"records":[{}]}`: false,
		`{"error":{"message":"busy","code":"3"}}`: false, `{"records":[],"error":{"message":"a part","code":"3"}}`: false,
	} {
		a := newArray(t)
		a.say(rulesPath, 200, body)
		got, err := a.source().Survey(t.Context(), "/vol1")
		if err != nil || len(got.Rules) != 0 || (got.Rules != nil) != known || (len(got.Missing) == 0) != known {
			t.Errorf("%s: rules %#v, missing %+v, %v", body, got.Rules, got.Missing, err)
		}
	}
}

// TestAQtreeMayHaveAPolicyOfItsOwn: that of the volume does not count below it then.
func TestAQtreeMayHaveAPolicyOfItsOwn(t *testing.T) {
	t.Parallel()
	const qtrees = "/api/storage/qtrees"
	cases := map[string]struct {
		export string
		status int
		body   string
		policy string // empty = not known
		why    string
	}{
		"its own":           {"/vol1/q1/sub", 200, records(`{"name":"q1","export_policy":{"name":"own","id":7}}`), "own", ""},
		"that of others":    {"/vol1/q1", 200, records(`{"name":"q2","export_policy":{"name":"own","id":7}}`), "default", ""},
		"a directory":       {"/vol1/dir", 200, records(), "default", ""},
		"not told":          {"/vol1/q1", 200, records(`{"name":"q1"}`), "", "export_policy"},
		"no list":           {"/vol1/q1", 200, `{}`, "", "records"},
		"forbidden":         {"/vol1/q1", 403, forbidden, "", qtrees},
		"in another volume": {"/vol2/q1", 200, records(), "", "not below the junction"},
		"the volume itself": {"/vol1/", 403, forbidden, "default", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.say(qtrees, tc.status, tc.body)
			a.say("/api/protocols/nfs/export-policies/7/rules", 200, records(`{"index":1,"clients":[{"match":"10.7.0.0/16"}]}`))
			got, err := a.source().Survey(t.Context(), tc.export)
			if err != nil || tc.policy != "" && got.Volume.ExportPolicy != tc.policy || (got.Rules != nil) != (tc.policy != "") || len(got.Rules) == 1 != (tc.policy == "own") {
				t.Fatalf("policy %q, rules %+v, %v", got.Volume.ExportPolicy, got.Rules, err)
			}
			if said := fmt.Sprint(got.Missing); strings.Contains(said, "export rules") != (tc.policy == "") || !strings.Contains(said, tc.why) {
				t.Errorf("missing %+v", got.Missing)
			}
		})
	}
}

// TestWhatIsNotToldIsMissing: a list, field or word that is not there says nothing of the array.
func TestWhatIsNotToldIsMissing(t *testing.T) {
	t.Parallel()
	volume := volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1)
	const (
		volumes, services, lifs = "/api/storage/volumes", "/api/protocols/nfs/services", "/api/network/ip/interfaces"
		nodes                   = "/api/cluster/nodes"
		policies                = "/api/storage/qos/policies"
	)
	limited := records(strings.Replace(volume, `"style"`, `"qos":{"policy":{"name":"p"}},"style"`, 1))
	cases := map[string]struct {
		say   map[string]string
		says  string // in what is missing
		known func(runfile.Survey) bool
	}{
		"no services":                 {map[string]string{services: `{}`}, "records", func(s runfile.Survey) bool { return s.NFS != nil }},
		"services are an error":       {map[string]string{services: `{"error":{"message":"try later","code":"3"}}`}, "code 3: try later", func(s runfile.Survey) bool { return s.NFS != nil }},
		"services of several SVMs":    {map[string]string{services: records(`{"enabled":false}`, `{"enabled":true}`)}, "NFS service", func(s runfile.Survey) bool { return s.NFS != nil }},
		"a service by words":          {map[string]string{services: records(`{"enabled":"true"}`)}, "enabled", func(s runfile.Survey) bool { return s.NFS != nil }},
		"a LIF without an address":    {map[string]string{lifs: records(`{"name":"a"}`, lifJSON("l", "10.0.0.1", "a", "a"))}, "ip.address", func(s runfile.Survey) bool { return s.LIFs != nil }},
		"a part of the LIFs":          {map[string]string{lifs: strings.Replace(records(lifJSON("l", "10.0.0.1", "a", "a")), "{", `{"error":{"message":"node b does not answer"},`, 1)}, "node b does not answer", func(s runfile.Survey) bool { return s.LIFs != nil }},
		"a LIF in another state":      {map[string]string{lifs: records(strings.Replace(lifJSON("l", "10.0.0.1", "a", "a"), `"state":"up"`, `"state":"odd"`, 1))}, "", func(s runfile.Survey) bool { return s.LIFs[0].Up != nil }},
		"a node in no state":          {map[string]string{nodes: records(strings.Replace(nodeJSON("a", 1, 2), `"state":"up"`, `"state":"unknown"`, 1))}, "", func(s runfile.Survey) bool { return s.Nodes[0].Up != nil }},
		"no nodes":                    {map[string]string{nodes: `{"records":null}`}, "records", func(s runfile.Survey) bool { return s.Nodes != nil }},
		"no version":                  {map[string]string{"/api/cluster": `{"error":{"message":"no"}}`}, "version", func(s runfile.Survey) bool { return s.Array != "ONTAP, SVM svm1" }},
		"a policy without ID":         {map[string]string{volumes: records(strings.Replace(volume, `,"id":12884901889`, "", 1))}, "export_policy", func(s runfile.Survey) bool { return s.Rules != nil }},
		"no policy":                   {map[string]string{volumes: records(strings.Replace(volume, `"export_policy"`, `"other"`, 1))}, "export_policy", func(s runfile.Survey) bool { return s.Rules != nil }},
		"a move of another kind":      {map[string]string{volumes: records(strings.Replace(volume, `"style"`, `"movement":{"state":"odd"},"style"`, 1))}, `movement.state "odd"`, func(s runfile.Survey) bool { return s.Volume.Moving }},
		"no ceilings":                 {map[string]string{volumes: limited, policies: records()}, "ceiling of QoS policy p", func(s runfile.Survey) bool { return s.Volume.QoS.MaxIOPS != nil }},
		"a ceiling of nothing":        {map[string]string{volumes: limited, policies: records(`{"fixed":{}}`)}, "ceiling of QoS policy p", func(s runfile.Survey) bool { return s.Volume.QoS.MaxIOPS != nil }},
		"an aggregate without a name": {map[string]string{volumes: records(strings.Replace(volume, `[{"name":"aggr_a"}]`, `[{"name":"aggr_a"},{}]`, 1))}, "node that owns the volume", func(s runfile.Survey) bool { return s.Volume.Node != "" }},
		"an aggregate without a node": {map[string]string{"/api/storage/aggregates": records(`{"name":"aggr_a"}`)}, "node that owns the volume", func(s runfile.Survey) bool { return s.Volume.Node != "" }},
		"no aggregates, as on AFX":    {map[string]string{volumes: records(strings.Replace(volume, `[{"name":"aggr_a"}]`, `null`, 1))}, "node that owns the volume", func(s runfile.Survey) bool { return s.Volume.Node != "" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			for path, body := range tc.say {
				a.say(path, 200, body)
			}
			got, err := a.source().Survey(t.Context(), "/vol1")
			if err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprint(got.Missing); tc.known(got) || !strings.Contains(said, tc.says) || tc.says == "" != (len(got.Missing) == 0) {
				t.Errorf("missing %+v of %+v", got.Missing, got)
			}
		})
	}
}

func TestAnArrayThatIsNotWellIsSurveyedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.say("/api/protocols/nfs/services", 500, `{"error":{"message":"internal error","code":"2"}}`)
	a.say("/api/cluster/nodes", 200, records(`{"name":"a","state":"down"}`))
	got, err := a.source().Survey(t.Context(), "/vol1")
	if err != nil || len(got.Missing) != 2 || got.NFS != nil || *got.Nodes[0].Up {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got.Missing[0].What != "CPU of the nodes" || !strings.Contains(got.Missing[1].Why, "internal error") || got.Missing[1].Fix != "" {
		t.Errorf("got %+v", got.Missing)
	}
}

func TestAnSVMWithoutNFSOffersNone(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.say("/api/protocols/nfs/services", 200, records())
	got, err := a.source().Survey(t.Context(), "/vol1")
	if err != nil || got.NFS == nil || got.NFS.Enabled == nil || *got.NFS.Enabled || got.NFS.V3 != nil {
		t.Errorf("got %+v, %v", got.NFS, err)
	}
}

func TestTheVolumeIsFoundByNameOrByTheLongestJunction(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason         string
		volume, export string
		junctions      map[string]string // of the volumes that are there
		want           string
		missing        bool
		reasonOfError  string
	}{
		"by name":            {"the name is what the user said", "data", "/elsewhere", map[string]string{"data": "/d", "e": "/elsewhere"}, "data", true, ""},
		"by junction":        {"an export is a junction", "", "/data", map[string]string{"x": "/data", "y": "/"}, "x", false, ""},
		"with a slash":       {"it is the same path", "", "/data/", map[string]string{"x": "/data"}, "x", false, ""},
		"a qtree":            {"its volume counts", "", "/pool/q1", map[string]string{"pool": "/pool", "root": "/"}, "pool", true, ""},
		"the longest":        {"volumes are mounted in volumes", "", "/a/b/c/d", map[string]string{"a": "/a", "ab": "/a/b"}, "ab", true, ""},
		"a part of a name":   {"/data1 is not below /data", "", "/data1", map[string]string{"x": "/data"}, "", false, runfile.SurveyNoVolume},
		"only the root":      {"it leads to everything", "", "/nope", map[string]string{"root": "/"}, "", false, runfile.SurveyNoVolume},
		"the root itself":    {"if that is what is exported", "", "/", map[string]string{"root": "/"}, "root", false, ""},
		"a qtree by name":    {"its name is no volume's", "trident_q1", "/pool/trident_q1", map[string]string{"pool": "/pool"}, "pool", true, ""},
		"a query as a name":  {"it may not find others", "*", "", map[string]string{"x": "/data"}, "", false, runfile.SurveyNoVolume},
		"neither is there":   {"", "no", "/no", nil, "", false, runfile.SurveyNoVolume},
		"neither is given":   {"", "", "", map[string]string{"x": "/data"}, "", false, runfile.SurveyNoVolume},
		"the same elsewhere": {"another SVM's is another one", "both", "", map[string]string{"both": "/1", "both@svm2": "/2"}, "both", false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.answer("/api/storage/volumes", func(w http.ResponseWriter, r *http.Request) {
				var all []string
				for v, junction := range tc.junctions {
					volume, svm, _ := strings.Cut(v+"@svm1", "@")
					svm, _, _ = strings.Cut(svm, "@")
					// A sloppy match, as of a wildcard: the adapter has to look again.
					if q := r.URL.Query(); q.Get("name") == volume || q.Get("name") == "*" || strings.HasPrefix(q.Get("nas.path"), junction) {
						all = append(all, fmt.Sprintf(`{"uuid":"u-%s","name":%q,"svm":{"name":%q},"nas":{"path":%q}}`, volume, volume, svm, junction))
					}
				}
				_, _ = w.Write([]byte(records(all...)))
			})
			got, err := a.source(func(s *runfile.Source) { s.Volume = tc.volume }).Survey(t.Context(), tc.export)
			if tc.reasonOfError != "" {
				wantReason(t, err, tc.reasonOfError)
				return
			}
			if err != nil || got.Volume.Name != tc.want {
				t.Fatalf("%s: got %+v, %v", tc.reason, got.Volume, err)
			}
			said := strings.Contains(fmt.Sprint(got.Missing), "whole volume")
			if said != tc.missing {
				t.Errorf("%s: missing is %+v", tc.reason, got.Missing)
			}
		})
	}
}

func TestTheCeilingOfAVolume(t *testing.T) {
	t.Parallel()
	with := func(policy string) string {
		return records(strings.Replace(volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1), `"style"`, `"qos":{"policy":`+policy+`},"style"`, 1))
	}
	cases := map[string]struct {
		volume, group string
		want          *runfile.QoS
		missing       string
	}{
		"none":            {with(`{}`), "", nil, ""},
		"its own":         {with(`{"name":"p","max_throughput_iops":5000,"max_throughput_mbps":0}`), "", &runfile.QoS{Policy: "p", MaxIOPS: new(int64(5000))}, ""},
		"a group":         {with(`{"name":"p"}`), records(`{"name":"p","fixed":{"max_throughput_mbps":100,"max_throughput_iops":0}}`), &runfile.QoS{Policy: "p", MaxBytesPerSecond: new(int64(100_000_000))}, ""},
		"only a floor":    {with(`{"name":"p"}`), records(`{"name":"p","fixed":{"min_throughput_iops":500}}`), &runfile.QoS{Policy: "p"}, "[]"},
		"a floor of MB/s": {with(`{"name":"p"}`), records(`{"name":"p","fixed":{"min_throughput_mbps":5}}`), &runfile.QoS{Policy: "p"}, "[]"},
		"no limit told":   {with(`{"name":"p"}`), records(`{"name":"p","fixed":{}}`), &runfile.QoS{Policy: "p"}, "does not tell a fixed"},
		"adaptive":        {with(`{"name":"p"}`), records(`{"name":"p","adaptive":{"peak_iops":100}}`), &runfile.QoS{Policy: "p"}, "grows with the volume"},
		"not to be seen":  {with(`{"name":"p"}`), "", &runfile.QoS{Policy: "p"}, "/api/storage/qos/policies"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.say("/api/storage/volumes", 200, tc.volume)
			a.say("/api/storage/qos/policies", 200, tc.group)
			if tc.group == "" {
				a.say("/api/storage/qos/policies", 403, forbidden)
			}
			got, err := a.source().Survey(t.Context(), "/vol1")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got.Volume.QoS); d != "" || !strings.Contains(fmt.Sprint(got.Missing), tc.missing) {
				t.Errorf("missing %+v (-want +got)\n%s", got.Missing, d)
			}
		})
	}
}

func TestAFlexGroupHasNoNodeOfItsOwn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		aggregates, node, aggregate string
	}{
		"on two nodes":               {`[{"name":"aggr_a"},{"name":"aggr_b"}]`, "", ""},
		"on two aggregates of a":     {`[{"name":"aggr_a"},{"name":"aggr_a2"}]`, "a", ""},
		"on one aggregate, so to be": {`[{"name":"aggr_b"}]`, "b", "aggr_b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.say("/api/storage/aggregates", 200, records(`{"name":"aggr_a","node":{"name":"a"}}`, `{"name":"aggr_a2","node":{"name":"a"}}`, `{"name":"aggr_b","node":{"name":"b"}}`))
			a.say("/api/storage/volumes", 200, records(`{"uuid":"u","name":"vol1","style":"flexgroup","nas":{"path":"/vol1","export_policy":{"name":"default","id":12884901889}},"aggregates":`+tc.aggregates+`}`))
			got, err := a.source().Survey(t.Context(), "/vol1")
			if err != nil || got.Volume.Node != tc.node || got.Volume.Aggregate != tc.aggregate || len(got.Missing) != 0 {
				t.Errorf("got %+v, missing %+v, %v", got.Volume, got.Missing, err)
			}
		})
	}
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	var e *storage.SurveyError
	if !errors.As(err, &e) || e.Reason != reason {
		t.Errorf("got %v, want a SurveyError with %s", err, reason)
	}
	noSecret(t, err)
}

func TestWhySurveysFail(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil  func(*array, *runfile.Source)
		reason string
		want   string
	}{
		"wrong password":      {func(a *array, _ *runfile.Source) { a.setPassword("other") }, runfile.SurveyRefused, "credentialsSecretRef"},
		"no role for volumes": {func(a *array, _ *runfile.Source) { a.say("/api/storage/volumes", 403, forbidden) }, runfile.SurveyRefused, "-api /api/storage/volumes -access readonly"},
		"volumes are broken":  {func(a *array, _ *runfile.Source) { a.say("/api/storage/volumes", 500, forbidden) }, runfile.SurveyFailed, "500"},
		"it is not ONTAP":     {func(a *array, _ *runfile.Source) { a.say("/api/storage/volumes", 200, "<html>") }, runfile.SurveyFailed, "not what was expected"},
		"not trusted":         {func(_ *array, s *runfile.Source) { s.CABundle = "" }, runfile.SurveyUntrusted, "tls.caBundle"},
		"nobody there":        {func(_ *array, s *runfile.Source) { s.URL = "https://" + ports.Reserve(t).String() }, runfile.SurveyUnreachable, "refused"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			_, err := a.source(func(s *runfile.Source) { tc.spoil(a, s) }).Survey(t.Context(), "/vol1")
			wantReason(t, err, tc.reason)
			if err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestASlowArrayIsUnreachable(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.answer("/api/storage/volumes", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := a.source().Survey(ctx, "/vol1")
	wantReason(t, err, runfile.SurveyUnreachable)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestPagesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		pages  []string // of LIFs; NEXT is the link to the next one
		want   int
		error  string
	}{
		"two":            {"", []string{page("NEXT", lifJSON("a", "10.0.0.1", "a", "a")), page("", lifJSON("b", "10.0.0.2", "a", "a"))}, 2, ""},
		"an empty first": {"time was up before there was a record", []string{page("NEXT"), page("NEXT"), page("", lifJSON("b", "10.0.0.2", "a", "a"))}, 1, ""},
		"no end":         {"a page that names itself", []string{page("/api/network/ip/interfaces?n=1")}, 0, "names itself"},
		"another host":   {"credentials would go there", []string{page("https://evil.example/api/x")}, 0, "no path on the array"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.answer("/api/network/ip/interfaces", func(w http.ResponseWriter, r *http.Request) {
				n := 0
				_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
				n = min(n, len(tc.pages)-1)
				_, _ = w.Write([]byte(strings.Replace(tc.pages[n], "NEXT", fmt.Sprintf("/api/network/ip/interfaces?n=%d", n+1), 1)))
			})
			got, err := a.source().Survey(t.Context(), "/vol1")
			if err != nil || len(got.LIFs) != tc.want {
				t.Errorf("%s: got %+v, %v", tc.reason, got.LIFs, err)
			}
			if tc.error != "" && !strings.Contains(fmt.Sprint(got.Missing), tc.error) {
				t.Errorf("%s: missing %+v", tc.reason, got.Missing)
			}
		})
	}
}

func page(next string, all ...string) string {
	body := records(all...)
	if next == "" {
		return body
	}
	return strings.TrimSuffix(body, "}") + fmt.Sprintf(`,"_links":{"next":{"href":%q}}}`, next)
}
