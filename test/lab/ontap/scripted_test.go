package ontap_test

import (
	"context"
	"slices"
	"sync"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// example is an array of two nodes with one SVM that serves vol1 from the first node, by
// one LIF on each node, and a second SVM, which a question about the first must not show.
func example(accounts ...ontap.Account) ontap.Model {
	return ontap.Model{
		Cluster: "naclu1", SVM: "vsdb122b",
		Nodes: []ontap.Node{{Name: "naclu1-02", Model: "FAS3170"}, {Name: "naclu1-01", Model: "FAS3170"}},
		Aggregates: []ontap.Aggregate{
			{Name: "aggr_a", Node: "naclu1-01"}, {Name: "aggr_b", Node: "naclu1-02"},
		},
		LIFs: []ontap.LIF{
			{Name: "lif_b", Address: "192.0.2.12", Prefix: 24, HomeNode: "naclu1-02"},
			{Name: "lif_a", Address: "192.0.2.11", Prefix: 24, HomeNode: "naclu1-01"},
			{Name: "lif_mgmt", Address: "192.0.2.10", Prefix: 24, HomeNode: "naclu1-01", Services: []string{"management_https"}},
			{Name: "lif_other", Address: "192.0.2.99", Prefix: 24, HomeNode: "naclu1-01", SVM: "other"},
		},
		Volumes: []ontap.Volume{
			{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_a"}, SizeBytes: 100 << 30, UsedBytes: 40 << 30, ExportPolicy: "bench"},
			{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_b"}, SizeBytes: 1 << 30, ExportPolicy: "default", SVM: "other"},
			{Name: "vsdb122b_root", Junction: "/", Aggregates: []string{"aggr_a"}, SizeBytes: 1 << 30, ExportPolicy: "default"},
		},
		NFS: ontap.NFSService{Enabled: true, V3: true, V41: true, TransferSizeBytes: 65536},
		Policies: []ontap.ExportPolicy{
			{Name: "default"},
			{Name: "bench", Rules: []ontap.Rule{
				{Index: 2, Clients: []string{"198.51.100.0/24"}, Protocols: []string{"nfs3"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"none"}, SuperUser: []string{"none"}},
				{Index: 1, Clients: []string{"10.0.0.0/8", "@hosts"}, Protocols: []string{"nfs"}, ReadOnly: []string{"any"}, ReadWrite: []string{"sys"}, SuperUser: []string{"sys"}},
			}},
		},
		Accounts: accounts,
	}
}

// SetLIF replaces the LIF of that name, or adds it.
func (w *world) SetLIF(l ontap.LIF) {
	w.Change(func(m *ontap.Model) { m.LIFs = put(m.LIFs, l, func(l ontap.LIF) string { return l.Name }) })
}

// SetNode replaces the node of that name, or adds it.
func (w *world) SetNode(n ontap.Node) {
	w.Change(func(m *ontap.Model) { m.Nodes = put(m.Nodes, n, func(n ontap.Node) string { return n.Name }) })
}

// SetVolume replaces the volume of that name, or adds it.
func (w *world) SetVolume(v ontap.Volume) {
	w.Change(func(m *ontap.Model) {
		m.Volumes = put(m.Volumes, v, func(v ontap.Volume) string { return v.SVM + ":" + v.Name })
	})
}

// SetService replaces what the SVM offers.
func (w *world) SetService(n ontap.NFSService) { w.Change(func(m *ontap.Model) { m.NFS = n }) }

// SetAccounts replaces all accounts.
func (w *world) SetAccounts(a ...ontap.Account) { w.Change(func(m *ontap.Model) { m.Accounts = a }) }

// ResetCounters lets all counters begin at zero again, as after a takeover.
func (w *world) ResetCounters() {
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	w.truth.nodes, w.truth.lifs, w.truth.volumes = nil, nil, nil
}

func put[T any](all []T, one T, name func(T) string) []T {
	if i := slices.IndexFunc(all, func(t T) bool { return name(t) == name(one) }); i >= 0 {
		all[i] = one
		return all
	}
	return append(all, one)
}

// scripted is a Truth that says what a test told it. The zero value counts nothing and
// moves at once; its methods may be called at once.
type scripted struct {
	mu      sync.Mutex
	nodes   map[string]ontap.NodeCounters
	lifs    map[string]ontap.LIFCounters
	volumes map[string]ontap.VolumeCounters
	clients []ontap.Client
	onMove  func(ctx context.Context, volume, node string) error
	moves   []string
}

// set sets one of the maps' values under the lock.
func set[T any](s *scripted, m *map[string]T, name string, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[name] = value
}

func get[T any](s *scripted, value func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return value()
}

func (s *scripted) SetNode(name string, c ontap.NodeCounters)     { set(s, &s.nodes, name, c) }
func (s *scripted) SetLIF(address string, c ontap.LIFCounters)    { set(s, &s.lifs, address, c) }
func (s *scripted) SetVolume(name string, c ontap.VolumeCounters) { set(s, &s.volumes, name, c) }

func (s *scripted) SetClients(c ...ontap.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = slices.Clone(c)
}

// OnMove makes move the one that moves volumes.
func (s *scripted) OnMove(move func(ctx context.Context, volume, node string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onMove = move
}

// Moves are the moves that were asked for, each as "volume to node".
func (s *scripted) Moves() []string { return get(s, func() []string { return slices.Clone(s.moves) }) }

func (s *scripted) Node(name string) ontap.NodeCounters {
	return get(s, func() ontap.NodeCounters { return s.nodes[name] })
}

func (s *scripted) LIF(address string) ontap.LIFCounters {
	return get(s, func() ontap.LIFCounters { return s.lifs[address] })
}

func (s *scripted) Volume(name string) ontap.VolumeCounters {
	return get(s, func() ontap.VolumeCounters { return s.volumes[name] })
}

func (s *scripted) Clients() []ontap.Client {
	return get(s, func() []ontap.Client { return slices.Clone(s.clients) })
}

// Move notes the move and does what OnMove set.
func (s *scripted) Move(ctx context.Context, volume, node string) error {
	s.mu.Lock()
	s.moves = append(s.moves, volume+" to "+node)
	move := s.onMove
	s.mu.Unlock()
	if move == nil {
		return ctx.Err()
	}
	return move(ctx, volume, node)
}
