package ontap_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

func TestASampleHoldsVolumeNodesAndLIFs(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	got, err := a.source().Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := storage.Snapshot{StorageSample: runfile.StorageSample{
		Time: time.Date(2026, 1, 1, 0, 0, 15, 0, time.UTC), VolumeNode: "a",
		ReadOps: new(int64(1000)), WriteOps: new(int64(1001)), OtherOps: new(int64(7)), ReadBytes: new(int64(21)), WriteBytes: new(int64(22)),
		ReadMicroseconds: new(int64(11)), WriteMicroseconds: new(int64(12)),
		Nodes: []runfile.StorageNode{
			{Name: "a", BusyMicroseconds: new(int64(100)), BaseMicroseconds: new(int64(1000))},
			{Name: "b", BusyMicroseconds: new(int64(200)), BaseMicroseconds: new(int64(2000))},
		},
		Paths: []runfile.StoragePath{
			{Address: "10.0.1.61", Name: "lif_a", Node: "a", ReadBytes: new(int64(5000)), WriteBytes: new(int64(6000))},
			{Address: "10.0.2.61", Name: "lif_b", Node: "b", ReadBytes: new(int64(5000)), WriteBytes: new(int64(6000))},
		},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	lifs := a.requests("/api/network/ip/interfaces")
	if len(lifs) != 1 || !strings.Contains(lifs[0], "services=data_nfs") || !strings.Contains(lifs[0], "svm.name=svm1") {
		t.Errorf("asked for LIFs with %q", lifs)
	}
	for _, r := range a.requests("/api/storage/volumes/" + uuid) {
		if strings.Contains(r, "statistics,") || strings.HasSuffix(r, "statistics") {
			t.Errorf("all of the statistics are asked for: %s", r)
		}
	}
}

func TestLIFsOfOneAddressAreNotMixed(t *testing.T) {
	t.Parallel()
	const volume = `{"name":"v","statistics":{"timestamp":"2026-11-01T10:00:00Z","status":"ok"}}`
	lif := func(node string, read int) string {
		return fmt.Sprintf(`{"name":"l","ip":{"address":"10.0.0.1"},"location":{"node":{"name":%q}},`+
			`"statistics":{"status":"ok","throughput_raw":{"read":%d,"write":1}}}`, node, read)
	}
	for second, known := range map[string]bool{lif("n1", 7): true, lif("n2", 7): false, lif("n1", 9): false} {
		s, err := ontap.Decode([]byte(volume), []byte(`{}`), []byte(`{"records":[`+lif("n1", 7)+`,`+second+`]}`))
		if err != nil || len(s.Paths) != 1 || (s.Paths[0].ReadBytes != nil) != known || (s.Paths[0].Node != "") != known {
			t.Errorf("with %s: %+v, %v", second, s.Paths, err)
		}
	}
}

func TestASampleInTheSteadyStateIsThreeRequests(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	s := a.source()
	var last storage.Snapshot
	for i := range 3 {
		a.forget()
		got, err := s.Sample(t.Context())
		if err != nil || i > 0 && !got.Time.Equal(last.Time) {
			t.Fatalf("got %v after %v: a time that did not change is returned as it is; %v", got.Time, last.Time, err)
		}
		last = got
	}
	if got := a.requests(""); len(got) != 3 || len(a.requests("/api/storage/volumes/"+uuid)) != 1 {
		t.Errorf("asked %q", got)
	}
}

func TestWhatIsNotUsableIsNotKnown(t *testing.T) {
	t.Parallel()
	const (
		volume = "/api/storage/volumes/" + uuid
		nodes  = "/api/cluster/nodes"
		lifs   = "/api/network/ip/interfaces"
		at     = "2026-01-01T00:00:15Z"
	)
	idle := func(s storage.Snapshot) bool {
		return len(s.Nodes) == 1 && s.Nodes[0].BusyMicroseconds == nil && s.Nodes[0].BaseMicroseconds == nil
	}
	cases := map[string]struct {
		reason string
		path   string
		body   string
		want   string // the error; empty = the check below
		check  func(storage.Snapshot) bool
	}{
		"status of the volume": {"a sum over half the nodes is no sum", volume, volumeJSON("aggr_a", at, "partial_no_data", 5), `status "partial_no_data"`, nil},
		"negative delta":       {"so ONTAP calls a reset", volume, volumeJSON("aggr_a", at, "negative_delta", 5), `status "negative_delta"`, nil},
		"no status":            {"who says nothing does not say ok", volume, volumeJSON("aggr_a", at, "", 5), "status", nil},
		"no statistics":        {"there is nothing to read", volume, `{"name":"vol1"}`, "no statistics", nil},
		"no time":              {"without a time there is no rate", volume, volumeJSON("aggr_a", "yesterday", "ok", 5), "no time", nil},
		"backfilled": {
			"it is as good as ok", volume, volumeJSON("aggr_a", at, "backfilled_data", 5), "",
			func(s storage.Snapshot) bool { return *s.ReadOps == 5 },
		},
		"negative counter": {
			"it is no count", volume, volumeJSON("aggr_a", at, "ok", -5), "",
			func(s storage.Snapshot) bool { return s.ReadOps == nil && s.ReadBytes != nil },
		},
		"time with an offset": {
			"ONTAP writes both", volume, volumeJSON("aggr_a", "2026-01-01T02:00:15+02:00", "ok", 5), "",
			func(s storage.Snapshot) bool { return s.Time.Unix() == 1767225615 },
		},
		"unknown aggregate": {
			"nobody knows who owns it", volume, volumeJSON("aggr_x", at, "ok", 5), "",
			func(s storage.Snapshot) bool { return s.VolumeNode == "" },
		},
		"status of a node": {
			"the node is there, its load is not known", nodes, records(strings.Replace(nodeJSON("a", 1, 2), `"ok"`, `"error"`, 1)), "", idle,
		},
		"no list of nodes": {"the rest is", nodes, `{}`, "", func(s storage.Snapshot) bool { return s.Nodes == nil && s.ReadOps != nil }},
		"a volume without a name": {
			"clients of nothing are not its own", volume, strings.Replace(volumeJSON("aggr_a", at, "ok", 5), `"name":"vol1"`, `"other":1`, 1), "",
			func(s storage.Snapshot) bool { return s.Clients == nil && s.ReadOps != nil },
		},
		"half of a ratio": {"is none", nodes, records(nodeJSON("a", 1, -2)), "", idle},
		"status of a LIF": {
			"the LIF is there, its bytes are not known", lifs,
			records(strings.Replace(lifJSON("l", "10.0.0.1", "a", "a"), `"ok"`, `"error"`, 1)), "",
			func(s storage.Snapshot) bool { return len(s.Paths) == 1 && s.Paths[0].ReadBytes == nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.say("/api/protocols/nfs/connected-clients", 200, records(`{"client_ip":"10.0.0.1"}`))
			a.say(tc.path, 200, tc.body)
			got, err := a.source().Sample(t.Context())
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			if err != nil || !tc.check(got) {
				t.Errorf("%s: got %+v, %v", tc.reason, got, err)
			}
		})
	}
}

func TestAMovedVolumeHasANewOwnerAtOnce(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.say("/api/storage/aggregates", 200, records(`{"name":"aggr_a","node":{"name":"a"}}`))
	now := time.Unix(1000, 0)
	s := a.sourceAt(&now)
	if got, err := s.Sample(t.Context()); err != nil || got.VolumeNode != "a" {
		t.Fatalf("got %+v, %v", got.VolumeNode, err)
	}
	a.say("/api/storage/aggregates", 200, records(`{"name":"aggr_a","node":{"name":"a"}}`, `{"name":"aggr_b","node":{"name":"b"}}`))
	a.say("/api/storage/volumes/"+uuid, 200, volumeJSON("aggr_b", "2026-01-01T00:00:30Z", "ok", 1))
	now = now.Add(3 * time.Second)
	if got, err := s.Sample(t.Context()); err != nil || got.VolumeNode != "b" {
		t.Errorf("got %+v, %v", got.VolumeNode, err)
	}
	// A takeover changes the owner of the aggregate, not the aggregate of the volume.
	a.say("/api/storage/aggregates", 200, records(`{"name":"aggr_b","node":{"name":"a"}}`))
	now = now.Add(time.Minute)
	if got, err := s.Sample(t.Context()); err != nil || got.VolumeNode != "a" {
		t.Errorf("after a takeover: got %+v, %v", got.VolumeNode, err)
	}
}

func TestWhatIsForbiddenIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	for _, p := range []string{"/api/cluster/nodes", "/api/network/ip/interfaces", "/api/storage/aggregates"} {
		a.say(p, 403, forbidden)
	}
	now := time.Unix(1000, 0)
	s := a.sourceAt(&now)
	for range 3 {
		now = now.Add(time.Hour)
		got, err := s.Sample(t.Context())
		if err != nil || len(got.Nodes) != 0 || len(got.Paths) != 0 || got.VolumeNode != "" || got.ReadOps == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	for _, p := range []string{"/api/cluster/nodes", "/api/network/ip/interfaces", "/api/storage/aggregates"} {
		if n := len(a.requests(p)); n != 1 {
			t.Errorf("%s was asked %d times", p, n)
		}
	}
}

func TestWhatIsGoneForAWhileComesBack(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.say("/api/cluster/nodes", 404, `{"error":{"message":"API not found","code":"3"}}`)
	now := time.Unix(1000, 0)
	s := a.sourceAt(&now)
	if got, err := s.Sample(t.Context()); err != nil || len(got.Nodes) != 0 {
		t.Fatalf("got %+v, %v", got.Nodes, err)
	}
	a.say("/api/cluster/nodes", 200, records(nodeJSON("a", 1, 2)))
	now = now.Add(time.Minute)
	if got, err := s.Sample(t.Context()); err != nil || len(got.Nodes) != 1 {
		t.Errorf("got %+v, %v", got.Nodes, err)
	}
}

// TestAPartOfAListIsAskedForAgain: ONTAP gives an error beside the records while a node does not answer.
func TestAPartOfAListIsAskedForAgain(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	part := `{"records":[` + nodeJSON("a", 1, 2) + `],"num_records":1,"error":{"message":"a node did not answer","code":"3"}}`
	a.say("/api/cluster/nodes", 200, part)
	now := time.Unix(1000, 0)
	s := a.sourceAt(&now)
	if got, err := s.Sample(t.Context()); err != nil || len(got.Nodes) != 0 {
		t.Fatalf("got %+v, %v", got.Nodes, err)
	}
	a.say("/api/cluster/nodes", 200, records(nodeJSON("a", 1, 2)))
	if got, err := s.Sample(t.Context()); err != nil || len(got.Nodes) != 1 {
		t.Errorf("got %+v, %v", got.Nodes, err)
	}
	for body, permanent := range map[string]bool{part: false, `{}`: true} {
		a.say("/api/storage/volumes", 200, body)
		_, err := s.Survey(t.Context(), "/vol1")
		wantReason(t, err, runfile.SurveyFailed)
		if storage.IsPermanent(err) != permanent {
			t.Errorf("%s: %v, permanent %v", body, err, !permanent)
		}
	}
}

// secretIn writes an account into a mounted Secret and reads it.
func secretIn(t *testing.T, dir, password string) rest.Credentials {
	t.Helper()
	for k, v := range map[string]string{"username": user, "password": password + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, k), []byte(v), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := rest.ReadCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestANewSecretMayBeAllowedMore(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	dir := t.TempDir()
	a.say("/api/cluster/nodes", 403, forbidden)
	s := a.sourceWith(secretIn(t, dir, pass), time.Now)
	if got, err := s.Sample(t.Context()); err != nil || len(got.Nodes) != 0 {
		t.Fatalf("got %+v, %v", got.Nodes, err)
	}
	a.say("/api/cluster/nodes", 200, records(nodeJSON("a", 1, 2)))
	a.setPassword("rotated")
	secretIn(t, dir, "rotated")
	_, _ = s.Sample(t.Context()) // meets the 401 and renews
	if got, err := s.Sample(t.Context()); err != nil || len(got.Nodes) != 1 {
		t.Errorf("got %+v, %v", got.Nodes, err)
	}
}

// TestAVolumeWithoutAnAggregateHasAnOwner: on AFX it has none, and moves between nodes at no cost.
func TestAVolumeWithoutAnAggregateHasAnOwner(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	s, owner := a.source(), "a"
	a.answer("/api/storage/volumes/"+uuid, func(w http.ResponseWriter, r *http.Request) {
		body := strings.Replace(volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1), `"aggregates":[{"name":"aggr_a"}],`, "", 1)
		if r.URL.Query().Get("fields") == "nodes.name" {
			body = fmt.Sprintf(`{"uuid":%q,"nodes":[{"name":%q}]}`, uuid, owner)
		}
		_, _ = w.Write([]byte(body))
	})
	for _, owner = range []string{"a", "b"} {
		if got, err := s.Sample(t.Context()); err != nil || got.VolumeNode != owner {
			t.Errorf("got %q, %v, want %s", got.VolumeNode, err, owner)
		}
	}
}

func TestAnAccountOfAnSVMLearnsTheOwnerFromTheVolume(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.say("/api/storage/aggregates", 403, forbidden)
	a.answer("/api/storage/volumes/"+uuid, func(w http.ResponseWriter, r *http.Request) {
		body := volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 1)
		if strings.Contains(r.URL.Query().Get("fields"), "nodes.name") {
			body = `{"nodes":[{"name":"b"}]}`
		}
		_, _ = fmt.Fprint(w, body)
	})
	if got, err := a.source().Sample(t.Context()); err != nil || got.VolumeNode != "b" {
		t.Errorf("got %+v, %v", got.VolumeNode, err)
	}
}

func TestASampleFailsAsAWhole(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		path      string
		status    int
		permanent bool
	}{
		"volume forbidden":    {"/api/storage/volumes/" + uuid, 403, true},
		"volume gone":         {"/api/storage/volumes/" + uuid, 404, true},
		"volume broken":       {"/api/storage/volumes/" + uuid, 500, false},
		"nodes broken":        {"/api/cluster/nodes", 500, false},
		"LIFs broken":         {"/api/network/ip/interfaces", 500, false},
		"lookup not possible": {"/api/storage/volumes", 403, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArray(t)
			a.say(tc.path, tc.status, forbidden)
			s := a.source()
			_, err := s.Sample(t.Context())
			if err == nil || storage.IsPermanent(err) != tc.permanent {
				t.Errorf("got permanent %v: %v", storage.IsPermanent(err), err)
			}
			noSecret(t, err)
		})
	}
}

func TestAVolumeThatWasMadeAnewIsFoundAgain(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	s := a.source()
	if _, err := s.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.say("/api/storage/volumes/"+uuid, 404, `{"error":{"code":4,"message":"entry doesn't exist"}}`)
	if _, err := s.Sample(t.Context()); err == nil {
		t.Fatal("want an error")
	}
	a.say("/api/storage/volumes", 200, records(strings.Replace(volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 3), uuid, "other", 1)))
	a.say("/api/storage/volumes/other", 200, volumeJSON("aggr_a", "2026-01-01T00:00:15Z", "ok", 3))
	if got, err := s.Sample(t.Context()); err != nil || *got.ReadOps != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefusedCredentialsAreNotTriedEachSecondButANewSecretIs(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	dir := t.TempDir()
	now := time.Unix(1000, 0)
	s := a.sourceWith(secretIn(t, dir, pass), func() time.Time { return now })
	if _, err := s.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.setPassword("rotated") // before the kubelet has changed the files
	a.forget()
	for range 5 {
		now = now.Add(time.Second)
		_, err := s.Sample(t.Context())
		if !storage.IsPermanent(err) {
			t.Errorf("got %v", err)
		}
		noSecret(t, err)
	}
	if n := len(a.requests("")); n > 3 {
		t.Errorf("ONTAP saw %d refused requests in 5 s", n)
	}
	secretIn(t, dir, "rotated")
	now = now.Add(time.Second)
	if _, err := s.Sample(t.Context()); err != nil {
		t.Errorf("the new Secret must be used at once: %v", err)
	}
	// A rotation that was prepared well is not even noticed.
	a.setPassword("third")
	secretIn(t, dir, "third")
	now = now.Add(time.Minute)
	if _, err := s.Sample(t.Context()); err != nil {
		t.Errorf("the request must be repeated with the new Secret: %v", err)
	}
	// Without a new Secret it is tried again after a while: somebody may have unlocked the account.
	a.setPassword("locked")
	_, _ = s.Sample(t.Context())
	a.setPassword("third")
	now = now.Add(31 * time.Second)
	if _, err := s.Sample(t.Context()); err != nil {
		t.Errorf("half a minute later: %v", err)
	}
}
