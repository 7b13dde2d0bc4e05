package ontap_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	adapter "github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// source is the adapter that asks w for vol1.
func (w *world) source(t *testing.T, change ...func(*runfile.Source)) *adapter.Source {
	t.Helper()
	src := runfile.Source{
		Kind: runfile.SourceONTAP, Name: "array", URL: w.url, CABundle: string(w.ca), SVM: "vsdb122b", Volume: "vol1",
	}
	for _, c := range change {
		c(&src)
	}
	s, err := adapter.New(src, rest.Credentials{Username: w.user, Password: w.password}, w.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secrets are the words that must be nowhere.
func (w *world) secrets() []string {
	both := w.user + ":" + w.password
	return []string{w.user, w.password, base64.StdEncoding.EncodeToString([]byte(both)), "Authorization"}
}

// load lets the array read n times 8 KiB from vol1 by the LIF on the other node,
// and its clock go on to the next step of the grid.
func (w *world) load(n uint64) {
	v := w.truth.Volume("vol1")
	v.Read = ontap.OpCounters{Ops: v.Read.Ops + n, Bytes: v.Read.Bytes + n*8192, LatencyMicros: v.Read.LatencyMicros + n*300}
	w.truth.SetVolume("vol1", v)
	lif := w.truth.LIF("192.0.2.12")
	w.truth.SetLIF("192.0.2.12", ontap.LIFCounters{SentBytes: lif.SentBytes + n*8500, ReceivedBytes: lif.ReceivedBytes + n*150})
	for node, busy := range map[string]uint64{"naclu1-01": 3_000_000, "naclu1-02": 1_000_000} {
		c := w.truth.Node(node)
		w.truth.SetNode(node, ontap.NodeCounters{BusyMicros: c.BusyMicros + busy, BaseMicros: c.BaseMicros + 15_000_000})
	}
	w.clock.step(15 * time.Second)
}

func TestTheAdapterKeepsTheContractOfSources(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		t.Helper()
		t.Parallel()
		w := begin(t)
		return storagetest.Subject{
			Source: w.source(t), PathsCountMore: true, Secrets: w.secrets(),
			Work:  func(*testing.T) { w.load(1) },
			Break: func(*testing.T) { w.Inject(ontap.Fault{Reset: true}) },
			Mend:  func(*testing.T) { w.Clear() },
		}
	})
}

func TestTheAdapterKeepsTheContractOfSurveyors(t *testing.T) {
	t.Parallel()
	storagetest.RunSurveyor(t, func(t *testing.T) storagetest.SurveySubject {
		t.Helper()
		t.Parallel()
		w := begin(t)
		return storagetest.SurveySubject{
			Surveyor: w.source(t, func(s *runfile.Source) { s.Volume = "" }), Export: "/vol1", Secrets: w.secrets(),
			Hide: func(*testing.T) {
				w.SetAccounts(ontap.Account{User: user, Password: password, Privileges: []ontap.Privilege{
					{Path: "/api", Access: ontap.AccessAll}, {Path: "/api/cluster/nodes", Access: ontap.AccessNone},
				}})
			},
			Break:  func(*testing.T) { w.Inject(ontap.Fault{Reset: true}) },
			Mend:   func(*testing.T) { w.Clear() },
			Refuse: func(*testing.T) { w.SetAccounts(ontap.Admin(user, "another")) },
		}
	})
}

func TestSamplesHoldWhatTheArrayCounted(t *testing.T) {
	t.Parallel()
	w := begin(t)
	s := w.source(t)
	w.load(100)
	before, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.load(50)
	got, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Time.Sub(before.Time); d != 15*time.Second {
		t.Errorf("%v lie between samples of two steps of the grid", d)
	}
	path := func(address, name, node string, n int64) runfile.StoragePath {
		return runfile.StoragePath{Address: address, Name: name, Node: node, ReadBytes: new(n * 8500), WriteBytes: new(n * 150)}
	}
	want := storage.Snapshot{StorageSample: runfile.StorageSample{
		Time: got.Time, ReadOps: new(int64(150)), WriteOps: new(int64(0)), OtherOps: new(int64(0)), ReadBytes: new(int64(150 * 8192)),
		WriteBytes: new(int64(0)), ReadMicroseconds: new(int64(150 * 300)), WriteMicroseconds: new(int64(0)),
		Nodes: []runfile.StorageNode{
			{Name: "naclu1-01", BusyMicroseconds: new(int64(6e6)), BaseMicroseconds: new(int64(30e6))}, {Name: "naclu1-02", BusyMicroseconds: new(int64(2e6)), BaseMicroseconds: new(int64(30e6))},
		},
		VolumeNode: "naclu1-01",
		Paths: []runfile.StoragePath{
			path("192.0.2.11", "lif_a", "naclu1-01", 0), path("192.0.2.12", "lif_b", "naclu1-02", 150),
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASurveyTellsAllThatAnAdministratorMaySee(t *testing.T) {
	t.Parallel()
	w := begin(t, func(o *ontap.Options) {
		o.Model.Volumes[0].QoSPolicy = "gold"
		o.Model.QoS = []ontap.QoSPolicy{{Name: "gold", MaxIOPS: 5000, MaxMegabytes: 100}}
	})
	w.SetLIF(ontap.LIF{Name: "lif_b", Address: "192.0.2.12", Prefix: 24, HomeNode: "naclu1-02", Node: "naclu1-01", Disabled: true})
	got, err := w.source(t).Survey(t.Context(), "/vol1")
	if err != nil {
		t.Fatal(err)
	}
	storagetest.CheckSurvey(t, got, w.secrets()...)
	if got.ClockOffsetMilliseconds == nil || *got.ClockOffsetMilliseconds < -500 || *got.ClockOffsetMilliseconds > 500 {
		t.Errorf("clock offset %v of one and the same clock", got.ClockOffsetMilliseconds)
	}
	if !got.IsStandIn() {
		t.Errorf("a result with this survey would not be known as simulated: %q", got.Array)
	}
	if !strings.Contains(got.Array, "9.14.1") || !strings.Contains(got.Array, "naclu1") || !strings.Contains(got.Array, "vsdb122b") {
		t.Errorf("array %q", got.Array)
	}
	want := runfile.Survey{
		Version: runfile.SurveyVersion, Source: "array", Array: got.Array, Time: got.Time, ClockOffsetMilliseconds: got.ClockOffsetMilliseconds,
		Nodes: []runfile.SurveyNode{{Name: "naclu1-01", Model: "FAS3170", Up: new(true)}, {Name: "naclu1-02", Model: "FAS3170", Up: new(true)}},
		LIFs: []runfile.LIF{
			{Name: "lif_a", Address: "192.0.2.11", Prefix: 24, Node: "naclu1-01", HomeNode: "naclu1-01", AtHome: new(true), Up: new(true)},
			{Name: "lif_b", Address: "192.0.2.12", Prefix: 24, Node: "naclu1-01", HomeNode: "naclu1-02", AtHome: new(false), Up: new(false)},
		},
		Volume: &runfile.SurveyVolume{
			Name: "vol1", UUID: got.Volume.UUID, Export: "/vol1", Style: "flexvol", State: "online", Aggregate: "aggr_a", Node: "naclu1-01",
			SizeBytes: new(int64(100 << 30)), AvailableBytes: new(int64(60 << 30)), ExportPolicy: "bench",
			QoS: &runfile.QoS{Policy: "gold", MaxIOPS: new(int64(5000)), MaxBytesPerSecond: new(int64(100_000_000))},
		},
		NFS: &runfile.NFSService{
			Enabled: new(true), V3: new(true), V40: new(false), V41: new(true), PNFS: new(false), TransferSizeBytes: new(int64(65536)),
		},
		Rules: []runfile.ExportRule{
			{Index: 1, Clients: []string{"10.0.0.0/8", "@hosts"}, Protocols: []string{"nfs"}, ReadOnly: []string{"any"}, ReadWrite: []string{"sys"}, SuperUser: []string{"sys"}},
			{Index: 2, Clients: []string{"198.51.100.0/24"}, Protocols: []string{"nfs3"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"none"}, SuperUser: []string{"none"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheRulesBelowAVolumeAreThoseOfTheQtree(t *testing.T) {
	t.Parallel()
	w := begin(t, func(o *ontap.Options) {
		o.Model.Policies = append(o.Model.Policies, ontap.ExportPolicy{Name: "closed"})
		o.Model.Qtrees = []ontap.Qtree{{Name: "q1", Volume: "vol1", ExportPolicy: "closed"}}
	})
	for export, want := range map[string]string{"/vol1": "bench 2", "/vol1/q1": "closed 0", "/vol1/other": "bench 2"} {
		got, err := w.source(t).Survey(t.Context(), export)
		if err != nil || got.Rules == nil || fmt.Sprint(got.Volume.ExportPolicy, " ", len(got.Rules)) != want {
			t.Errorf("%s: policy %s, rules %+v, missing %+v, %v", export, got.Volume.ExportPolicy, got.Rules, got.Missing, err)
		}
	}
}

func TestWhatAnAccountMayNotReadIsMissingAndNothingElse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		account ontap.Account
		missing []string // endpoints
		node    string   // of the volume
		cpu     bool
	}{
		"that may read":  {ontap.ReadOnly(user, password), nil, "naclu1-01", true},
		"of one SVM":     {ontap.SVMAdmin(user, password, "vsdb122b"), []string{"/api/storage/aggregates", "/api/cluster/nodes"}, "", false},
		"without LIFs":   {without("/api/network"), []string{"/api/network/ip/interfaces"}, "naclu1-01", true},
		"without NFS":    {without("/api/protocols"), []string{"/api/protocols/nfs", "/api/protocols/nfs"}, "naclu1-01", true},
		"without itself": {without("/api/cluster"), []string{"/api/cluster", "/api/cluster/nodes"}, "naclu1-01", false},
		"without QoS":    {without("/api/storage/qos"), []string{"/api/storage/qos/policies"}, "naclu1-01", true},
	}
	for name, tc := range cases {
		t.Run("an account "+name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(o *ontap.Options) {
				o.Model.Accounts = []ontap.Account{tc.account}
				o.Model.Volumes[0].QoSPolicy = "gold"
				o.Model.QoS = []ontap.QoSPolicy{{Name: "gold", MaxIOPS: 5000}}
			})
			s := w.source(t)
			got, err := s.Survey(t.Context(), "/vol1")
			if err != nil {
				t.Fatal(err)
			}
			storagetest.CheckSurvey(t, got, w.secrets()...)
			var missing []string
			for _, m := range got.Missing {
				i := slices.IndexFunc(strings.Fields(m.Why), func(f string) bool { return strings.HasPrefix(f, "/api/") })
				if i < 0 || !strings.Contains(m.Why, "403") || !strings.Contains(m.Fix, "security login rest-role create") {
					t.Errorf("missing %+v: what to do is not told", m)
					continue
				}
				missing = append(missing, strings.Fields(m.Why)[i])
			}
			if diff := cmp.Diff(tc.missing, missing); diff != "" {
				t.Errorf("missing: %s", diff)
			}
			if got.Volume.Node != tc.node || got.Volume.Aggregate != "aggr_a" {
				t.Errorf("the volume is on %q of %q", got.Volume.Aggregate, got.Volume.Node)
			}
			w.load(1)
			snap, err := s.Sample(t.Context())
			if err != nil || *snap.ReadOps != 1 || (len(snap.Nodes) == 2) != tc.cpu {
				t.Errorf("sample %+v: %v", snap, err)
			}
		})
	}
}

// without is an account that may do everything but what is below path.
func without(path string) ontap.Account {
	a := ontap.Admin(user, password)
	a.Privileges = append(a.Privileges, ontap.Privilege{Path: path, Access: ontap.AccessNone})
	return a
}

func TestWhatIsNotThereIsNotInvented(t *testing.T) {
	t.Parallel()
	t.Run("an SVM without NFS", func(t *testing.T) {
		w := begin(t)
		w.SetService(ontap.NFSService{Absent: true})
		got, err := w.source(t).Survey(t.Context(), "/vol1")
		if err != nil || got.NFS == nil || got.NFS.Enabled == nil || *got.NFS.Enabled || got.NFS.V3 != nil {
			t.Errorf("NFS %+v: %v", got.NFS, err)
		}
	})
	t.Run("an ONTAP that does not tell its transfer size", func(t *testing.T) {
		w := begin(t)
		w.SetService(ontap.NFSService{Enabled: true, V3: true})
		got, err := w.source(t).Survey(t.Context(), "/vol1")
		if err != nil || got.NFS.TransferSizeBytes != nil {
			t.Errorf("NFS %+v: %v", got.NFS, err)
		}
	})
	t.Run("the node of a FlexGroup", func(t *testing.T) {
		w := begin(t)
		w.SetVolume(ontap.Volume{Name: "fg", Junction: "/fg", Aggregates: []string{"aggr_a", "aggr_b"}, SizeBytes: 1 << 30})
		got, err := w.source(t, func(s *runfile.Source) { s.Volume = "fg" }).Survey(t.Context(), "/fg")
		if err != nil || got.Volume.Node != "" || got.Volume.Aggregate != "" || got.Volume.Style != "flexgroup" {
			t.Errorf("volume %+v: %v", got.Volume, err)
		}
	})
	t.Run("the processors of a node that is down", func(t *testing.T) {
		w := begin(t)
		w.SetNode(ontap.Node{Name: "naclu1-02", Down: true})
		s := w.source(t)
		got, err := s.Survey(t.Context(), "/vol1")
		if err != nil || len(got.Nodes) != 2 || *got.Nodes[1].Up {
			t.Errorf("nodes %+v: %v", got.Nodes, err)
		}
		snap, err := s.Sample(t.Context())
		if err != nil || snap.Nodes[1].BusyMicroseconds != nil || snap.Nodes[0].BusyMicroseconds == nil {
			t.Errorf("sample %+v: %v", snap.Nodes, err)
		}
	})
	t.Run("a volume of another SVM", func(t *testing.T) {
		w := begin(t)
		got, err := w.source(t, func(s *runfile.Source) { s.SVM = "other" }).Survey(t.Context(), "/vol1")
		if err != nil || got.Volume.Aggregate != "aggr_b" || len(got.LIFs) != 1 || got.LIFs[0].Name != "lif_other" {
			t.Errorf("volume %+v, LIFs %+v: %v", got.Volume, got.LIFs, err)
		}
	})
}

func TestASampleTellsNowAndThenWhoUsesTheVolume(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.truth.SetClients(
		ontap.Client{ClientIP: "10.244.0.9", ServerIP: "192.0.2.11", Protocol: "nfs4.1", Volume: "vol1"},
		ontap.Client{ClientIP: "10.244.0.5", ServerIP: "192.0.2.11", Protocol: "nfs3", Volume: "vol1"},
		ontap.Client{ClientIP: "10.244.0.5", ServerIP: "192.0.2.11", Protocol: "nfs3", Volume: "vol1"},
		ontap.Client{ClientIP: "10.244.0.7", ServerIP: "192.0.2.11", Protocol: "nfs3", Volume: "another"},
	)
	s := w.source(t)
	first, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []runfile.StorageClient{
		{Address: "10.244.0.5", Server: "192.0.2.11", Protocol: "nfs3"},
		{Address: "10.244.0.9", Server: "192.0.2.11", Protocol: "nfs4.1"},
	}
	if diff := cmp.Diff(want, first.Clients); diff != "" {
		t.Error(diff)
	}
	if again, err := s.Sample(t.Context()); err != nil || again.Clients != nil {
		t.Errorf("at once again it tells %+v, %v", again.Clients, err)
	}
}

func TestNothingButWhatIsNeededIsAsked(t *testing.T) {
	t.Parallel()
	w := begin(t)
	s := w.source(t)
	if _, err := s.Survey(t.Context(), "/vol1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(w.Requests())
	for range 3 {
		w.load(1)
		if _, err := s.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	asked := w.Requests()[before:]
	// Volume, nodes, LIFs, and as the clock of this test leaps, each time the clients.
	if len(asked) > 3*4+2 {
		t.Errorf("3 samples made %d requests: %+v", len(asked), asked)
	}
	for _, r := range w.Requests() {
		if r.Method != http.MethodGet || strings.Contains(r.Query, "**") {
			t.Errorf("a survey and samples read what they want and no more: %+v", r)
		}
		text, _ := json.Marshal(struct{ Path, Query string }{r.Path, r.Query})
		for _, secret := range w.secrets() {
			if strings.Contains(string(text), secret) {
				t.Errorf("a URL holds a secret: %s", text)
			}
		}
	}
}
