package trident

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BackendSpec is what makes one ONTAP backend differ from another.
type BackendSpec struct {
	Driver            string // ontap-nas, ontap-nas-flexgroup
	ManagementLIF     string
	DataLIF           string // empty: Trident picks one of the SVM's
	SVM               string
	CredentialsSecret string // in Trident's namespace
	ExportPolicy      string // empty: Trident admits the nodes of the cluster
}

// NewBackendConfig is a TridentBackendConfig, whose spec is the backend
// configuration itself. It works in Trident's namespace only.
//
// The storage prefix stays Trident's: internal names are read, so nothing
// depends on it. Snapshots are off, because a schedule that fires in a run, or
// a .snapshot directory among the files, would be measured with it.
func NewBackendConfig(namespace, name string, labels map[string]string, s BackendSpec) *unstructured.Unstructured {
	defaults := map[string]any{"snapshotDir": "false", "snapshotPolicy": "none", "spaceReserve": "none"}
	spec := map[string]any{
		"version":           int64(1),
		"storageDriverName": s.Driver,
		"backendName":       name,
		"managementLIF":     Bracketed(s.ManagementLIF),
		"svm":               s.SVM,
		"credentials":       map[string]any{"name": s.CredentialsSecret},
		"nasType":           "nfs",
		"deletionPolicy":    "delete",
		"defaults":          defaults,
	}
	if s.DataLIF != "" {
		spec["dataLIF"] = Bracketed(s.DataLIF)
	}
	if s.ExportPolicy != "" {
		spec["autoExportPolicy"] = false
		defaults["exportPolicy"] = s.ExportPolicy
	} else {
		spec["autoExportPolicy"] = true
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(Kind(KindBackendConfig))
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetLabels(labels)
	return u
}

// The phases of a TridentBackendConfig; one that Trident has not taken has none.
const (
	PhaseBound    = "Bound"
	PhaseDeleting = "Deleting"
	PhaseLost     = "Lost"
)

const (
	operationSuccess = "Success"
	operationFailed  = "Failed"
)

// BackendConfig is what Trident reports about a TridentBackendConfig.
type BackendConfig struct {
	Phase         string
	LastOperation string
	Message       string
	BackendName   string
	BackendUUID   string
}

// IsReady says that volumes can be made: a failed update keeps the phase Bound.
func (c BackendConfig) IsReady() bool {
	return c.Phase == PhaseBound && c.LastOperation == operationSuccess
}

// IsFailed says that Trident refused the configuration.
func (c BackendConfig) IsFailed() bool { return c.LastOperation == operationFailed }

// ReadBackendConfig reads the status. The error is a *FieldError.
func ReadBackendConfig(u *unstructured.Unstructured) (BackendConfig, error) {
	r := &reader{obj: u}
	c := BackendConfig{
		Phase:         r.optional("status", "phase"),
		LastOperation: r.optional("status", "lastOperationStatus"),
		Message:       r.optional("status", "message"),
		BackendName:   r.optional("status", "backendInfo", "backendName"),
		BackendUUID:   r.optional("status", "backendInfo", "backendUUID"),
	}
	return c, r.err
}

// Bracketed writes an IPv6 address as Trident wants it.
func Bracketed(address string) string {
	if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") && strings.Count(address, ":") > 1 {
		return "[" + address + "]"
	}
	return address
}

// Bare is the way back from Bracketed.
func Bare(address string) string {
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}
