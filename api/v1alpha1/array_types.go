package v1alpha1

import "github.com/nfsbench/nfsbench/api/bench"

// ArrayAccess is where the storage's own view comes from: exactly one of its
// members.
//
// +kubebuilder:validation:XValidation:rule="[has(self.ontap), has(self.flashBlade), has(self.prometheus), has(self.exporter)].filter(x, x).size() == 1",message="give exactly one of storage.array.ontap, storage.array.flashBlade, storage.array.prometheus and storage.array.exporter"
type ArrayAccess struct {
	// ontap reads a NetApp ONTAP cluster over REST (9.11.1 or later).
	// +optional
	ONTAP *ONTAPAccess `json:"ontap,omitempty"`
	// flashBlade reads a Pure FlashBlade over REST 2.x.
	// +optional
	FlashBlade *FlashBladeAccess `json:"flashBlade,omitempty"`
	// prometheus reads what a Prometheus server collected of the storage.
	// +optional
	Prometheus *PrometheusAccess `json:"prometheus,omitempty"`
	// exporter reads node_exporter or NFS-Ganesha on the servers themselves.
	// +optional
	Exporter *ExporterAccess `json:"exporter,omitempty"`
	// intervalSeconds is how often the storage is asked while the load runs.
	// ONTAP moves its counters every 15 s, so asking each second gains nothing
	// there; kubectl nfsbench report says what asking cost.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
}

// TLSTrust says which certificate is believed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.verification) || self.verification == 'Enabled' || !has(self.caBundle)",message="caBundle has no meaning with verification: Disabled: remove one of them"
type TLSTrust struct {
	// caBundle holds the PEM certificates to trust, instead of those of the
	// system.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	// +kubebuilder:validation:XValidation:rule="self.contains('-----BEGIN CERTIFICATE-----')",message="caBundle must hold PEM certificates (-----BEGIN CERTIFICATE-----), not their base64 encoding or a file name"
	CABundle string `json:"caBundle,omitempty"`
	// verification Disabled accepts any certificate: an attacker on the network can
	// read the password. Factory certificates of ONTAP cannot be verified, not
	// even when they are pinned: they name no address.
	// +optional
	// +default="Enabled"
	Verification bench.Toggle `json:"verification,omitempty"`
}

// LabelAllowUse is the label by which somebody who may change a Secret lets benchmarks use
// it, with the value UseAllowed. Benchmarks use no other Secrets: an author of benchmarks
// could otherwise read every Secret of the namespace.
const (
	LabelAllowUse = "nfsbench.io/allow-use"
	UseAllowed    = "true"
)

// SecretReference names a Secret in the namespace of the benchmark. The Secret needs the
// label nfsbench.io/allow-use=true.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')`,message="write the name of an object: lower case letters, digits, - and ., such as oradata-1"
	Name string `json:"name"`
}

// ONTAPAccess is an account on an ONTAP cluster or SVM.
type ONTAPAccess struct {
	// managementLIF is the address of the cluster's management, or of the SVM's,
	// which does not tell the CPU of the nodes. Without it, that of the Trident
	// backend is used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9\[][A-Za-z0-9.:_\[\]-]*$')`,message="write an address or a name without https:// and without a path, such as 10.0.0.10"
	ManagementLIF string `json:"managementLIF,omitempty"`
	// svm is the storage virtual machine. Without it, that of the Trident
	// backend is used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9_][A-Za-z0-9_.-]*$')`,message="write the name of an SVM: letters, digits, _, - and ., such as svm1"
	SVM string `json:"svm,omitempty"`
	// credentialsSecretRef holds username and password.
	// +required
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// tls says which certificate is believed.
	// +optional
	// +default={}
	TLS TLSTrust `json:"tls,omitempty"`
}

// FlashBladeAccess is an API token of a FlashBlade.
type FlashBladeAccess struct {
	// managementVIP is the address of the array's management.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z0-9\[][A-Za-z0-9.:_\[\]-]*$')`,message="write an address or a name without https:// and without a path, such as 10.0.0.10"
	ManagementVIP string `json:"managementVIP"`
	// fileSystem behind the export. Without it, the export path without its
	// slash.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	FileSystem string `json:"fileSystem,omitempty"`
	// credentialsSecretRef holds token, an API token with the role readonly.
	// +required
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// tls says which certificate is believed.
	// +optional
	// +default={}
	TLS TLSTrust `json:"tls,omitempty"`
}

// PrometheusAccess is a Prometheus server.
//
// +kubebuilder:validation:XValidation:rule="has(self.harvest) != has(self.queries)",message="give storage.array.prometheus.harvest (metrics of NetApp Harvest) or queries (PromQL of your own), not both"
type PrometheusAccess struct {
	// url of the server, such as http://prometheus.monitoring:9090.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^https?://[^\s@]+$')`,message="write an address with http:// or https://, without a user and without blanks, such as http://prometheus.monitoring:9090"
	URL string `json:"url"`
	// harvest selects the series that NetApp Harvest exports.
	// +optional
	Harvest *HarvestSelector `json:"harvest,omitempty"`
	// queries are PromQL expressions of your own.
	// +optional
	Queries *PrometheusQueries `json:"queries,omitempty"`
	// credentialsSecretRef holds token, or username and password.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`
	// tls says which certificate is believed.
	// +optional
	// +default={}
	TLS TLSTrust `json:"tls,omitempty"`
}

// HarvestSelector selects one volume among what Harvest collects.
type HarvestSelector struct {
	// cluster label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Cluster string `json:"cluster"`
	// svm label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SVM string `json:"svm"`
	// volume label. Without it, the name that Trident has for the volume, or the
	// last part of the export path.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Volume string `json:"volume,omitempty"`
}

// PrometheusQueries are PromQL expressions. Each gives rates or gauges; what is
// absent is not known.
//
// +kubebuilder:validation:MinProperties=1
type PrometheusQueries struct {
	// nodeCPUPercent gives the busy share of each node, one series for each
	// value of the label node (or instance).
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	NodeCPUPercent string `json:"nodeCPUPercent,omitempty"`
	// readOperations per second.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ReadOperations string `json:"readOperations,omitempty"`
	// writeOperations per second.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	WriteOperations string `json:"writeOperations,omitempty"`
	// readBytes per second.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ReadBytes string `json:"readBytes,omitempty"`
	// writeBytes per second.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	WriteBytes string `json:"writeBytes,omitempty"`
	// readLatencyMicroseconds of one read.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	ReadLatencyMicroseconds string `json:"readLatencyMicroseconds,omitempty"`
	// writeLatencyMicroseconds of one write.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	WriteLatencyMicroseconds string `json:"writeLatencyMicroseconds,omitempty"`
}

// ExporterAccess are metrics addresses on the NFS servers themselves.
type ExporterAccess struct {
	// nodes are the servers.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Nodes []ExporterNode `json:"nodes"`
}

// ExporterNode is one server.
type ExporterNode struct {
	// name of the server in the status.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// url of node_exporter or of NFS-Ganesha's monitoring, such as
	// http://10.0.0.7:9100/metrics.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^https?://[^\s@]+$')`,message="write an address with http:// or https://, without a user and without blanks, such as http://prometheus.monitoring:9090"
	URL string `json:"url"`
}
