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
		"/api/storage/aggregates", "/api/storage/qos/policies", "/api/svm/svms",
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

// Example is an array of two nodes with one SVM that serves vol1 from the first node, by
// one LIF on each node, and a second SVM, which a question about the first must not show.
func Example(accounts ...Account) Model {
	return Model{
		Cluster: "naclu1", SVM: "vsdb122b",
		Nodes: []Node{{Name: "naclu1-02", Model: "FAS3170"}, {Name: "naclu1-01", Model: "FAS3170"}},
		Aggregates: []Aggregate{
			{Name: "aggr_a", Node: "naclu1-01"}, {Name: "aggr_b", Node: "naclu1-02"},
		},
		LIFs: []LIF{
			{Name: "lif_b", Address: "192.0.2.12", Prefix: 24, HomeNode: "naclu1-02"},
			{Name: "lif_a", Address: "192.0.2.11", Prefix: 24, HomeNode: "naclu1-01"},
			{Name: "lif_mgmt", Address: "192.0.2.10", Prefix: 24, HomeNode: "naclu1-01", Services: []string{"management_https"}},
			{Name: "lif_other", Address: "192.0.2.99", Prefix: 24, HomeNode: "naclu1-01", SVM: "other"},
		},
		Volumes: []Volume{
			{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_a"}, SizeBytes: 100 << 30, UsedBytes: 40 << 30, ExportPolicy: "bench"},
			{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_b"}, SizeBytes: 1 << 30, ExportPolicy: "default", SVM: "other"},
			{Name: "vsdb122b_root", Junction: "/", Aggregates: []string{"aggr_a"}, SizeBytes: 1 << 30, ExportPolicy: "default"},
		},
		NFS: NFSService{Enabled: true, V3: true, V41: true, TransferSizeBytes: 65536},
		Policies: []ExportPolicy{
			{Name: "default"},
			{Name: "bench", Rules: []Rule{
				{Index: 2, Clients: []string{"198.51.100.0/24"}, Protocols: []string{"nfs3"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"none"}, SuperUser: []string{"none"}},
				{Index: 1, Clients: []string{"10.0.0.0/8", "@hosts"}, Protocols: []string{"nfs"}, ReadOnly: []string{"any"}, ReadWrite: []string{"sys"}, SuperUser: []string{"sys"}},
			}},
		},
		Accounts: accounts,
	}
}
