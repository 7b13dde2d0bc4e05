package ontap

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// readings holds the answers that make one snapshot.
type readings struct {
	volume volume
	nodes  []node
	lifs   []lif
	owners map[string]string
	// clients is nil in most samples: see clientsEvery.
	clients []connectedClient
}

// Sample reads the counters of volume, nodes and LIFs at once. It asks ONTAP even if the grid of its
// statistics has not moved, and then returns the same counters with the same time again. Without the right to
// see nodes or LIFs the snapshot has none. After ONTAP refused the credentials, Sample repeats the error for
// half a minute without a request, unless the Secret changes.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	err := s.session.gate()
	var snap storage.Snapshot
	if err == nil {
		snap, err = s.sample(ctx)
		s.forgetAfter(err)
	}
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	return snap, nil
}

// forgetAfter makes the next sample look up the volume again if ONTAP answered 401 or 404. That sample then
// begins with a single request.
func (s *Source) forgetAfter(err error) {
	switch {
	case hasStatus(err, http.StatusUnauthorized):
		s.session.refuse(err)
	case !hasStatus(err, http.StatusNotFound):
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.uuid = ""
}

func (s *Source) sample(ctx context.Context) (storage.Snapshot, error) {
	uuid, err := s.uuid(ctx)
	if err != nil {
		return storage.Snapshot{}, err
	}
	var r readings
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, err := s.client.Get(gctx, volumePath(uuid), url.Values{"fields": fields(
			"name", "style", "aggregates.name", "statistics.timestamp", "statistics.status",
			"statistics.iops_raw", "statistics.latency_raw", "statistics.throughput_raw")}, &r.volume)
		return err
	})
	g.Go(func() error {
		return s.optional(gctx, apiNodes, func(ctx context.Context) (err error) {
			r.nodes, err = list[node](ctx, s, apiNodes, url.Values{"fields": fields("name", "statistics")})
			return err
		})
	})
	g.Go(func() error {
		return s.optional(gctx, apiLIFs, func(ctx context.Context) (err error) {
			r.lifs, err = list[lif](ctx, s, apiLIFs, s.lifQuery("name", "ip.address", "location.node.name",
				"statistics.timestamp", "statistics.status", "statistics.throughput_raw"))
			return err
		})
	})
	g.Go(func() error {
		return s.optional(gctx, apiClients, func(ctx context.Context) (err error) {
			r.clients, err = s.clients(ctx)
			return err
		})
	})
	if err := g.Wait(); err != nil {
		return storage.Snapshot{}, err
	}
	if r.owners, err = s.owners(ctx, r.volume); err != nil {
		return storage.Snapshot{}, err
	}
	if owner(r.volume, r.owners) == "" && r.volume.Style != "flexgroup" {
		if r.volume.Nodes, err = s.volumeNodes(ctx, uuid); err != nil {
			return storage.Snapshot{}, err
		}
	}
	return snapshot(r)
}

// uuid returns the UUID of the volume, which stays the same when the volume moves.
func (s *Source) uuid(ctx context.Context) (string, error) {
	s.mu.Lock()
	uuid := s.known.uuid
	s.mu.Unlock()
	if uuid != "" {
		return uuid, nil
	}
	v, err := s.find(ctx, "", "uuid", "name", "svm.name")
	if err != nil {
		return "", err
	}
	return v.UUID, s.remember(v)
}

// remember keeps the volume for samples.
func (s *Source) remember(v volume) error {
	if v.UUID == "" {
		return storage.Permanent(fmt.Errorf("volume %s has no UUID: this is not ONTAP 9.11.1 or later", v.Name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.uuid, s.known.svm = v.UUID, v.SVM.Name
	return nil
}

// lifQuery asks for the LIFs that serve NFS for the SVM of the volume.
func (s *Source) lifQuery(want ...string) url.Values {
	return s.ofSVM(url.Values{"services": {"data_nfs"}, "fields": fields(want...)})
}

// ofSVM adds the SVM to q: the SVM of the source, or else the SVM of the volume that was found.
func (s *Source) ofSVM(q url.Values) url.Values {
	s.mu.Lock()
	svm := cmp.Or(s.src.SVM, s.known.svm)
	s.mu.Unlock()
	if svm != "" {
		q.Set("svm.name", svm)
	}
	return q
}

// owners returns the nodes of the aggregates from a map that is at most ownersFor old. It asks ONTAP sooner
// for an aggregate that is not in the map, because the volume moved there.
func (s *Source) owners(ctx context.Context, v volume) (map[string]string, error) {
	now := s.now()
	s.mu.Lock()
	owners, at := s.known.owners, s.known.ownersAt
	s.mu.Unlock()
	unknown := slices.ContainsFunc(names(v.Aggregates), func(a string) bool {
		_, is := owners[a]
		return !is
	})
	// A map without the aggregate is read again, but not by every sample.
	pause := ownersFor
	if unknown {
		pause = pollEvery
	}
	if owners != nil && now.Sub(at) < pause {
		return owners, nil
	}
	err := s.optional(ctx, apiAggregates, func(ctx context.Context) (err error) {
		owners, err = s.aggregates(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.owners, s.known.ownersAt = owners, now
	return owners, nil
}

// snapshot converts the answers to counters.
func snapshot(r readings) (storage.Snapshot, error) {
	st := r.volume.Statistics
	if st == nil {
		return storage.Snapshot{}, fmt.Errorf("volume %s: ONTAP gives no statistics of it", r.volume.Name)
	}
	if !st.usable() {
		return storage.Snapshot{}, fmt.Errorf("volume %s: its statistics are not usable now, status %q",
			r.volume.Name, st.Status)
	}
	at, ok := st.time()
	if !ok {
		return storage.Snapshot{}, storage.Permanent(fmt.Errorf("volume %s: its statistics have no time that can be read",
			r.volume.Name))
	}
	snap := storage.Snapshot{StorageSample: runfile.StorageSample{
		Time: at, VolumeNode: owner(r.volume, r.owners), Clients: clientsOf(r.clients, r.volume.Name),
		ReadOps: st.IOPS.Read.signed(), WriteOps: st.IOPS.Write.signed(), OtherOps: st.IOPS.Other.signed(),
		ReadBytes: st.Throughput.Read.signed(), WriteBytes: st.Throughput.Write.signed(),
		ReadMicroseconds: st.Latency.Read.signed(), WriteMicroseconds: st.Latency.Write.signed(),
	}}
	for _, n := range r.nodes {
		if n.Name == "" {
			continue
		}
		o := runfile.StorageNode{Name: n.Name}
		if n.measured() {
			// The raw counters are treated as microseconds. ONTAP does not document their unit, and it cancels out:
			// only their ratio has a meaning, the average over all cores of a node.
			o.BusyMicroseconds, o.BaseMicroseconds = n.Statistics.Raw.signed(), n.Statistics.Base.signed()
		}
		snap.Nodes = append(snap.Nodes, o)
	}
	slices.SortFunc(snap.Nodes, func(a, b runfile.StorageNode) int { return cmp.Compare(a.Name, b.Name) })
	for _, l := range r.lifs {
		if l.IP.Address == "" {
			continue
		}
		p := runfile.StoragePath{Address: l.IP.Address, Name: l.Name, Node: l.Location.Node.Name}
		if st := l.Statistics; st != nil && st.usable() {
			p.ReadBytes, p.WriteBytes = st.Throughput.Read.signed(), st.Throughput.Write.signed()
		}
		snap.Paths = append(snap.Paths, p)
	}
	slices.SortFunc(snap.Paths, func(a, b runfile.StoragePath) int { return cmp.Compare(a.Address, b.Address) })
	snap.Paths = onePerAddress(snap.Paths)
	return snap, nil
}

// onePerAddress joins the LIFs of one address. ONTAP lists several of them in different IPspaces, or one LIF
// twice while it moves. The source cannot know which of them the load uses: where they differ, it reports
// neither counters nor a node.
func onePerAddress(paths []runfile.StoragePath) []runfile.StoragePath {
	var out []runfile.StoragePath
	for _, p := range paths {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].Address != p.Address:
			out = append(out, p)
		case !reflect.DeepEqual(out[last], p):
			out[last] = runfile.StoragePath{Address: p.Address}
		}
	}
	return out
}

// clientsEvery is the interval for reading the clients of the volume. ONTAP keeps a client in its list for
// minutes, and the list is evidence, not a counter.
const clientsEvery = 5 * time.Second

// connectedClient is a row of /protocols/nfs/connected-clients (9.7 and later).
type connectedClient struct {
	ClientIP string `json:"client_ip"`
	ServerIP string `json:"server_ip"`
	Protocol string `json:"protocol"`
	Volume   named  `json:"volume"`
}

// clients returns the clients of the SVM, or nil until clientsEvery has passed.
func (s *Source) clients(ctx context.Context) ([]connectedClient, error) {
	now := s.now()
	s.mu.Lock()
	due := now.Sub(s.known.clientsAt) >= clientsEvery
	if due {
		s.known.clientsAt = now
	}
	s.mu.Unlock()
	if !due {
		return nil, nil
	}
	out, err := list[connectedClient](ctx, s, apiClients, s.ofSVM(map[string][]string{
		"fields": fields("client_ip", "server_ip", "protocol", "volume.name"),
	}))
	return out, err
}

// clientsOf returns the clients of one volume, without duplicates of addresses and protocol.
func clientsOf(all []connectedClient, volume string) []runfile.StorageClient {
	var out []runfile.StorageClient
	for _, c := range all {
		if volume != "" && c.Volume.Name == volume && c.ClientIP != "" {
			out = append(out, runfile.StorageClient{Address: c.ClientIP, Server: c.ServerIP, Protocol: c.Protocol})
		}
	}
	slices.SortFunc(out, func(a, b runfile.StorageClient) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Protocol, b.Protocol))
	})
	return slices.Compact(out)
}
