package trident

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABackendConfigurationIsWhatTridentWants(t *testing.T) {
	u := NewBackendConfig("trident", "nfsbench-a-b-1", map[string]string{"a": "b"}, BackendSpec{
		ManagementLIF: "fd00::1", DataLIF: "10.0.1.61", SVM: "svm1", CredentialsSecretName: "ontap", CABundle: "PEM",
	})
	want := map[string]any{
		"version": int64(1), "storageDriverName": "ontap-nas", "backendName": "nfsbench-a-b-1", "managementLIF": "[fd00::1]",
		"dataLIF": "10.0.1.61", "svm": "svm1", "credentials": map[string]any{"name": "ontap"}, "nasType": "nfs",
		"deletionPolicy": "delete", "autoExportPolicy": true, "trustedCACertificate": "UEVN",
		"defaults": map[string]any{"snapshotDir": "false", "snapshotPolicy": "none", "spaceReserve": "none"},
	}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if got := u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetNamespace(); got != "trident.netapp.io/v1 TridentBackendConfig trident" {
		t.Errorf("it is a %s", got)
	}
	u.DeepCopy() // panics on values that JSON does not have
}

func TestAnExportPolicyReplacesThatOfTheNodes(t *testing.T) {
	u := NewBackendConfig("trident", "x", nil, BackendSpec{ManagementLIF: "filer:443", ExportPolicy: "pods"})
	spec := u.Object["spec"].(map[string]any)
	if spec["autoExportPolicy"] != false || spec["defaults"].(map[string]any)["exportPolicy"] != "pods" {
		t.Errorf("spec is %v", spec)
	}
	if _, is := spec["dataLIF"]; is {
		t.Error("a dataLIF is written although none was asked for")
	}
	if spec["managementLIF"] != "filer:443" {
		t.Errorf("a name with a port became %v", spec["managementLIF"])
	}
}

func TestTheHostOfAnAddressIsBare(t *testing.T) {
	for address, want := range map[string]string{
		"fd00::1":                    "fd00::1",
		"[fd00::1]":                  "fd00::1",
		"[fd00::1]:443":              "fd00::1",
		"https://[fd00::1]:443":      "fd00::1",
		"https://[fd00::1]":          "fd00::1",
		"https://[fd00::1]:443/api/": "fd00::1",
		"192.0.2.7":                  "192.0.2.7",
		"192.0.2.7:8443":             "192.0.2.7",
		"https://192.0.2.7/":         "192.0.2.7",
		"Filer-1.example":            "Filer-1.example",
		"filer-1.example:443":        "filer-1.example",
		"https://filer-1.example:1":  "filer-1.example",
		"":                           "",
	} {
		if got := Bare(address); got != want {
			t.Errorf("%q is %q", address, got)
		}
		if got := Bare(Bracketed(want)); got != want {
			t.Errorf("%q in brackets is %q", want, got)
		}
	}
}

func TestAnEndpointHasAPort(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7:443", "filer:8443": "filer:8443", "fd00::1": "[fd00::1]:443", "[fd00::1]:8443": "[fd00::1]:8443",
		"https://filer/api": "filer:443",
	} {
		if got := Endpoint(address); got != want {
			t.Errorf("%q is %q, want %q", address, got, want)
		}
	}
}

// Trident compares pools as unanchored regular expressions.
func TestOnlyThePoolsThatWereNamedMatch(t *testing.T) {
	got := StoragePools("b-1", []string{"aggr1", "n1.ssd"})
	backend, list, _ := strings.Cut(got, ":")
	if ok, _ := regexp.MatchString("^"+backend+"$", "b-1"); !ok {
		t.Errorf("%q does not match its backend", backend)
	}
	for pool, want := range map[string]bool{"aggr1": true, "aggr10": false, "xaggr1": false, "n1.ssd": true, "n1xssd": false} {
		matched := false
		for part := range strings.SplitSeq(list, ",") {
			ok, err := regexp.MatchString(part, pool)
			if err != nil {
				t.Fatal(err)
			}
			matched = matched || ok
		}
		if matched != want {
			t.Errorf("pool %q of %q: %t", pool, list, matched)
		}
	}
	if got := StoragePools("b-1", nil); got != "b-1:.*" {
		t.Errorf("without pools: %q, want every pool of this backend and of no other", got)
	}
}

func TestTheVersionThatMountOptionsName(t *testing.T) {
	cases := map[string]string{
		"": "", "hard,rw": "", "nfsvers=3": "3", "hard, nfsvers=4.1": "4.1", "vers=4.2": "4.2", "vers=4,minorversion=1": "4.1",
		"minorversion=1,vers=4": "4.1", "v4.1": "4.1", "v3": "3", "vers=3,nfsvers=4.1": "4.1", "nfsvers=4": "4", "nolock,vfoo": "",
		"-o nfsvers=4.1": "4.1", "minorversion=2": "4.2", "hard, vers=4 ,minorversion=0": "4.0",
	}
	for options, want := range cases {
		if got := NFSVersion([]string{"hard", options}); got != want {
			t.Errorf("version of %q is %q, want %q", options, got, want)
		}
	}
}

func TestDriversThatCannotBeMeasuredAreRefused(t *testing.T) {
	for driver, word := range map[string]string{
		"ontap-nas": "", "ontap-nas-flexgroup": "", "azure-netapp-files": "", "ontap-nas-economy": "qtrees", "ontap-san": "block", "ontap-san-economy": "block", "solidfire-san": "block",
	} {
		got := Refusal(driver)
		if (word == "") != (got == "") || !strings.Contains(got, word) {
			t.Errorf("driver %s: %q", driver, got)
		}
	}
}

func TestAVersionWithoutItsMinorOneIsNegotiated(t *testing.T) {
	for _, c := range []struct {
		options, want string
		negotiated    bool
	}{
		{"hard", "3", true},
		{"nfsvers=4", "4.1", true},
		{"vers=4", "4.2", true},
		{"v4", "4.0", true},
		{"nfsvers=4", "3", false},
		{"nfsvers=3", "4.1", false},
		{"vers=4,minorversion=1", "4.2", false},
	} {
		if got := Negotiated(NFSVersion([]string{c.options}), c.want); got != c.negotiated {
			t.Errorf("%s for %s: %v", c.options, c.want, got)
		}
	}
}
