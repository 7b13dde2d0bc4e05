package ontap

import (
	"encoding/json"
	"errors"
)

// Model is what the stand-in knows of the array beside its counters.
type Model struct {
	Cluster    string // name; that it is a stand-in is added to it
	SVM        string // name of the SVM that everything below belongs to unless it names another
	Nodes      []Node
	Aggregates []Aggregate
	LIFs       []LIF
	Volumes    []Volume
	Qtrees     []Qtree
	NFS        NFSService // of SVM
	Policies   []ExportPolicy
	QoS        []QoSPolicy
	Accounts   []Account
}

// Node is one controller.
type Node struct {
	Name, Model string
	Down        bool
}

// Aggregate is where volumes have their data.
type Aggregate struct {
	Name, Node string
}

// LIF is one data address.
type LIF struct {
	Name     string
	Address  string
	Prefix   int    // length of its network's prefix
	Node     string // where it is now; empty = at home
	HomeNode string
	Down     bool // operationally
	Disabled bool // administratively
	Services []string
	SVM      string // empty = that of the model
}

// Volume is one FlexVol, or one FlexGroup if it is on several aggregates.
type Volume struct {
	Name, UUID   string // an empty UUID is made of the name
	Junction     string // export path
	Aggregates   []string
	State        string // empty = online
	SizeBytes    int64
	UsedBytes    int64
	ExportPolicy string
	QoSPolicy    string
	SVM          string // empty = that of the model
}

// Qtree is one below the junction of a volume, with an export policy of its own.
type Qtree struct {
	Name, Volume, ExportPolicy string
}

// NFSService is what an SVM offers.
type NFSService struct {
	Enabled, V3, V40, V41, PNFS bool
	// TransferSizeBytes is transport.tcp_max_transfer_size; 0 = a version of
	// ONTAP that does not tell.
	TransferSizeBytes int64
	// Absent: the SVM has no NFS service at all.
	Absent bool
}

// ExportPolicy admits clients.
type ExportPolicy struct {
	Name  string
	Rules []Rule
}

// Rule is one rule of an export policy.
type Rule struct {
	Index     int
	Clients   []string // matches
	Protocols []string
	ReadOnly  []string
	ReadWrite []string
	SuperUser []string
}

// QoSPolicy is a ceiling; 0 = none.
type QoSPolicy struct {
	Name         string
	MaxIOPS      int64
	MaxMegabytes int64  // per second, in the unit of ONTAP
	SVM          string // empty = that of the model
}

// The ways an account may use a path.
const (
	AccessNone     = "none"
	AccessReadonly = "readonly"
	AccessAll      = "all"
)

// Account may sign in with HTTP Basic.
type Account struct {
	User, Password string
	// SVM of an account that sees one SVM only; empty = of the cluster.
	SVM string
	// Privileges say what it may do below a path; the longest path decides, and
	// what none names is forbidden.
	Privileges []Privilege
}

// Privilege is access to everything below a path.
type Privilege struct {
	Path, Access string
}

// Admin is an account that may do everything.
func Admin(user, password string) Account {
	return Account{User: user, Password: password, Privileges: []Privilege{{"/api", AccessAll}}}
}

// ReadOnly is an account of the cluster with the role that our documentation
// asks for: it may read all that a benchmark wants, and nothing else.
func ReadOnly(user, password string) Account {
	a := Account{User: user, Password: password}
	for _, p := range []string{
		"/api/cluster", "/api/network/ip/interfaces", "/api/protocols/nfs", "/api/storage/volumes",
		"/api/storage/aggregates", "/api/storage/qos/policies", "/api/storage/qtrees", "/api/svm/svms",
	} {
		a.Privileges = append(a.Privileges, Privilege{p, AccessReadonly})
	}
	return a
}

// SVMAdmin is an account of one SVM, such as the one that Trident uses: nodes,
// and aggregates are not its own, and it may not move volumes.
func SVMAdmin(user, password, svm string) Account {
	return Account{User: user, Password: password, SVM: svm, Privileges: []Privilege{
		{"/api/cluster", AccessReadonly},
		{"/api/cluster/nodes", AccessNone},
		{"/api/storage/aggregates", AccessNone},
		{"/api/network/ip/interfaces", AccessReadonly},
		{"/api/protocols/nfs", AccessAll},
		{"/api/storage/volumes", AccessAll},
		{"/api/storage/qos/policies", AccessReadonly},
		{"/api/storage/qtrees", AccessAll},
		{"/api/svm/svms", AccessReadonly},
	}}
}

// clone returns a model that shares no memory with m.
func (m Model) clone() (c Model) {
	text, err := json.Marshal(m)
	if err := errors.Join(err, json.Unmarshal(text, &c)); err != nil {
		panic(err) // a model is plain data
	}
	return c
}
