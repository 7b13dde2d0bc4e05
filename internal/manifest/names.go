package manifest

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Labels of all objects of a run.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelName      = "app.kubernetes.io/name"
	LabelComponent = "app.kubernetes.io/component"
	LabelBenchmark = "nfsbench.io/benchmark"     // Names.Base
	LabelUID       = "nfsbench.io/benchmark-uid" // of the NFSBenchmark
	ManagedBy      = "nfsbench"
)

// Components, the values of LabelComponent.
const (
	ComponentSurvey = "survey"
	ComponentLoad   = "load"
	ComponentClean  = "clean"
	ComponentProbe  = "probe"
	ComponentMount  = "mount"
	ComponentServer = "server"
	ComponentConfig = "config"
	ComponentVolume = "volume"
)

// maxBase leaves room for the longest suffix within the 63 characters of a
// label and a Job name.
const maxBase = 48

var notInLabel = regexp.MustCompile(`[^a-z0-9-]+`)

// Names holds the names of a run's children.
type Names struct {
	Base      string // also the value of LabelBenchmark
	Plan      string // ConfigMap
	Result    string // ConfigMap; outlives the run
	Collector string // ServiceAccount, Role and RoleBinding
	Survey    string // Job that asks the array, and the ConfigMap with its request
	Probe     string // Job that connects to the management LIF of a backend
	Mount     string // Job that mounts a claim and reads which export it is
	Load      string // Job
	Clean     string // Job
	Server    string // Pod of the embedded server, and its NetworkPolicy
	Clients   string // NetworkPolicy of all other pods
	Claim     string // PVC that the operator makes for a kernel mount
	Volume    string // PV behind it; cluster-scoped
	// RedoClaim and RedoVolume are the same for the export of redo logs.
	RedoClaim, RedoVolume string
}

// NamesOf returns the names of a benchmark's children.
func NamesOf(b *v1alpha1.NFSBenchmark) Names {
	base := label("nfsb-"+b.Name, maxBase)
	volume := label("nfsbench-"+b.Namespace+"-"+b.Name, 54) + "-" + hash(string(b.UID))
	return Names{
		Base:       base,
		Plan:       base + "-plan",
		Result:     base + "-result",
		Collector:  base + "-collector",
		Survey:     base + "-survey",
		Probe:      base + "-probe",
		Mount:      base + "-mount",
		Load:       base + "-load",
		Clean:      base + "-clean",
		Server:     base + "-server",
		Clients:    base + "-clients",
		Claim:      base + "-data",
		Volume:     volume,
		RedoClaim:  base + "-redo",
		RedoVolume: volume + "-redo",
	}
}

// PathService returns the name of the Service for the i-th address of the embedded server.
func (n Names) PathService(i int) string { return fmt.Sprintf("%s-path-%d", n.Base, i) }

// label turns a name into a DNS label. A changed name gets its hash appended, so that different names give different
// labels.
func label(name string, limit int) string {
	clean := strings.Trim(notInLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if clean == name && len(name) <= limit {
		return name
	}
	keep := min(len(clean), limit-9)
	return strings.TrimRight(clean[:keep], "-") + "-" + hash(name)
}

func hash(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}

// Labels returns the labels of one component of a run.
func Labels(b *v1alpha1.NFSBenchmark, component string) map[string]string {
	return map[string]string{
		LabelName:      "nfsbench",
		LabelManagedBy: ManagedBy,
		LabelComponent: component,
		LabelBenchmark: NamesOf(b).Base,
		LabelUID:       string(b.UID),
	}
}
