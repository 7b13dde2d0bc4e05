package trident

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func object(t testing.TB, kind string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", strings.ToLower(kind)+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWhatTridentSaysIsRead(t *testing.T) {
	v, err := ReadVolume(object(t, KindVolume))
	if err != nil {
		t.Fatal(err)
	}
	wantV := Volume{
		Name: "pvc-6f0c1a9e-1111-4222-8333-444455556666", Namespace: "trident", BackendUUID: "b3f0a1d2-0000-4000-8000-000000000007", Pool: "aggr1",
		State: "online", InternalName: "trident_pvc_6f0c1a9e_1111_4222_8333_444455556666", Protocol: "file",
		NFSPath: "/trident_pvc_6f0c1a9e_1111_4222_8333_444455556666", NFSServer: "10.0.1.61",
		ExportPolicy: "trident_empty", enforced: true,
	}
	if diff := cmp.Diff(wantV, v, cmp.AllowUnexported(Volume{})); diff != "" {
		t.Errorf("volume (-want +got):\n%s", diff)
	}
	b, err := ReadBackend(object(t, KindBackend))
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	wantB := Backend{
		Name: "nfsbench-a-b-1", UUID: "b3f0a1d2-0000-4000-8000-000000000007", Online: &yes, State: "online", Driver: "ontap-nas",
		ManagementLIF: "fd00::1", SVM: "svm1", DataLIF: "10.0.1.62", StoragePrefix: "trident_",
	}
	if diff := cmp.Diff(wantB, b); diff != "" {
		t.Errorf("backend (-want +got):\n%s", diff)
	}
	c, err := ReadBackendConfig(object(t, KindBackendConfig))
	if err != nil {
		t.Fatal(err)
	}
	wantC := BackendConfig{
		Taken: true, Phase: PhaseBound, LastOperation: "Success", Message: "Backend 'nfsbench-a-b-1' created",
	}
	if diff := cmp.Diff(wantC, c); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestABackendIsReadyWhenItIsBoundAndItsLastOperationSucceeded(t *testing.T) {
	for c, want := range map[BackendConfig][2]bool{
		{}: {false, false},
		{Phase: "Bound", LastOperation: "Success"}:    {true, false},
		{Phase: "Bound", LastOperation: "Failed"}:     {false, true}, // a failed update
		{Phase: "", LastOperation: "Failed"}:          {false, true},
		{Phase: "Deleting", LastOperation: "Success"}: {false, false},
		{Phase: "Bound"}: {false, false},
	} {
		if c.IsReady() != want[0] || c.IsFailed() != want[1] {
			t.Errorf("%+v: ready %t, failed %t", c, c.IsReady(), c.IsFailed())
		}
	}
}

func TestAFieldThatIsNotAsItShouldBeIsNamed(t *testing.T) {
	read := map[string]func(*unstructured.Unstructured) error{
		KindVolume:        func(u *unstructured.Unstructured) error { _, err := ReadVolume(u); return err },
		KindBackend:       func(u *unstructured.Unstructured) error { _, err := ReadBackend(u); return err },
		KindBackendConfig: func(u *unstructured.Unstructured) error { _, err := ReadBackendConfig(u); return err },
	}
	cases := map[string]struct {
		kind  string
		path  []string
		value any // nil removes
		want  string
	}{
		"NoPath":         {KindVolume, []string{"config", "accessInformation", "nfsPath"}, nil, "config.accessInformation.nfsPath is missing"},
		"NoInformation":  {KindVolume, []string{"config", "accessInformation"}, nil, "config.accessInformation.nfsPath is missing"},
		"NoName":         {KindVolume, []string{"config", "internalName"}, nil, "config.internalName is missing"},
		"NoBackend":      {KindVolume, []string{"backendUUID"}, nil, "backendUUID is missing"},
		"NumberAsPath":   {KindVolume, []string{"config", "accessInformation", "nfsPath"}, int64(7), "config.accessInformation.nfsPath is not a string"},
		"PathOfTwoLines": {KindVolume, []string{"config", "accessInformation", "nfsPath"}, "/a\npath: 10.0.0.1", "config.accessInformation.nfsPath is not an export path"},
		"PathOfAHost":    {KindVolume, []string{"config", "accessInformation", "nfsPath"}, "10.0.0.1:/a", "config.accessInformation.nfsPath is not an export path"},
		"HugePath":       {KindVolume, []string{"config", "accessInformation", "nfsPath"}, "/" + strings.Repeat("a", 1024), "config.accessInformation.nfsPath is not an export path"},
		"AddressOfTwo":   {KindVolume, []string{"config", "accessInformation", "nfsServerIp"}, "10.0.0.1 10.0.0.2", "config.accessInformation.nfsServerIp is not an address"},
		"ConfigAsText":   {KindVolume, []string{"config"}, "x", "config.internalName cannot be reached"},
		"NoDriver":       {KindBackend, []string{"config", "ontap_config", "storageDriverName"}, nil, "config.ontap_config.storageDriverName is missing"},
		"NoConfig":       {KindBackend, []string{"config"}, nil, "config.ontap_config.storageDriverName is missing"},
		"ListAsConfig":   {KindBackend, []string{"config", "ontap_config"}, []any{}, "config.ontap_config is not an object"},
		"OddDataLIF":     {KindBackend, []string{"config", "ontap_config", "dataLIF"}, "10.0.0.1\n", "config.ontap_config.dataLIF is not an address"},
		"DataLIFAndPort": {KindBackend, []string{"config", "ontap_config", "dataLIF"}, "[fd00::2]:2049", "config.ontap_config.dataLIF is not an address"},
		"DataLIFAsURL":   {KindBackend, []string{"config", "ontap_config", "dataLIF"}, "https://10.0.0.1", "config.ontap_config.dataLIF is not an address"},
		"AddressAndPort": {KindVolume, []string{"config", "accessInformation", "nfsServerIp"}, "10.0.0.1:2049", "config.accessInformation.nfsServerIp is not an address"},
		"OnlineAsText":   {KindBackend, []string{"online"}, "yes", "online is not true or false"},
		"PhaseAsNumber":  {KindBackendConfig, []string{"status", "phase"}, int64(1), "status.phase is not a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := object(t, tc.kind)
			if tc.value == nil {
				unstructured.RemoveNestedField(u.Object, tc.path...)
			} else if err := unstructured.SetNestedField(u.Object, tc.value, tc.path...); err != nil {
				t.Fatal(err)
			}
			err := read[tc.kind](u)
			if err == nil || !strings.Contains(err.Error(), tc.kind+" trident/"+u.GetName()+": "+tc.want) {
				t.Errorf("got %v, want that %s", err, tc.want)
			}
		})
	}
}

func TestAConfigurationWithoutStatusIsNotBound(t *testing.T) {
	u := object(t, KindBackendConfig)
	delete(u.Object, "status")
	c, err := ReadBackendConfig(u)
	if err != nil || c != (BackendConfig{Taken: true}) || !c.IsWorkedOn() {
		t.Errorf("read %+v, %v, want one that Trident works on", c, err)
	}
	u.SetFinalizers([]string{"example.com/other"})
	if c, err = ReadBackendConfig(u); err != nil || c != (BackendConfig{}) || c.IsWorkedOn() {
		t.Errorf("read %+v, %v, want one that Trident has not taken", c, err)
	}
}

func TestABlockVolumeIsReadAndRefused(t *testing.T) {
	u := object(t, KindVolume)
	config := u.Object["config"].(map[string]any)
	config["protocol"] = "block"
	delete(config, "accessInformation")
	v, err := ReadVolume(u)
	if err != nil || v.BlockRefusal() == "" {
		t.Errorf("read %+v, %v", v, err)
	}
}

func TestStatesInWhichNothingCanBeDoneAreTold(t *testing.T) {
	for state, usable := range map[string]bool{
		"": true, "online": true, "of a later release": true, "deleting": false, "upgrading": false, "missing_backend": false,
	} {
		if ok, why := (Volume{Name: "v", State: state}).IsUsable(); ok != usable || (why == "") != usable {
			t.Errorf("volume in state %q: %t %q", state, ok, why)
		}
	}
	no := false
	for _, b := range []Backend{{State: "failed", StateReason: "no route"}, {State: "online", Online: &no, StateReason: "no route"}} {
		if ok, why := b.IsUsable(); ok || !strings.Contains(why, "no route") {
			t.Errorf("backend %+v: %t %q", b, ok, why)
		}
	}
}

func TestABackendThatIsSuspendedIsTold(t *testing.T) {
	for state, want := range map[any]bool{nil: false, "": false, "normal": false, "suspended": true} {
		u := object(t, KindBackend)
		u.Object["userState"] = state
		if b, err := ReadBackend(u); err != nil || b.Suspended != want {
			t.Errorf("%v: %+v, %v", state, b, err)
		}
	}
}

func TestWhereONTAPPlacesVolumesIsTold(t *testing.T) {
	for _, tc := range []struct {
		driver        string
		disaggregated any
		want          string
	}{
		{"ontap-nas", "false", ""},
		{"ontap-nas", "true", "AFX"},
		{"ontap-nas", true, "AFX"},
		{"ontap-nas", false, ""},
		{"ontap-nas-flexgroup", "false", "driver ontap-nas-flexgroup"},
		{"ontap-nas", map[string]any{}, ""},
	} {
		u := object(t, KindBackend)
		config := u.Object["config"].(map[string]any)["ontap_config"].(map[string]any)
		config["storageDriverName"], config["flags"].(map[string]any)["disaggregated"] = tc.driver, tc.disaggregated
		b, err := ReadBackend(u)
		if err != nil || !strings.Contains(b.Unplaceable, tc.want) || (b.Unplaceable == "") != (tc.want == "") {
			t.Errorf("%+v: %q, %v", tc, b.Unplaceable, err)
		}
	}
	u := object(t, KindVolume)
	u.Object["pool"] = "managed_storage_pool"
	if v, err := ReadVolume(u); err != nil || v.Pool != "" {
		t.Errorf("pool %q, %v, want that it is not known", v.Pool, err)
	}
}

// TestAVolumeThatOnlyAttachedNodesMayUseIsFound: Trident marks only those that it made so.
func TestAVolumeThatOnlyAttachedNodesMayUseIsFound(t *testing.T) {
	const internal = "trident_pvc_6f0c1a9e_1111_4222_8333_444455556666"
	for name, tc := range map[string]struct {
		enforced bool
		policy   string
		prefix   any // of the backend; Trident has an object where there is none
		auto     any
		driver   string
		want     bool
	}{
		"marked":                            {true, "x", "trident_", true, DriverNAS, true},
		"detached, and not marked":          {false, "trident_empty", "trident_", true, DriverNAS, true},
		"detached, and no longer automatic": {false, "empty", "", nil, DriverNAS, true},
		"attached, and not marked":          {false, internal, "trident_", true, DriverNAS, true},
		"imported, with a like policy":      {false, internal, "trident_", false, DriverNAS, false},
		"of an old release":                 {false, "trident-b3f0a1d2-0000-4000-8000-000000000007", "trident_", true, DriverNAS, true},
		"of an old release, written":        {false, "trident-b3f0a1d2-0000-4000-8000-000000000007", "trident_", "true", DriverNAS, true},
		"FlexGroup":                         {false, "trident-b3f0a1d2-0000-4000-8000-000000000007", "trident_", true, DriverFlexGroup, false},
		"a policy of its own":               {false, "pods", "trident_", false, DriverNAS, false},
		"one of a like name":                {false, "nonempty", "trident_", false, DriverNAS, false},
		"detached, with the default prefix": {false, "trident_empty", map[string]any{}, true, DriverNAS, true},
		"not told":                          {false, "", "trident_", true, DriverNAS, false},
	} {
		u, back := object(t, KindVolume), object(t, KindBackend)
		config := u.Object["config"].(map[string]any)
		config["exportPolicy"], config["accessInformation"].(map[string]any)["publishEnforcement"] = tc.policy, tc.enforced
		ontap := back.Object["config"].(map[string]any)["ontap_config"].(map[string]any)
		ontap["autoExportPolicy"], ontap["storageDriverName"], ontap["storagePrefix"] = tc.auto, tc.driver, tc.prefix
		v, err := ReadVolume(u)
		b, other := ReadBackend(back)
		if err != nil || other != nil || v.AttachedOnly(b) != tc.want {
			t.Errorf("%s: %t, %v, %v", name, v.AttachedOnly(b), err, other)
		}
	}
}

func TestAReleaseThatLosesExportRulesIsFound(t *testing.T) {
	const image, on = "registry.example:5000/netapp/trident:", "--enable_concurrency=true"
	for name, tc := range map[string]struct{ image, arg, want string }{
		"old":               {image + "26.06.1", on, "26.06.1"},
		"old, and a digest": {image + "26.02.9@sha256:0123", on, "26.02.9"},
		"repaired":          {image + "26.06.2", on, ""},
		"later":             {image + "26.10.0", on, ""},
		"not concurrent":    {image + "26.06.1", "--enable_concurrency=false", ""},
		"no release":        {image + "latest", on, ""},
		"no tag":            {"registry.example:5000/netapp/trident", on, ""},
	} {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{
			{Name: "csi-provisioner", Image: image + "24.02.0", Args: []string{on}},
			{Name: ControllerContainer, Image: tc.image, Args: []string{"--crd_persistence", tc.arg}},
		}
		if got := LosesRules(d); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// The array is asked at the port that Trident uses.
func TestTheManagementKeepsItsPort(t *testing.T) {
	for address, want := range map[string]string{
		"[fd00::1]:8443": "[fd00::1]:8443", "[fd00::1]": "fd00::1", "fd00::1": "fd00::1", "filer:8443": "filer:8443", "filer": "filer",
	} {
		u := object(t, KindBackend)
		if err := unstructured.SetNestedField(u.Object, address, "config", "ontap_config", "managementLIF"); err != nil {
			t.Fatal(err)
		}
		if b, err := ReadBackend(u); err != nil || b.ManagementLIF != want {
			t.Errorf("%q is %q, %v", address, b.ManagementLIF, err)
		}
	}
}

func TestAnotherFamilyOfDriversIsFound(t *testing.T) {
	u := object(t, KindBackend)
	u.Object["config"] = map[string]any{"solidfire_config": map[string]any{"storageDriverName": "solidfire-san"}, "version": "1"}
	b, err := ReadBackend(u)
	if err != nil || Refusal(b.Driver) == "" {
		t.Errorf("read %+v, %v", b, err)
	}
}

// FuzzRead: what stands in objects with open schemas breaks nothing, and what is
// taken for an export path or an address cannot add a line to an oranfstab.
func FuzzRead(f *testing.F) {
	for _, kind := range []string{KindVolume, KindBackend, KindBackendConfig} {
		raw, err := json.Marshal(object(f, kind).Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"config":[],"status":{"phase":{}},"backendUUID":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		u := &unstructured.Unstructured{}
		if json.Unmarshal(raw, &u.Object) != nil || u.Object == nil {
			return
		}
		memory.Bound(t, 64*len(raw), func() { readAll(t, u) })
	})
}

// readAll reads an object as each of the kinds.
func readAll(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if v, err := ReadVolume(u); err == nil && strings.ContainsAny(v.NFSPath+v.NFSServer, "\n\r \t#") {
		t.Errorf("read %+v", v)
	}
	if b, err := ReadBackend(u); err == nil && (strings.ContainsAny(b.DataLIF, "\n\r \t#") || b.UUID == "") {
		t.Errorf("read %+v", b)
	}
	if c, err := ReadBackendConfig(u); err == nil && c.IsReady() && c.IsFailed() {
		t.Errorf("ready and failed: %+v", c)
	}
	BackendNames(u)
}
