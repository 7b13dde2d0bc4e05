package runfile

import "github.com/nfsbench/nfsbench/api/bench"

// PlanVersion is the version that every plan file names.
const PlanVersion = "nfsbench.io/plan/v1"

// maxSpanSeconds bounds a span of a run.
const maxSpanSeconds = 7 * 24 * 3600

// Plan says everything that a loader and a collector must know to make one run.
type Plan struct {
	Version  string         `json:"version" jsonschema:"enum=nfsbench.io/plan/v1"`
	Run      Identity       `json:"run"`
	Clients  int32          `json:"clients" jsonschema:"minimum=1"` // load-generating processes that start together
	Engine   Engine         `json:"engine"`
	Workload bench.Workload `json:"workload"`
	Schedule Schedule       `json:"schedule"`
	Collect  Collect        `json:"collect"`
	Link     *bench.Link    `json:"link,omitempty"`     // of each path; absent = discover it
	Expect   *bench.Expect  `json:"expect,omitempty"`   // absent = no verdict is asked for
	Database *Database      `json:"database,omitempty"` // absent = native engine
	// Survey is what the array reported before the run: LIFs and the owner of the volume. Absent if
	// there is no array to ask.
	Survey *Survey `json:"survey,omitempty"`
	Seed   uint64  `json:"seed"` // the same seed gives the same offsets and the same data
	// Keep leaves the files, or the schemas of a database, for the next run, which then need not fill them.
	Keep bool `json:"keep,omitempty"`
	// BlockBytes and LargeReadBytes are the sizes of I/O where the native engine takes the place of a
	// database; 0 = those of Oracle's defaults for db_block_size and db_file_multiblock_read_count.
	BlockBytes     int64 `json:"blockBytes,omitempty"`
	LargeReadBytes int64 `json:"largeReadBytes,omitempty"`
}

// Identity names the run that a file belongs to.
type Identity struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// Engine says how the files are reached.
type Engine struct {
	Client              bench.NFSClient      `json:"client" jsonschema:"enum=Kernel,enum=DirectNFS"`
	NFSVersion          bench.NFSVersion     `json:"nfsVersion,omitempty" jsonschema:"enum=NFSv3,enum=NFSv4.0,enum=NFSv4.1,enum=NFSv4.2,enum=pNFS"` // NFSv3, NFSv4.0, NFSv4.1, NFSv4.2, pNFS: what was declared
	Transport           bench.Transport      `json:"transport,omitempty" jsonschema:"enum=TCP,enum=RDMA"`                                           // what was declared; empty = TCP
	Server              string               `json:"server,omitempty"`                                                                              // label of the server in the oranfstab and in Oracle's views; DirectNFS
	Channels            []bench.ResolvedPath `json:"channels,omitempty" jsonschema:"maxItems=64"`                                                   // of each client, in the order of the oranfstab; DirectNFS
	DontRoute           bool                 `json:"dontRoute,omitempty"`                                                                           // SO_DONTROUTE on each channel; DirectNFS
	Export              string               `json:"export,omitempty"`                                                                              // path of the export on the server; DirectNFS
	MountPath           string               `json:"mountPath,omitempty"`                                                                           // where the volume is mounted; Kernel, or a database
	MountOptions        []string             `json:"mountOptions,omitempty"`                                                                        // what was asked of the mount; Kernel
	RequireNFS          bool                 `json:"requireNFS"`                                                                                    // refuse a mount that is not NFS; Kernel
	Security            bench.Security       `json:"security,omitempty" jsonschema:"enum=sys,enum=krb5,enum=krb5i,enum=krb5p"`                      // sys, krb5, krb5i, krb5p
	TransferSizeBytes   int64                `json:"transferSizeBytes,omitempty" jsonschema:"minimum=1024,maximum=16777216"`                        // 0 = what the server offers
	MountTimeoutSeconds int32                `json:"mountTimeoutSeconds,omitempty" jsonschema:"minimum=1,maximum=604800"`                           // for reaching and mounting the export
	CallTimeoutSeconds  int32                `json:"callTimeoutSeconds,omitempty" jsonschema:"minimum=1,maximum=604800"`                            // for one call before it has failed
	Sessions            int32                `json:"sessions,omitempty" jsonschema:"minimum=1,maximum=64"`                                          // that a job may open where one has too few slots; 0 = 1; DirectNFS over NFSv4.1
	Ports               Ports                `json:"ports,omitzero"`                                                                                // 0 = ask the portmapper, as everybody does
	UserID              *uint32              `json:"userID,omitempty"`                                                                              // AUTH_SYS credential; absent = that of the process
	GroupID             *uint32              `json:"groupID,omitempty"`
	// PathSelection is how the paths were selected from those of an array: All, Explicit, Local or Remote.
	PathSelection bench.PathSelection `json:"pathSelection,omitempty" jsonschema:"enum=All,enum=Explicit,enum=Local,enum=Remote"`
}

// ChannelsTo returns channels to these addresses of a server; the operating system chooses the local
// addresses.
func ChannelsTo(paths ...string) []bench.ResolvedPath {
	out := make([]bench.ResolvedPath, 0, len(paths))
	for _, p := range paths {
		out = append(out, bench.ResolvedPath{Path: p})
	}
	return out
}

// Ports overrides what the portmapper would say. Zero means "ask".
type Ports struct {
	NFS     int `json:"nfs,omitempty" jsonschema:"minimum=1,maximum=65535"`
	Mount   int `json:"mount,omitempty" jsonschema:"minimum=1,maximum=65535"`
	Portmap int `json:"portmap,omitempty" jsonschema:"minimum=1,maximum=65535"`
}

// Schedule is how long each part of a run lasts, in seconds.
type Schedule struct {
	BaselineSeconds int32 `json:"baselineSeconds"` // idle, before each repetition's warm-up: what others do
	WarmupSeconds   int32 `json:"warmupSeconds"`   // loaded, not counted
	DurationSeconds int32 `json:"durationSeconds" jsonschema:"minimum=1"`
	CooldownSeconds int32 `json:"cooldownSeconds"` // between repetitions
	Repetitions     int32 `json:"repetitions" jsonschema:"minimum=1"`
	TimeoutSeconds  int32 `json:"timeoutSeconds,omitempty"` // for the whole run; 0 = none
}

// Collect says what the collector samples beside the client it runs on.
type Collect struct {
	IntervalMilliseconds int32    `json:"intervalMilliseconds"`
	Sources              []Source `json:"sources,omitempty"`
}

// The kinds of sources.
const (
	SourceEmbedded   = "embedded"   // the embedded NFS server's own counters over HTTP
	SourceONTAP      = "ontap"      // NetApp ONTAP over REST
	SourceFlashBlade = "flashBlade" // Pure FlashBlade over REST 2.x
	SourcePrometheus = "prometheus" // a Prometheus server that collects from the storage
	SourceExporter   = "exporter"   // node_exporter or NFS-Ganesha on the servers themselves
)

// Source is one place where the storage side's counters are read. It never holds
// a secret: Credentials says where to look for them.
type Source struct {
	Kind string `json:"kind" jsonschema:"enum=embedded,enum=ontap,enum=flashBlade,enum=prometheus,enum=exporter"`
	Name string `json:"name"`
	// URL is the address, such as https://10.0.0.5; of an exporter, see URLs.
	URL string `json:"url,omitempty"`
	// Credentials is the name of a folder below the secrets folder, with one file per key: username
	// and password, or token.
	Credentials string `json:"credentials,omitempty"`
	// CABundle holds the PEM certificates to trust; absent = the system's.
	CABundle string `json:"caBundle,omitempty"`
	// InsecureSkipVerify takes any certificate.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// Volume is the volume (ONTAP) or file system (FlashBlade) to watch.
	Volume string `json:"volume,omitempty"`
	// SVM is the ONTAP storage virtual machine.
	SVM string `json:"svm,omitempty"`
	// Nodes are metrics addresses by the name of the server; exporter.
	Nodes []SourceNode `json:"nodes,omitempty"`
	// Labels select the series of one storage in a Prometheus, such as cluster, svm and volume of Harvest.
	Labels map[string]string `json:"labels,omitempty"`
	// Queries are PromQL expressions by what they give: nodeCPUPercent, and
	// readOperations, readBytes and readLatencyMicroseconds, and the same of
	// writes. Operations and bytes are per second.
	Queries map[string]string `json:"queries,omitempty"`
	// IntervalMilliseconds between samples; 0 = Collect.IntervalMilliseconds.
	IntervalMilliseconds int32 `json:"intervalMilliseconds,omitempty" jsonschema:"minimum=100,maximum=60000"`
	// OneClient: only client 0 samples it, so that 64 clients do not ask an
	// array 64 times.
	OneClient bool `json:"oneClient,omitempty"`
}

// SourceNode is where the counters of one server are read.
type SourceNode struct {
	Name string `json:"name"`
	URL  string `json:"url"` // such as http://10.0.0.7:9100/metrics
}
