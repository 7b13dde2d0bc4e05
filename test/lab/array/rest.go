package array

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// RESTOptions define what the REST interface reports in addition to the truth.
type RESTOptions struct {
	// Cluster and SVM are names; default those of the array and "svm1".
	Cluster, SVM string
	// Grid is how often statistics move; 0 = 15 s, as with ONTAP.
	Grid time.Duration
	// Replication is how long a volume that moves is on its way before it is cut over.
	Replication time.Duration
	// Accounts may sign in. Default: "admin", "nfsbench" with the rights of our
	// documentation, and "vsadmin" of the SVM, with new passwords at each start.
	Accounts []ontap.Account
}

// REST is the REST interface of an array while it serves.
type REST struct {
	URL          string `json:"url"`
	CAFile       string `json:"caFile"`       // PEM
	AccountsFile string `json:"accountsFile"` // JSON: passwords by user
	SVM          string `json:"svm"`

	// CA is the content of CAFile.
	CA []byte `json:"-"`
	// Accounts are those that may sign in.
	Accounts []ontap.Account `json:"-"`
	// Standin breaks and changes what is told.
	Standin *ontap.Standin `json:"-"`
}

// StartREST serves the REST interface of ONTAP (package ontap) for this array over TLS
// until Stop, at an address of this machine that every pod can reach.
func (a *Array) StartREST(o RESTOptions) (*REST, error) {
	a.moving.Lock()
	defer a.moving.Unlock()
	if a.rest != nil {
		return nil, errors.New("the REST interface is served already")
	}
	o.Cluster, o.SVM = cmp.Or(o.Cluster, a.options.Name), cmp.Or(o.SVM, "svm1")
	if len(o.Accounts) == 0 {
		o.Accounts = []ontap.Account{
			ontap.Admin("admin", rand.Text()), ontap.ReadOnly("nfsbench", rand.Text()),
			ontap.SVMAdmin("vsadmin", rand.Text(), o.SVM),
		}
	}
	r := &REST{
		SVM: o.SVM, Accounts: o.Accounts,
		CAFile: filepath.Join(a.dir, "ca.pem"), AccountsFile: filepath.Join(a.dir, "accounts.json"),
	}
	r.Standin = ontap.New(ontap.Options{Truth: a, Model: a.model(o), Grid: o.Grid, Replication: o.Replication})
	l, err := net.Listen("tcp", net.JoinHostPort(a.LIFs()[0].Host, "0"))
	if err != nil {
		return nil, fmt.Errorf("serve the REST interface: %w", err)
	}
	if r.URL, r.CA, err = r.Standin.StartTLS(l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	a.rest = r
	return r, r.keep()
}

// keep writes the files for people and scripts.
func (r *REST) keep() error {
	passwords := map[string]string{}
	for _, a := range r.Accounts {
		passwords[a.User] = a.Password
	}
	text, err := json.MarshalIndent(passwords, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(r.CAFile, r.CA, 0o644), os.WriteFile(r.AccountsFile, append(text, '\n'), 0o600))
}

func (a *Array) model(o RESTOptions) ontap.Model {
	m := ontap.Model{
		Cluster: o.Cluster, SVM: o.SVM, Accounts: o.Accounts,
		NFS: ontap.NFSService{Enabled: true, V3: true, V40: true, V41: true, TransferSizeBytes: 1 << 20},
		Policies: []ontap.ExportPolicy{{Name: defaultPolicy, Rules: []ontap.Rule{{
			Index: 1, Clients: []string{"0.0.0.0/0"}, Protocols: []string{"any"},
			ReadOnly: []string{"any"}, ReadWrite: []string{"any"}, SuperUser: []string{"any"},
		}}}},
	}
	for _, n := range a.nodes {
		m.Nodes = append(m.Nodes, ontap.Node{Name: n.name, Model: "network namespace"})
		m.Aggregates = append(m.Aggregates, ontap.Aggregate{Name: AggregateOf(n.name), Node: n.name})
	}
	for _, l := range a.LIFs() {
		m.LIFs = append(m.LIFs, ontap.LIF{
			Name: l.Name, Address: l.Address, Prefix: 24, HomeNode: l.Node,
			Services: []string{"data_nfs"},
		})
	}
	for _, v := range a.Volumes() {
		m.Volumes = append(m.Volumes, v.model())
	}
	return m
}

// defaultPolicy is the export policy that admits everybody.
const defaultPolicy = "default"

// AggregateOf is the name of the one aggregate of a node.
func AggregateOf(node string) string { return "aggr_" + node[len(node)-1:] }

// model reports the size of the file system below, as NFS does, unless the volume has its own.
func (v Volume) model() ontap.Volume {
	m := ontap.Volume{
		Name: v.Name, Junction: v.Junction, Aggregates: []string{AggregateOf(v.Node)},
		ExportPolicy: cmp.Or(v.ExportPolicy, defaultPolicy),
	}
	if v.SizeBytes > 0 {
		m.SizeBytes = v.SizeBytes
		return m
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(v.Folder, &fs); err == nil {
		m.SizeBytes = int64(fs.Blocks) * fs.Bsize
		m.UsedBytes = int64(fs.Blocks-fs.Bavail) * fs.Bsize
	}
	return m
}

// tellREST informs the REST interface about changed volumes, and keeps other changes that a test
// made there. The caller holds moving.
func (a *Array) tellREST() {
	if a.rest == nil {
		return
	}
	a.rest.Standin.Change(func(m *ontap.Model) {
		for _, v := range a.Volumes() {
			i := slices.IndexFunc(m.Volumes, func(x ontap.Volume) bool { return x.Name == v.Name })
			if i < 0 {
				m.Volumes = append(m.Volumes, v.model())
				if !slices.ContainsFunc(m.Policies, func(p ontap.ExportPolicy) bool { return p.Name == cmp.Or(v.ExportPolicy, defaultPolicy) }) {
					m.Policies = append(m.Policies, ontap.ExportPolicy{Name: v.ExportPolicy})
				}
				continue
			}
			m.Volumes[i].Aggregates = []string{AggregateOf(v.Node)}
		}
	})
}

// stopREST ends the REST interface, and with it moves that it began.
func (a *Array) stopREST() {
	a.moving.Lock()
	r := a.rest
	a.rest = nil
	a.moving.Unlock()
	if r != nil {
		r.Standin.Close()
	}
}

var _ ontap.Truth = (*Array)(nil)

// Node counts the processor time of all processes of a node since they started, user and system, in
// steps of 10 ms. It includes the time of Work, and the part of the NFSv4 server that worked for
// the node. Its base is the time since the start of the array for each processor of this machine.
// The nodes share the processors: together they cannot be busy for longer than that. The package
// documentation lists what is missing. The counters of an unknown node are zero.
func (a *Array) Node(name string) ontap.NodeCounters {
	n, err := a.node(name)
	if err != nil {
		return ontap.NodeCounters{}
	}
	var busy time.Duration
	for _, p := range []*process{n.rpcbind, n.ganesha, n.nblade} {
		busy += p.cpu()
	}
	busy += a.nfs4.busy(name, a.counts(), a.Volumes()[0].Node)
	n.mu.Lock()
	defer n.mu.Unlock()
	busy += n.ended
	for _, p := range n.work {
		busy += p.cpu()
	}
	n.busy = max(n.busy, busy)
	base := a.options.Now().Sub(a.began) * time.Duration(runtime.NumCPU())
	return ontap.NodeCounters{BusyMicros: uint64(n.busy.Microseconds()), BaseMicros: uint64(base.Microseconds())}
}

// LIF counts the bytes of an address with all headers, as its interface does:
// this end of the link receives what the LIF sends. One packet of the kernel may
// be 64 KiB, with its headers counted once.
func (a *Array) LIF(address string) ontap.LIFCounters {
	for _, l := range a.LIFs() {
		if l.Address == address {
			read := func(counter string) uint64 {
				text, _ := os.ReadFile(filepath.Join("/sys/class/net", hostLink(a.options.Name, l.index), "statistics", counter))
				n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
				return n
			}
			return ontap.LIFCounters{SentBytes: read("rx_bytes"), ReceivedBytes: read("tx_bytes")}
		}
	}
	return ontap.LIFCounters{}
}

// Volume counts what the N-blades saw of a volume. Latency is that at the N-blade: with
// the way over the cluster link, and never the network of the client.
func (a *Array) Volume(name string) ontap.VolumeCounters {
	var sum ontap.VolumeCounters
	for _, c := range a.counts() {
		v := c.Volumes[name]
		sum = ontap.VolumeCounters{Read: sum.Read.Plus(v.Read), Write: sum.Write.Plus(v.Write), Other: sum.Other.Plus(v.Other)}
	}
	return sum
}

// Clients are the addresses of clients that have called, with the calls that
// entered at the owner of the volume and those that went over the cluster link.
func (a *Array) Clients() []ontap.Client {
	var clients []ontap.Client
	for _, c := range a.counts() {
		clients = append(clients, c.Clients...)
	}
	return clients
}

// counts queries both N-blades and waits for as long as they live: without the counts of one, the sums
// would be too small. One that has died fails at once, and Wait reports it.
func (a *Array) counts() []control.Counts {
	var all []control.Counts
	for _, n := range a.nodes {
		if c, err := n.blade.Counts(context.Background()); err == nil { //nolint:usetesting // not a test
			all = append(all, c)
		}
	}
	return all
}
