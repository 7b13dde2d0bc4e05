// Package policy reads what an administrator allows the benchmarks of each namespace, and decides whether a benchmark
// complies.
//
// The administrator writes the policy in the values of the chart. The rules are CEL (rules.yaml), so the API server and
// the manager evaluate the same text: the API server refuses a benchmark when it is created, and the manager before a
// run begins.
package policy

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/internal/yamlbound"
)

// The keys of the ConfigMap of a policy.
const (
	Key        = "policy.yaml"
	UpgradeKey = "upgrade" // the command that changes values of the chart, without the values
	ValuesKey  = "values"  // the command that prints the values of the chart
)

// MaxBytes bounds the file of a policy.
const MaxBytes = 256 << 10

// Policy holds what an administrator allows. Empty lists allow nothing.
type Policy struct {
	// Exports lists the exports that the nodes of the cluster may mount for a benchmark. The pods of a benchmark reach
	// every server that they can connect to, so Direct NFS without a database container needs no entry.
	Exports []Export `json:"exports"`
	// Backends lists the backends that the operator makes for Trident. Their Secrets are in Trident's namespace, which
	// tenants cannot read.
	Backends []Backend `json:"backends"`
	// StorageClasses lists the classes of which the operator makes claims, including classes of Trident.
	StorageClasses []StorageClass `json:"storageClasses"`
	// HostNetwork lists the namespaces whose load pods may use the network of their node, where no NetworkPolicy applies
	// to them; "*" is every namespace.
	HostNetwork []string `json:"hostNetwork"`
	Pods        Pods     `json:"pods"`
	Embedded    Embedded `json:"embedded"`
	Limits      Limits   `json:"limits"`
	// Upgrade is the command that changes values of the chart, without the values, and Values the one that prints them as
	// JSON, for messages.
	Upgrade, Values string `json:"-"`
}

// Pods holds what benchmarks may set for their pods; "*" allows every key, name or namespace.
type Pods struct {
	Labels      []string `json:"labels"`      // keys
	Annotations []string `json:"annotations"` // keys
	// Tolerations lists keys of taints. A toleration without a key needs "*".
	Tolerations  []string `json:"tolerations"`
	NodeSelector []string `json:"nodeSelector"` // keys, also of node affinity
	// CrossNamespaceAffinity lists the namespaces whose benchmarks may choose and avoid nodes by the pods of other
	// namespaces: a required anti-affinity keeps those pods away.
	CrossNamespaceAffinity []string `json:"crossNamespaceAffinity"`
	PriorityClasses        []string `json:"priorityClasses"`
	RuntimeClasses         []string `json:"runtimeClasses"`
}

// Export is a directory of a server, including all its subdirectories.
type Export struct {
	Server     string   `json:"server"`     // address, host name, network such as 192.0.2.0/24, or "*"
	Path       string   `json:"path"`       // such as /vol/bench
	Namespaces []string `json:"namespaces"` // that may use it; "*" is every namespace
}

// Backend is an ONTAP system or an SVM that Trident provisions volumes on.
type Backend struct {
	Name                string   `json:"name"`              // used by benchmarks
	Namespaces          []string `json:"namespaces"`        // that may use it; "*" is every namespace
	MaxSize             string   `json:"maxSize,omitempty"` // of one volume, a quantity; empty = no bound
	trident.BackendSpec `json:",inline"`
	// InsecureSkipVerify lets Trident send the credentials to a server that it cannot verify.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// StorageClass is a class whose volumes benchmarks may have for a run.
type StorageClass struct {
	Name       string   `json:"name"`              // "*" is every class
	Namespaces []string `json:"namespaces"`        // that may use it; "*" is every namespace
	MaxSize    string   `json:"maxSize,omitempty"` // of one volume, a quantity; empty = no bound
}

// Embedded bounds the NFS servers that the operator runs.
type Embedded struct {
	MaxSize string `json:"maxSize"` // a quantity, such as 50Gi
	// NodeMounts lists the namespaces whose embedded servers the nodes may mount; "*" is every namespace. A user who may
	// change pods there can replace such a server.
	NodeMounts []string `json:"nodeMounts"`
}

// Limits bounds one benchmark.
type Limits struct {
	Clients int32 `json:"clients"` // load pods
	// MaxHold bounds the time of a run, with the start and the end of its database, in which it keeps other runs from its
	// target.
	MaxHold metav1.Duration `json:"maxHold"`
	// ResultBytes bounds the results of all benchmarks of one namespace.
	ResultBytes resource.Quantity `json:"resultBytes"`
}

// Default returns the policy of a manager without a policy file.
func Default() Policy {
	return Policy{
		Upgrade:  "helm upgrade nfsbench CHART -n nfsbench-system --reuse-values",
		Values:   "helm get values nfsbench -n nfsbench-system -o json",
		Pods:     Pods{NodeSelector: []string{"*"}},
		Embedded: Embedded{MaxSize: "50Gi"},
		Limits: Limits{
			Clients: 64, MaxHold: metav1.Duration{Duration: 24 * time.Hour}, ResultBytes: resource.MustParse("1Gi"),
		},
	}
}

// CheckTime returns a *Denied if a run may take longer than the policy allows. data describes what the run writes for
// most of that time, and field has its size; both are empty if it does not.
func (p Policy) CheckTime(took time.Duration, data, field string) error {
	most := p.Limits.MaxHold.Duration
	if took <= most {
		return nil
	}
	if data != "" {
		return &Denied{Rule: "run", Message: fmt.Sprintf("spec.%s: %s. The policy of this cluster allows a run at most %s: "+
			"make %s smaller, or set run.timeoutSeconds", field, data, most, field)}
	}
	return &Denied{Rule: "run", Message: fmt.Sprintf("spec.run: the run may take %s. The policy of this cluster allows a "+
		"run at most %s: shorten the run, or set run.timeoutSeconds, or ask an administrator to run: %s --set "+
		"policy.limits.maxHold=%s", took, most, p.Upgrade, took)}
}

// maxCommand bounds a command in the ConfigMap, which messages contain.
const maxCommand = 256

// Of returns the policy in the data of a ConfigMap.
func Of(data map[string]string) (Policy, error) {
	p, err := Read(strings.NewReader(data[Key]))
	for key, command := range map[string]*string{UpgradeKey: &p.Upgrade, ValuesKey: &p.Values} {
		if c := data[key]; c != "" && len(c) <= maxCommand {
			*command = c
		}
	}
	return p, err
}

// Read reads and validates a policy, as YAML or JSON. Members that are absent keep their
// defaults. Unknown members are errors: a misspelt one would silently allow or refuse.
func Read(r io.Reader) (Policy, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	p := Default()
	if err := yamlbound.UnmarshalStrict(data, MaxBytes, &p); err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	return p, p.validate()
}

func (p Policy) validate() error {
	for i, e := range p.Exports {
		if err := e.validate(fmt.Sprintf("policy.exports[%d]", i)); err != nil {
			return err
		}
	}
	for i, b := range p.Backends {
		if err := b.validate(fmt.Sprintf("policy.backends[%d]", i)); err != nil {
			return err
		}
		if slices.ContainsFunc(p.Backends[:i], func(o Backend) bool { return o.Name == b.Name }) {
			return fmt.Errorf("policy.backends[%d].name is %q, as of another backend: give each its own name", i, b.Name)
		}
	}
	for i, c := range p.StorageClasses {
		if err := c.validate(fmt.Sprintf("policy.storageClasses[%d]", i)); err != nil {
			return err
		}
	}
	if q, err := resource.ParseQuantity(p.Embedded.MaxSize); err != nil || q.Sign() < 0 {
		return fmt.Errorf("policy.embedded.maxSize is %q: write a quantity, such as 50Gi", p.Embedded.MaxSize)
	}
	return p.Limits.validate()
}

func (l Limits) validate() error {
	if l.Clients < 1 {
		return fmt.Errorf("policy.limits.clients is %d: write a number from 1", l.Clients)
	}
	if l.ResultBytes.Sign() <= 0 {
		return fmt.Errorf("policy.limits.resultBytes is %s: write a quantity above 0, such as 1Gi", &l.ResultBytes)
	}
	if l.MaxHold.Duration < time.Minute {
		return fmt.Errorf("policy.limits.maxHold is %s: write a duration from 1m, such as 24h", l.MaxHold.Duration)
	}
	return nil
}

func (e Export) validate(at string) error {
	_, noPrefix := netip.ParsePrefix(e.Server)
	switch {
	case e.Server == "":
		return fmt.Errorf("%s.server is empty: write an address, a host name, a network such as 192.0.2.0/24, or \"*\"", at)
	case strings.Contains(e.Server, "/") && noPrefix != nil:
		return fmt.Errorf("%s.server is %q, which is not a network: write it as 192.0.2.0/24", at, e.Server)
	case !strings.HasPrefix(e.Path, "/") || path.Clean(e.Path) != e.Path:
		return fmt.Errorf("%s.path is %q: write an absolute path without //, .. and a slash at its end", at, e.Path)
	case len(e.Namespaces) == 0:
		return fmt.Errorf(`%s.namespaces is empty: list the namespaces that may mount the export, or "*"`, at)
	}
	return nil
}

func (c StorageClass) validate(at string) error {
	switch {
	case c.Name == "":
		return fmt.Errorf("%s.name is empty: write the name of a StorageClass, or \"*\"", at)
	case !isMaxSize(c.MaxSize):
		return fmt.Errorf("%s.maxSize is %q: write a quantity, such as 100Gi, or leave it out", at, c.MaxSize)
	case len(c.Namespaces) == 0:
		return fmt.Errorf(`%s.namespaces is empty: list the namespaces that may use the class, or "*"`, at)
	}
	return nil
}

func isMaxSize(s string) bool {
	q, err := resource.ParseQuantity(s)
	return s == "" || err == nil && q.Sign() > 0
}

func (b Backend) validate(at string) error {
	block, _ := pem.Decode([]byte(b.CABundle))
	switch {
	case !backendName.MatchString(b.Name) || len(b.Name) > maxBackendName:
		return fmt.Errorf("%s.name is %q: write lower-case letters, digits, - and ., %d at most", at, b.Name, maxBackendName)
	case b.ManagementLIF == "" || b.SVM == "" || b.CredentialsSecretName == "":
		return fmt.Errorf("%s has no managementLIF, svm or credentialsSecretName: write all three", at)
	case b.DriverName() != trident.DriverNAS && b.DriverName() != trident.DriverFlexGroup:
		return fmt.Errorf("%s.storageDriverName is %q: write %s or %s", at, b.StorageDriverName, trident.DriverNAS,
			trident.DriverFlexGroup)
	case b.CABundle != "" && block == nil:
		return fmt.Errorf("%s.caBundle has no certificate: write PEM", at)
	case b.CABundle == "" && !b.InsecureSkipVerify:
		return fmt.Errorf("%s has no caBundle: without it Trident sends the credentials to whatever server answers. Write "+
			"the certificate of the SVM's management, or insecureSkipVerify: true", at)
	case !isMaxSize(b.MaxSize):
		return fmt.Errorf("%s.maxSize is %q: write a quantity, such as 100Gi, or leave it out", at, b.MaxSize)
	case len(b.Namespaces) == 0:
		return fmt.Errorf(`%s.namespaces is empty: list the namespaces that may use the backend, or "*"`, at)
	}
	return nil
}

// maxBackendName is the longest name of a backend, as in the API.
const maxBackendName = 63

var backendName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// ClassesOf returns the StorageClasses that a namespace may use; "*" is every class.
func (p Policy) ClassesOf(namespace string) (names []string) {
	for _, c := range p.StorageClasses {
		if slices.Contains(c.Namespaces, namespace) || slices.Contains(c.Namespaces, "*") {
			names = append(names, c.Name)
		}
	}
	return names
}

// Backend returns the backend of a name, and whether there is one.
func (p Policy) Backend(name string) (Backend, bool) {
	i := slices.IndexFunc(p.Backends, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		return Backend{}, false
	}
	return p.Backends[i], true
}
