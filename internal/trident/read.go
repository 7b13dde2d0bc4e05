package trident

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// Volume holds Trident's report about a volume. Fields that Trident may leave out can be empty.
type Volume struct {
	Name         string // name of the PersistentVolume
	Namespace    string // Trident's namespace
	BackendUUID  string
	Pool         string // aggregate at creation; a later move does not change it; empty if ONTAP chose
	State        string // online, deleting, missing_backend, ...
	InternalName string // the volume's name on the array
	Protocol     string // file or block
	NFSPath      string // export path; empty for block volumes
	NFSServer    string // recorded at creation: a hint, the backend's address may have changed
	MountOptions string // of the backend at creation; used if the class has none
	ExportPolicy string // empty if Trident does not report it

	enforced bool // Trident reports that only the nodes that have attached it may use it
}

// AttachedOnly reports whether the export policy of the volume admits only the nodes that have attached it, and before
// the first of them nobody. Trident marks only volumes that it created so. A volume of a release before 25.02 gets such
// a policy when it is detached, and the mark only when Trident restarts.
func (v Volume) AttachedOnly(b Backend) bool {
	switch {
	case v.enforced || v.ExportPolicy == b.StoragePrefix+"empty":
		return true
	case b.Driver != DriverNAS || !b.AutoExportPolicy:
		return false
	default: // the volume's own policy, or the backend's
		return v.ExportPolicy == v.InternalName || strings.HasPrefix(v.ExportPolicy, "trident-")
	}
}

// protocolBlock is the protocol of SAN volumes.
const protocolBlock = "block"

// IsUsable reports whether the state lets a volume be used, and why not.
func (v Volume) IsUsable() (bool, string) {
	switch v.State {
	case "deleting", "upgrading", "missing_backend":
		return false, fmt.Sprintf("TridentVolume %s/%s is in state %q", v.Namespace, v.Name, v.State)
	default:
		return true, ""
	}
}

// ReadVolume reads a TridentVolume. The error names the field that is wrong.
func ReadVolume(u *unstructured.Unstructured) (Volume, error) {
	r := &reader{obj: u}
	v := Volume{
		Name:         u.GetName(),
		Namespace:    u.GetNamespace(),
		BackendUUID:  r.required("backendUUID"),
		Pool:         r.optional("pool"),
		State:        r.optional("state"),
		InternalName: r.required("config", "internalName"),
		Protocol:     r.optional("config", "protocol"),
		NFSServer:    unbracketed(r.optional("config", "accessInformation", "nfsServerIp")),
		MountOptions: r.optional("config", "accessInformation", "mountOptions"),
		ExportPolicy: r.optional("config", "exportPolicy"),
		enforced:     ptr.Deref(r.flag("config", "accessInformation", "publishEnforcement"), false),
	}
	if v.Pool == managedPool {
		v.Pool = ""
	}
	if v.Protocol == protocolBlock {
		return v, r.err
	}
	path := []string{"config", "accessInformation", "nfsPath"}
	v.NFSPath = r.required(path...)
	if v.NFSPath != "" && (!exportPath.MatchString(v.NFSPath) || len(v.NFSPath) > maxPath) {
		r.fail("is not an export path", path...)
	}
	if v.NFSServer != "" && !isHost(v.NFSServer) {
		r.fail("is not an address", "config", "accessInformation", "nfsServerIp")
	}
	return v, r.err
}

// managedPool is the only pool of a backend on which ONTAP places the volumes.
const managedPool = "managed_storage_pool"

const (
	maxPath = 1024
	maxHost = 253
)

// These values go into an oranfstab and must not be able to add lines to it.
var (
	exportPath = regexp.MustCompile(`^/[^\s#:[:cntrl:]]*$`)                       //nolint:gochecknoglobals // a constant in all but name
	hostName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`) //nolint:gochecknoglobals // a constant in all but name
)

func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return len(s) <= maxHost && hostName.MatchString(s)
}

// Backend holds Trident's report about a backend. Fields that Trident left out are empty.
type Backend struct {
	Name, UUID    string
	Online        *bool
	State         string // online, offline, failed, deleting, unknown
	StateReason   string
	Suspended     bool // by its administrator: Trident makes no volume on it, but serves existing ones
	Driver        string
	ManagementLIF string
	SVM           string
	DataLIF       string // the address that Trident mounts now
	StoragePrefix string // prefix of the names on the array
	// AutoExportPolicy is set if Trident writes the export rules of its volumes.
	AutoExportPolicy bool
	// Unplaceable explains why ONTAP and not Trident chooses the aggregates of its volumes; empty if Trident does.
	Unplaceable string
}

// ReadBackend reads a TridentBackend. The error names the field that is wrong.
func ReadBackend(u *unstructured.Unstructured) (Backend, error) {
	r := &reader{obj: u}
	b := Backend{
		Name: r.optional("backendName"), UUID: r.required("backendUUID"),
		Online: r.flag("online"), State: r.optional("state"), StateReason: r.optional("stateReason"),
		Suspended: r.optional("userState") == "suspended",
	}
	// The key of the configuration names its family of drivers.
	family := "ontap_config"
	if config := r.object("config"); r.object("config", family) == nil && config != nil {
		for _, key := range slices.Sorted(maps.Keys(config)) {
			if strings.HasSuffix(key, "_config") && r.object("config", key) != nil {
				family = key
				break
			}
		}
	}
	b.Driver = r.required("config", family, "storageDriverName")
	b.ManagementLIF = unbracketed(r.optional("config", family, "managementLIF"))
	b.SVM = r.optional("config", family, "svm")
	b.DataLIF = unbracketed(r.optional("config", family, "dataLIF"))
	b.StoragePrefix = r.prefix("config", family, "storagePrefix")
	b.AutoExportPolicy = r.isTrue("config", family, "autoExportPolicy")
	b.Unplaceable = Unplaceable(b.Driver, r.isTrue("config", family, "flags", "disaggregated"))
	if b.DataLIF != "" && !isHost(b.DataLIF) {
		r.fail("is not an address", "config", family, "dataLIF")
	}
	return b, r.err
}

// BackendNames returns the name and the UUID of a TridentBackend, without reading the rest.
func BackendNames(u *unstructured.Unstructured) (name, uuid string) {
	r := &reader{obj: u}
	return r.optional("backendName"), r.optional("backendUUID")
}

// IsUsable reports whether Trident can work with the backend, and why not.
func (b Backend) IsUsable() (bool, string) {
	down := b.State == "failed" || b.State == "offline" || b.State == "deleting" || b.Online != nil && !*b.Online
	if !down {
		return true, ""
	}
	state := b.State
	if state == "" || state == "online" {
		state = "offline"
	}
	why := fmt.Sprintf("Trident says that its backend %s is %s", b.Name, state)
	if b.StateReason != "" {
		why += ": " + b.StateReason
	}
	return false, why
}

// Unplaceable returns the value of Backend.Unplaceable for a driver.
func Unplaceable(driver string, disaggregated bool) string {
	switch {
	case driver == DriverFlexGroup:
		return "has driver " + driver
	case disaggregated:
		return "is on a disaggregated array (AFX)"
	default:
		return ""
	}
}

// Refusal explains why volumes of a driver cannot be benchmarked over NFS; empty if they can.
func Refusal(driver string) string {
	switch {
	case driver == "ontap-nas-economy":
		return "driver ontap-nas-economy keeps its volumes as qtrees of one FlexVol, which share its counters and its " +
			"limits: use a backend with driver ontap-nas"
	case strings.Contains(driver, "-san"):
		return fmt.Sprintf("driver %s serves block devices and not NFS: use a backend with driver ontap-nas", driver)
	default:
		return ""
	}
}

// BlockRefusal refuses a volume that is a block device, whatever the name of its driver.
func (v Volume) BlockRefusal() string {
	if v.Protocol != protocolBlock {
		return ""
	}
	return fmt.Sprintf("volume %s is a block device and not NFS: use a class with backendType ontap-nas", v.Name)
}

// Phases of a TridentBackendConfig; empty until Trident has accepted it.
const (
	PhaseBound    = "Bound"
	PhaseDeleting = "Deleting"
)

const (
	operationSuccess = "Success"
	operationFailed  = "Failed"
)

// BackendConfig holds Trident's report about a TridentBackendConfig.
type BackendConfig struct {
	Taken         bool // it has Trident's finalizer
	Phase         string
	LastOperation string
	Message       string
}

// IsReady reports whether volumes can be made: a failed update keeps the phase Bound.
func (c BackendConfig) IsReady() bool {
	return c.Phase == PhaseBound && c.LastOperation == operationSuccess
}

// IsFailed reports whether Trident refused the configuration. Trident tries again.
func (c BackendConfig) IsFailed() bool { return c.LastOperation == operationFailed }

// IsAnswered reports whether Trident has reported anything about the configuration.
func (c BackendConfig) IsAnswered() bool { return c.Phase != "" || c.LastOperation != "" }

// IsWorkedOn reports whether Trident has accepted the configuration and has not answered. Meanwhile Trident accepts no
// other, and makes no volume unless it runs with enableConcurrency.
func (c BackendConfig) IsWorkedOn() bool { return c.Taken && !c.IsAnswered() }

// ReadBackendConfig reads the status. The error names the field that is wrong.
func ReadBackendConfig(u *unstructured.Unstructured) (BackendConfig, error) {
	r := &reader{obj: u}
	c := BackendConfig{
		Taken:         slices.Contains(u.GetFinalizers(), Finalizer),
		Phase:         r.optional("status", "phase"),
		LastOperation: r.optional("status", "lastOperationStatus"),
		Message:       r.optional("status", "message"),
	}
	return c, r.err
}

// reader reads fields of one object and keeps the first problem.
type reader struct {
	obj *unstructured.Unstructured
	err error
}

// fail records which field of which object is wrong.
func (r *reader) fail(problem string, path ...string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s %s/%s: %s %s", r.obj.GetKind(), r.obj.GetNamespace(), r.obj.GetName(),
			strings.Join(path, "."), problem)
	}
}

// field returns the value of a field. ok is false if the field is missing or null, or has another type; only the last
// is a problem.
func field[T any](r *reader, problem string, path ...string) (value T, ok bool) {
	v, found, err := unstructured.NestedFieldNoCopy(r.obj.Object, path...)
	switch {
	case err != nil:
		r.fail("cannot be reached: what holds it is not an object", path...)
	case found && v != nil:
		if value, ok = v.(T); !ok {
			r.fail(problem, path...)
		}
	}
	return value, ok
}

// optional returns a string; "" if the field is missing or null.
func (r *reader) optional(path ...string) string {
	s, _ := field[string](r, "is not a string", path...)
	return s
}

func (r *reader) required(path ...string) string {
	s := r.optional(path...)
	if s == "" {
		r.fail("is missing", path...)
	}
	return s
}

// flag returns a boolean; nil if there is none.
func (r *reader) flag(path ...string) *bool {
	if b, ok := field[bool](r, "is not true or false", path...); ok {
		return &b
	}
	return nil
}

// isTrue reads a flag that may be written as a string.
func (r *reader) isTrue(path ...string) bool {
	v, _, _ := unstructured.NestedFieldNoCopy(r.obj.Object, path...)
	return v == true || v == "true"
}

// prefix reads a storage prefix. Trident stores an empty object if none was given, and then uses its own.
func (r *reader) prefix(path ...string) string {
	v, _, _ := unstructured.NestedFieldNoCopy(r.obj.Object, path...)
	if given, is := v.(string); is {
		return given
	}
	return "trident_"
}

// object returns the members of an object; nil if there is none.
func (r *reader) object(path ...string) map[string]any {
	m, _ := field[map[string]any](r, "is not an object", path...)
	return m
}
