// Package exporter reads plain NFS servers through their own metrics in Prometheus' text format:
// node_exporter on a Linux server, or the monitoring of NFS-Ganesha.
//
// node_exporter reports processors (node_cpu_seconds_total) and the counters of the kernel's NFS server
// (node_nfsd_*, from /proc/net/rpc/nfsd), which have no latency. NFS-Ganesha reports requests and bytes if it
// was built with monitoring and runs with dynamic metrics, and no processors. The package ignores its
// latencies: they are cut to whole milliseconds, so that fast operations would take no time at all.
//
// Before Linux 5.12 the kernel's server counts bytes with 32 bits, so that its counters wrap after 4 GiB,
// perhaps more than once between two samples. For such a kernel, and for one of unknown release, there are no
// bytes; its operations are counted.
//
// A value that one server does not report is nil, and so is the sum over all servers. A server that runs
// node_exporter's collector nfsd without any counters of it serves no NFS, and counts as zero: the passive
// half of a pair.
package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	// bootSlack bounds how far the reported boot time of a running server may move when its clock is corrected:
	// the kernel computes the boot time from the clock.
	bootSlack = 60.0
	// wanted names the collectors of node_exporter that this package reads. The others would only cost time.
	wanted = "?collect[]=cpu&collect[]=nfsd&collect[]=stat&collect[]=uname"
)

// Source reads one or more NFS servers as one storage.
type Source struct {
	name  string
	nodes []*node // sorted by name
	now   func() time.Time
}

// node is one server.
type node struct {
	name   string
	path   string // includes the query of the URL
	client *rest.Client
	whole  atomic.Bool // the server does not support a choice of collectors

	mu   sync.Mutex
	boot float64 // of the epoch, Unix seconds; 0 = never reported
}

// New returns the source of all servers in src.Nodes. It sends no request; an error is permanent. Exporters
// need no credentials, so New ignores them.
func New(src runfile.Source, _ rest.Credentials, now func() time.Time) (*Source, error) {
	if len(src.Nodes) == 0 {
		return nil, storage.Permanent(fmt.Errorf("exporter: no servers are named"))
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
		client, err := rest.New(rest.Config{
			BaseURL: u.Scheme + "://" + u.Host, AllowPlain: true,
			CABundle: src.CABundle, InsecureSkipVerify: src.InsecureSkipVerify,
			// The query may hold a token, and a server may repeat it in an error.
			Redact: func(string) string { return "" },
			Authorize: func(r *http.Request) error {
				r.Header.Set("Accept", "text/plain;version=0.0.4")
				return nil
			},
			Timeout:      4 * time.Second, // an exporter answers within one sample
			MaxBodyBytes: 8 << 20,         // far above the page of node_exporter with all collectors
			// The next sample is the next attempt, however short the interval is.
			Attempts: 1, PerSecond: 1000, Now: now,
		})
		if err != nil {
			return nil, fmt.Errorf("exporter %s: %w", n.Name, err)
		}
		server := &node{name: n.Name, path: u.RequestURI(), client: client}
		server.whole.Store(u.RawQuery != "")
		s.nodes = append(s.nodes, server)
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

// Name returns the names of the servers.
func (s *Source) Name() string { return s.name }

// Close closes idle connections.
func (s *Source) Close() error {
	for _, n := range s.nodes {
		n.client.Close()
	}
	return nil
}

// Sample reads all servers at once. It fails if one server does not answer, because the sum without that
// server would be wrong. The time is the middle of the sample on our clock, because each server has its own
// clock. The epoch is made of the boot times of the servers.
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
				s.nodes[i].client.Host(), err)
		}
	}
	total := sum(readings)
	snapshot := storage.Snapshot{StorageSample: runfile.StorageSample{
		Time:    before.Add(s.now().Sub(before) / 2),
		ReadOps: total.readOps, WriteOps: total.writeOps, OtherOps: total.otherOps,
		ReadBytes: total.readBytes, WriteBytes: total.writeBytes,
	}}
	var boots []string
	for i, r := range readings {
		n := s.nodes[i]
		snapshot.Nodes = append(snapshot.Nodes, runfile.StorageNode{Name: n.name, BusyMicroseconds: r.busy, Cores: r.cores})
		if boot := n.booted(r.boot); boot > 0 {
			boots = append(boots, fmt.Sprintf("%s %.0f", n.name, boot))
		}
	}
	snapshot.Epoch = strings.Join(boots, ", ")
	return snapshot, nil
}

// read reads the metrics of the server. node_exporter answers 400 if a requested collector is switched off;
// from then on read requests all collectors.
func (n *node) read(ctx context.Context) (reading, error) {
	path := n.path
	if !n.whole.Load() {
		path += wanted
	}
	var body []byte
	_, err := n.client.Get(ctx, path, nil, &body)
	status, answered := errors.AsType[*rest.StatusError](err)
	if answered && status.Status == http.StatusBadRequest && path != n.path {
		n.whole.Store(true)
		_, err = n.client.Get(ctx, n.path, nil, &body)
	}
	if err != nil {
		return reading{}, err
	}
	return decode(body)
}

// booted returns the boot time that identifies the epoch. It changes only when the server boots.
func (n *node) booted(told float64) float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if told > 0 && (told-n.boot > bootSlack || n.boot-told > bootSlack) {
		n.boot = told
	}
	return n.boot
}
