package flashblade_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	standin "github.com/nfsbench/nfsbench/test/flashblade"
)

func TestASurveySaysEverything(t *testing.T) {
	t.Parallel()
	a := start(t)
	got, err := source(t, a, "").Survey(t.Context(), "/fs1/db")
	if err != nil {
		t.Fatal(err)
	}
	lif := func(name, address string, up bool) runfile.LIF {
		return runfile.LIF{Name: name, Address: address, Prefix: 24, Up: &up}
	}
	want := runfile.Survey{
		Version: runfile.SurveyVersion, Source: "flashblade", Array: "FlashBlade fb01, Purity//FB 4.5.6", Time: began.Add(5 * time.Second),
		ClockOffsetMilliseconds: new(int64(-5000)),
		Nodes:                   []runfile.SurveyNode{{Name: "CH1.FB1", Up: new(true)}, {Name: "CH1.FB2", Up: new(true)}, {Name: "CH1.FB3", Up: new(false)}},
		LIFs:                    []runfile.LIF{lif("vip1", "10.0.1.10", true), lif("vip2", "10.0.2.10", true), lif("vip3", "10.0.3.10", false)},
		Volume: &runfile.SurveyVolume{
			Name: "fs1", UUID: "4ff1-fs1", Export: "/fs1", State: "online", SizeBytes: new(int64(1e12)), AvailableBytes: new(int64(75e10)), ExportPolicy: "oracle",
		},
		NFS: &runfile.NFSService{Enabled: new(true), V3: new(true), V40: new(false), V41: new(false), PNFS: new(false)},
		Rules: []runfile.ExportRule{
			{Index: 1, Clients: []string{"10.0.1.0/24"}, Protocols: []string{"nfs"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"sys"}, SuperUser: []string{"any"}},
			{Index: 2, Clients: []string{"10.0.2.0/24"}, Protocols: []string{"nfs"}, ReadOnly: []string{"sys", "krb5"}, ReadWrite: []string{"never"}, SuperUser: []string{"none"}},
		},
		Missing: []runfile.MissingFact{{What: "CPU of the nodes", Why: "FlashBlade does not tell the CPU of its blades"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatTheTokenMayNotReadIsMissing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/arrays", "/blades", "/network-interfaces", "/nfs-export-policies/rules", "/file-systems/performance"} {
		a := start(t)
		a.Set(path, standin.Fault{Status: http.StatusForbidden, Body: "{}"})
		got, err := source(t, a, "").Survey(t.Context(), "/fs1")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		last := got.Missing[len(got.Missing)-1]
		if !strings.Contains(last.Why, path+" (403)") || !strings.Contains(last.Fix, "readonly") {
			t.Errorf("%s: %+v", path, got.Missing)
		}
	}
}

func TestFileSystemsAsTheyAre(t *testing.T) {
	t.Parallel()
	with := func(change func(m, nfs map[string]any)) map[string]any {
		m := standin.FileSystem("fs1")
		nfs, _ := m["nfs"].(map[string]any)
		change(m, nfs)
		return m
	}
	noRules := func(s runfile.Survey) bool {
		return s.Rules == nil && s.Missing[len(s.Missing)-1].What == "export rules"
	}
	cases := map[string]struct {
		reason  string
		object  map[string]any
		correct func(s runfile.Survey) bool
	}{
		"soft limit":  {"it may grow", with(func(m, _ map[string]any) { m["hard_limit_enabled"] = false }), func(s runfile.Survey) bool { return s.Volume.AvailableBytes == nil && *s.Volume.SizeBytes == 1e12 }},
		"no limit":    {"its size is not known", with(func(m, _ map[string]any) { m["provisioned"] = 0 }), func(s runfile.Survey) bool { return s.Volume.AvailableBytes == nil && s.Volume.SizeBytes == nil }},
		"overfull":    {"nothing is left", with(func(m, _ map[string]any) { m["provisioned"] = 1 }), func(s runfile.Survey) bool { return *s.Volume.AvailableBytes == 0 }},
		"read only":   {"its state says so", with(func(m, _ map[string]any) { m["writable"] = false }), func(s runfile.Survey) bool { return s.Volume.State == "read-only" }},
		"no NFS":      {"both versions are off", with(func(_, n map[string]any) { n["v3_enabled"] = false }), func(s runfile.Survey) bool { return !*s.NFS.Enabled }},
		"old version": {"what is not told is not known", with(func(_, n map[string]any) { delete(n, "v4_1_enabled") }), func(s runfile.Survey) bool { return s.NFS.Enabled == nil && s.NFS.V41 == nil }},
		"own rules": {"without a policy they are its own", with(func(_, n map[string]any) {
			n["export_policy"], n["rules"] = nil, "10.0.1.5(rw,no_root_squash,sec=krb5:sys) *"
		}), func(s runfile.Survey) bool {
			return cmp.Diff(s.Rules, []runfile.ExportRule{
				{Index: 1, Clients: []string{"10.0.1.5"}, Protocols: []string{"nfs"}, ReadOnly: []string{"krb5", "sys"}, ReadWrite: []string{"krb5", "sys"}, SuperUser: []string{"any"}},
				{Index: 2, Clients: []string{"0.0.0.0/0", "::/0"}, Protocols: []string{"nfs"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"never"}, SuperUser: []string{"none"}},
			}) == ""
		}},
		"no rules": {"its policy admits nobody", with(func(_, n map[string]any) { n["export_policy"] = map[string]any{"name": "closed"} }), func(s runfile.Survey) bool {
			return s.Rules != nil && len(s.Rules) == 0
		}},
		"rules are not told": {"the fields are null: the rules are not known", with(func(_, n map[string]any) { n["export_policy"], n["rules"] = nil, nil }), noRules},
		"rules of an export": {"an export may have a policy of its own: the rules are not known", with(func(_, n map[string]any) { n["export_policy"], n["rules"] = nil, "" }), noRules},
		"odd rules":          {"nothing is guessed", with(func(_, n map[string]any) { n["export_policy"], n["rules"] = nil, "10.0.1.5 (rw)" }), noRules},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.Put("/file-systems", tc.object)
			got, err := source(t, a, "").Survey(t.Context(), "/fs1")
			if err != nil {
				t.Fatal(err)
			}
			if !tc.correct(got) {
				t.Errorf("%s: %+v %+v %+v %+v", tc.reason, *got.Volume, *got.NFS, got.Rules, got.Missing)
			}
		})
	}
}

// TestWhatIsNotToldIsMissing: a list or field that is not there says nothing of the array.
func TestWhatIsNotToldIsMissing(t *testing.T) {
	t.Parallel()
	const vips, rules = "/network-interfaces", "/nfs-export-policies/rules"
	cases := map[string]struct {
		path, body, says string
		known            func(runfile.Survey) bool
	}{
		"no rules":             {rules, `{}`, "items", func(s runfile.Survey) bool { return s.Rules != nil }},
		"rules are an error":   {rules, `{"errors":[{"message":"try later"}]}`, "try later", func(s runfile.Survey) bool { return s.Rules != nil }},
		"a rule without index": {rules, `{"items":[{"client":"10.0.1.5","permission":"ro"}]}`, "index", func(s runfile.Survey) bool { return s.Rules != nil }},
		"a rule of new words": {rules, `{"items":[{"index":1,"client":"*","permission":"append","access":"odd"}]}`, "", func(s runfile.Survey) bool {
			return s.Rules[0].ReadWrite != nil || s.Rules[0].SuperUser != nil
		}},
		"no VIPs":             {vips, `{"items":null}`, "items", func(s runfile.Survey) bool { return s.LIFs != nil }},
		"a VIP of nothing":    {vips, `{"items":[{"name":"a","address":"10.0.0.1"},{"name":"b","address":"10.0.0.2","services":["data"]}]}`, "services", func(s runfile.Survey) bool { return s.LIFs != nil }},
		"a VIP of nowhere":    {vips, `{"items":[{"name":"b","address":"10.0.0.2","services":["data"]},{"name":"a","services":["data"]}]}`, "address", func(s runfile.Survey) bool { return s.LIFs != nil }},
		"no array":            {"/arrays", `{"items":[]}`, "version of the array", func(s runfile.Survey) bool { return strings.Contains(s.Array, "fb01") }},
		"a blade in no state": {"/blades", `{"items":[{"name":"a"},{"name":"b","status":"unknown"}]}`, "", func(s runfile.Survey) bool { return s.Nodes[0].Up != nil || s.Nodes[1].Up != nil }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.Set(tc.path, standin.Fault{Status: http.StatusOK, Body: tc.body})
			got, err := source(t, a, "").Survey(t.Context(), "/fs1")
			if err != nil {
				t.Fatal(err)
			}
			if last := got.Missing[len(got.Missing)-1]; tc.known(got) || !strings.Contains(last.What+last.Why, tc.says) {
				t.Errorf("missing %+v of %+v", got.Missing, got)
			}
		})
	}
}

func TestWhyThereIsNoSurvey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		volume, export string
		fault          standin.Fault
		reason         string
	}{
		"unknown":       {"", "/fs2", standin.Fault{}, runfile.SurveyNoVolume},
		"destroyed":     {"", "/gone", standin.Fault{}, runfile.SurveyNoVolume},
		"the root":      {"", "/", standin.Fault{}, runfile.SurveyNoVolume},
		"another name":  {"fs2", "/fs1", standin.Fault{}, runfile.SurveyNoVolume},
		"not allowed":   {"", "/fs1", standin.Fault{Status: 403}, runfile.SurveyRefused},
		"an accident":   {"", "/fs1", standin.Fault{Status: 500}, runfile.SurveyFailed},
		"no connection": {"", "/fs1", standin.Fault{Drop: true}, runfile.SurveyUnreachable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.Set("/file-systems", tc.fault)
			_, err := source(t, a, tc.volume).Survey(t.Context(), tc.export)
			var se *storage.SurveyError
			if !errors.As(err, &se) || se.Reason != tc.reason {
				t.Errorf("got %v, want %s", err, tc.reason)
			}
		})
	}
}
