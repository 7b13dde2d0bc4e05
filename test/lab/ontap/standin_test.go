package ontap_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

func TestItSaysThatItIsNoRealArray(t *testing.T) {
	t.Parallel()
	w := begin(t)
	full, _ := at(w.get(t, "/api/cluster?fields=version"), "version.full").(string)
	if !strings.Contains(full, "9.14.1") || !strings.Contains(full, "stand-in") || !strings.Contains(full, "simulated") {
		t.Errorf("version.full is %q", full)
	}
}

func TestFieldsAreToldAsONTAPTellsThem(t *testing.T) {
	t.Parallel()
	w := begin(t)
	cases := map[string]struct {
		path          string
		want, without []string
	}{
		"nothing asked":             {"?name=vol1", []string{"name", "uuid"}, []string{"size", "nas", "statistics"}},
		"cheap ones by a star":      {"?fields=*", []string{"size", "style", "aggregates", "nas.export_policy.name"}, []string{"nas.path", "movement", "statistics"}},
		"a parent is not its dear":  {"?fields=nas", []string{"nas.export_policy.name"}, []string{"nas.path"}},
		"a dear one by its name":    {"?fields=nas.path", []string{"nas.path"}, []string{"nas.export_policy"}},
		"statistics by their name":  {"?fields=statistics", []string{"statistics.timestamp", "statistics.iops_raw.read"}, []string{"size"}},
		"a part of them":            {"?fields=statistics.iops_raw", []string{"statistics.iops_raw.total"}, []string{"statistics.timestamp"}},
		"all":                       {"?fields=**", []string{"nas.path", "statistics.latency_raw.write", "space.available"}, nil},
		"what the filter asked for": {"?nas.path=/vol1", []string{"nas.path"}, []string{"size"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := w.records(t, "/api/storage/volumes"+tc.path+"&svm.name=vsdb122b&name=vol1")[0]
			for _, f := range tc.want {
				if at(r, f) == nil {
					t.Errorf("%s is missing: %v", f, r)
				}
			}
			for _, f := range tc.without {
				if at(r, f) != nil {
					t.Errorf("%s was not asked for: %v", f, at(r, f))
				}
			}
		})
	}
}

func TestWhatONTAPDoesNotHaveIsAnError(t *testing.T) {
	t.Parallel()
	w := begin(t)
	cases := map[string]struct {
		path   string
		status int
		code   string
	}{
		"a field":                {"/api/storage/volumes?fields=name,colour", 400, "2"},
		"a filter":               {"/api/storage/volumes?colour=red", 400, "2"},
		"nodes of volumes":       {"/api/storage/volumes?fields=nodes.name", 400, "2"},
		"a page of nothing":      {"/api/storage/volumes?start.index=99", 400, "2"},
		"a test of no value":     {"/api/storage/volumes?name=!vol1", 400, "2"},
		"a volume":               {"/api/storage/volumes/no-such-uuid", 404, "4"},
		"a job":                  {"/api/cluster/jobs/no-such-uuid", 404, "4"},
		"an interface of 9.99":   {"/api/storage/colours", 404, "3"},
		"something below a leaf": {"/api/cluster/nodes/x/y", 404, "3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status, body := w.ask(t, http.MethodGet, tc.path, "")
			if status != tc.status || at(body, "error.code") != tc.code || at(body, "error.message") == "" {
				t.Errorf("got %d %v", status, body)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	w := begin(t)
	cases := map[string]struct {
		path string
		want []string
	}{
		"equal":         {"/network/ip/interfaces?svm.name=vsdb122b", []string{"lif_a", "lif_b", "lif_mgmt"}},
		"one of a list": {"/network/ip/interfaces?svm.name=vsdb122b&services=data_nfs", []string{"lif_a", "lif_b"}},
		"two at once":   {"/storage/volumes?name=vol1&nas.path=/", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range w.records(t, "/api"+tc.path) {
				got = append(got, r["name"].(string))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPagesLeadToOneAnother(t *testing.T) {
	t.Parallel()
	w := begin(t)
	for name, fault := range map[string]ontap.Fault{"as the array likes": {PageSize: 1}, "an empty one first": {EmptyPage: true}} {
		t.Run(name, func(t *testing.T) {
			w.Clear()
			w.Inject(fault)
			path := "/api/network/ip/interfaces?fields=ip.address"
			var names []string
			pages := 0
			for path != "" {
				body := w.get(t, path)
				for _, r := range body["records"].([]any) {
					names = append(names, r.(map[string]any)["name"].(string))
				}
				if n := len(body["records"].([]any)); body["num_records"] != float64(n) {
					t.Errorf("num_records is %v of %d", body["num_records"], n)
				}
				path, _ = at(body, "_links.next.href").(string)
				pages++
			}
			if diff := cmp.Diff([]string{"lif_a", "lif_b", "lif_mgmt", "lif_other"}, names); diff != "" || pages < 2 {
				t.Errorf("%d pages: %s", pages, diff)
			}
		})
	}
}

func TestAccountsSeeWhatTheyMay(t *testing.T) {
	t.Parallel()
	readOnly, svm := ontap.ReadOnly("viewer", "v"), ontap.SVMAdmin("vsadmin", "s", "vsdb122b")
	w := begin(t, func(o *ontap.Options) { o.Model.Accounts = append(o.Model.Accounts, readOnly, svm) })
	all := []string{
		"/cluster", "/cluster/nodes", "/network/ip/interfaces", "/storage/aggregates", "/storage/volumes", "/protocols/nfs/services",
		"/protocols/nfs/export-policies/12884901889/rules", "/protocols/nfs/connected-clients", "/storage/qos/policies", "/storage/qtrees",
	}
	cases := map[string]struct {
		account   ontap.Account
		forbidden []string
	}{
		"of the cluster":        {ontap.Admin(user, password), nil},
		"that may read":         {readOnly, nil},
		"of one SVM":            {svm, []string{"/cluster/nodes", "/storage/aggregates"}},
		"with a wrong password": {ontap.Admin(user, "x"), all},
		"that is nobody":        {ontap.Account{}, all},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.user, w.password = tc.account.User, tc.account.Password
			for _, path := range all {
				status, body := w.ask(t, http.MethodGet, "/api"+path, "")
				switch {
				case tc.account.Privileges == nil || tc.account.Password == "x":
					if status != http.StatusUnauthorized {
						t.Errorf("%s: %d", path, status)
					}
				case slices.Contains(tc.forbidden, path):
					if status != http.StatusForbidden || at(body, "error.code") != "6" {
						t.Errorf("%s: %d %v", path, status, body)
					}
				case status != http.StatusOK:
					t.Errorf("%s: %d %v", path, status, body)
				}
			}
		})
	}
	w.user, w.password = "vsadmin", "s"
	if got := len(w.records(t, "/api/storage/volumes?name=vol1")); got != 1 {
		t.Errorf("the account of an SVM sees %d volumes vol1, those of other SVMs included", got)
	}
}

func TestStatisticsMoveOnTheGridOnly(t *testing.T) {
	t.Parallel()
	w := begin(t)
	read := func() (any, any, any) {
		v := w.records(t, "/api/storage/volumes?name=vol1&svm.name=vsdb122b&fields=statistics")[0]
		n := w.records(t, "/api/cluster/nodes?fields=statistics")[0]
		return at(v, "statistics.timestamp"), at(v, "statistics.iops_raw.read"), at(n, "statistics.processor_utilization_raw")
	}
	set := func(n uint64) {
		w.truth.SetVolume("vol1", ontap.VolumeCounters{Read: ontap.OpCounters{Ops: n, Bytes: n * 8192, LatencyMicros: n * 300}})
		w.truth.SetNode("naclu1-01", ontap.NodeCounters{BusyMicros: n, BaseMicros: 10 * n})
	}
	set(100)
	first, ops, _ := read()
	if ops != 100.0 || first != "2027-01-15T08:00:00Z" {
		t.Fatalf("at the beginning: %v, %v", first, ops)
	}
	set(200)
	w.clock.step(11 * time.Second)
	if same, ops, busy := read(); same != first || ops != 100.0 || busy != 100.0 {
		t.Errorf("within the grid: %v, %v, %v", same, ops, busy)
	}
	w.clock.step(2 * time.Second)
	if next, ops, busy := read(); next != "2027-01-15T08:00:15Z" || ops != 200.0 || busy != 200.0 {
		t.Errorf("after its step: %v, %v, %v", next, ops, busy)
	}
	w.Freeze(true)
	set(300)
	w.clock.step(time.Minute)
	if same, ops, _ := read(); same != "2027-01-15T08:00:15Z" || ops != 200.0 {
		t.Errorf("frozen: %v, %v", same, ops)
	}
	w.Freeze(false)
	w.ResetCounters()
	if _, ops, busy := read(); ops != 0.0 || busy != 0.0 {
		t.Errorf("after a reset: %v, %v", ops, busy)
	}
	w.SetStatus(ontap.StatisticsVolumes, "negative_delta")
	if got := at(w.records(t, "/api/storage/volumes?fields=statistics")[0], "statistics.status"); got != "negative_delta" {
		t.Errorf("status %v", got)
	}
}

func TestCountersComeFromTheTruth(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.truth.SetVolume("vol1", ontap.VolumeCounters{
		Read: ontap.OpCounters{Ops: 1, Bytes: 2, LatencyMicros: 3}, Write: ontap.OpCounters{Ops: 10, Bytes: 20, LatencyMicros: 30},
		Other: ontap.OpCounters{Ops: 100, Bytes: 200, LatencyMicros: 300},
	})
	w.truth.SetLIF("192.0.2.11", ontap.LIFCounters{SentBytes: 7, ReceivedBytes: 8})
	w.truth.SetNode("naclu1-02", ontap.NodeCounters{BusyMicros: 5, BaseMicros: 9})
	w.truth.SetClients(ontap.Client{ClientIP: "10.1.1.1", ServerIP: "192.0.2.12", Volume: "vol1", Protocol: "nfs3", RemoteRequests: 4})
	want := map[string]any{
		"iops_raw":       map[string]any{"read": 1.0, "write": 10.0, "other": 100.0, "total": 111.0},
		"throughput_raw": map[string]any{"read": 2.0, "write": 20.0, "other": 200.0, "total": 222.0},
		"latency_raw":    map[string]any{"read": 3.0, "write": 30.0, "other": 300.0, "total": 333.0},
	}
	got := at(w.records(t, "/api/storage/volumes?name=vol1&svm.name=vsdb122b&fields=statistics")[0], "statistics").(map[string]any)
	maps.DeleteFunc(got, func(k string, _ any) bool { return k == "timestamp" || k == "status" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	lif := w.records(t, "/api/network/ip/interfaces?name=lif_a&fields=statistics")[0]
	if at(lif, "statistics.throughput_raw.read") != 7.0 || at(lif, "statistics.throughput_raw.write") != 8.0 {
		t.Errorf("a LIF sends what clients read: %v", lif)
	}
	node := w.records(t, "/api/cluster/nodes?fields=statistics")[1]
	if at(node, "statistics.processor_utilization_raw") != 5.0 || at(node, "statistics.processor_utilization_base") != 9.0 {
		t.Errorf("node %v", node)
	}
	client := w.records(t, "/api/protocols/nfs/connected-clients?svm.name=vsdb122b&volume.name=vol1&fields=remote_request_count,protocol")[0]
	if client["remote_request_count"] != 4.0 || at(client, "node.name") != "naclu1-02" {
		t.Errorf("client %v", client)
	}
}

func TestSettersShowAtOnce(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.SetLIF(ontap.LIF{Name: "lif_a", Address: "192.0.2.11", Prefix: 24, HomeNode: "naclu1-01", Node: "naclu1-02"})
	lif := w.records(t, "/api/network/ip/interfaces?name=lif_a&fields=location,state,enabled")[0]
	if at(lif, "location.is_home") != false || at(lif, "location.node.name") != "naclu1-02" || lif["state"] != "up" {
		t.Errorf("LIF %v", lif)
	}
	w.SetService(ontap.NFSService{Absent: true})
	if got := w.records(t, "/api/protocols/nfs/services"); len(got) != 0 {
		t.Errorf("services %v", got)
	}
}
