package exporter

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	// timeout bounds one request: an exporter answers within its own sample.
	timeout = 4 * time.Second
	// maxBodyBytes is far above what node_exporter says with all collectors on.
	maxBodyBytes = 8 << 20
	// bootSlack is by how much the boot time of a server that did not boot may move when
	// its clock is corrected: the kernel computes it backwards.
	bootSlack = 60.0
)

// Source reads one or more NFS servers as one storage.
type Source struct {
	name  string
	nodes []*node // sorted by name
	now   func() time.Time
}

// node is one server.
type node struct {
	name, host string
	url        string
	client     *http.Client

	mu    sync.Mutex
	whole bool    // it does not let us choose collectors
	boot  float64 // of the epoch, Unix seconds; 0 = it never told
}

// New makes the source of all servers in src.Nodes. Nothing is asked yet; an error is
// permanent. Exporters take no credentials, so there is no use for cred.
func New(src runfile.Source, _ rest.Credentials, now func() time.Time) (*Source, error) {
	if len(src.Nodes) == 0 {
		return nil, storage.Permanent(fmt.Errorf("exporter: no servers are named"))
	}
	client, err := newClient(src)
	if err != nil {
		return nil, err
	}
	s := &Source{now: now}
	var hosts []string
	for _, n := range src.Nodes {
		u, err := url.Parse(n.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return nil, storage.Permanent(fmt.Errorf("exporter %s: its url must look like http://host:9100/metrics", n.Name))
		case u.User != nil:
			return nil, storage.Permanent(fmt.Errorf("exporter %s: its url holds a user name, and exporters take no "+
				"credentials", n.Name))
		}
		s.nodes = append(s.nodes, &node{name: n.Name, host: u.Host, url: n.URL, client: client, whole: u.RawQuery != ""})
		hosts = append(hosts, u.Host)
	}
	slices.SortFunc(s.nodes, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for i, n := range s.nodes {
		if n.name == "" || i > 0 && s.nodes[i-1].name == n.name {
			return nil, storage.Permanent(fmt.Errorf("exporter: each server needs a name of its own, %q is not one", n.name))
		}
	}
	s.name = "exporters " + strings.Join(hosts, ", ")
	return s, nil
}

func newClient(src runfile.Source) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: src.InsecureSkipVerify} //nolint:gosec // only if the user says so
	if src.CABundle != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(src.CABundle)) {
			return nil, storage.Permanent(fmt.Errorf("exporter: caBundle holds no PEM certificate"))
		}
	}
	return &http.Client{
		Timeout: timeout,
		// A proxy or a redirect would be somebody else's counters.
		Transport:     &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Name says which servers these are.
func (s *Source) Name() string { return s.name }

// Sample asks all servers at once. One that does not answer fails the sample: a sum without
// it would be wrong. The time is ours, in the middle of asking, because servers have clocks
// of their own; the epoch is made of their boot times.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	before := s.now()
	readings, errs := make([]reading, len(s.nodes)), make([]error, len(s.nodes))
	var all sync.WaitGroup
	for i, n := range s.nodes {
		all.Go(func() { readings[i], errs[i] = n.read(ctx) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return storage.Snapshot{}, fmt.Errorf("read the counters of server %s at %s: %w", s.nodes[i].name,
				s.nodes[i].host, err)
		}
	}
	took := s.now().Sub(before)
	return s.snapshot(before.Add(took/2), readings), nil
}

func (s *Source) snapshot(at time.Time, readings []reading) storage.Snapshot {
	snapshot := storage.Snapshot{Time: at, Total: sum(readings)}
	var boots []string
	for i, r := range readings {
		n := s.nodes[i]
		snapshot.Nodes = append(snapshot.Nodes, storage.Node{Name: n.name, CPUSeconds: r.cpuSeconds, Cores: r.cores})
		if boot := n.booted(r.boot); boot > 0 {
			boots = append(boots, fmt.Sprintf("%s %.0f", n.name, boot))
		}
	}
	snapshot.Epoch = strings.Join(boots, ", ")
	return snapshot
}

// booted returns the boot time that names the epoch, which moves only by a real boot.
func (n *node) booted(told float64) float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if told > 0 && (told-n.boot > bootSlack || n.boot-told > bootSlack) {
		n.boot = told
	}
	return n.boot
}
