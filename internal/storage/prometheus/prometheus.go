package prometheus

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// bridge is for how long one reading may stand for others, and how far back is asked:
// Prometheus itself takes a value for gone after as long.
const bridge = 5 * time.Minute

// Source reads one storage out of a Prometheus.
type Source struct {
	name   string
	client *rest.Client
	rates  *integrate.Integrator
	gather func(context.Context) (answer, error)

	mu        sync.Mutex
	cred      rest.Credentials
	cpuMetric string // of Harvest, once it is known which there is
}

// answer is what one sample got.
type answer struct {
	integrate.Batch
	volume, owner string // the volume, and the node that it was on at last; empty = not told
}

// New returns the source of src: with Queries, of what they give; else of the metrics of
// Harvest with Labels, of which cluster is needed, and svm and volume for the counters of a
// volume. Nothing is asked yet. cred may be empty; a token goes before a password. An error
// is permanent.
func New(src runfile.Source, cred rest.Credentials, now func() time.Time) (*Source, error) {
	s := &Source{cred: cred, rates: integrate.New(now(), bridge)}
	client, err := rest.New(rest.Config{
		BaseURL: src.URL, AllowPlain: true, CABundle: src.CABundle, InsecureSkipVerify: src.InsecureSkipVerify,
		Authorize: s.authorize, Renew: s.renew, Redact: s.redact, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("prometheus: %w", err)
	}
	s.client = client
	s.name = "Prometheus " + client.Host()
	if len(src.Queries) > 0 {
		q, err := newQueries(s, src.Queries)
		if err != nil {
			return nil, storage.Permanent(fmt.Errorf("prometheus: %w", err))
		}
		s.gather = q.gather
		return s, nil
	}
	h, err := newHarvest(s, src.Labels)
	if err != nil {
		return nil, storage.Permanent(fmt.Errorf("prometheus: %w", err))
	}
	s.gather = h.gather
	s.name += " cluster " + strconv.Quote(src.Labels[labelCluster])
	return s, nil
}

// Name says which Prometheus this is, and which cluster of Harvest.
func (s *Source) Name() string { return s.name }

// Close ends idle connections.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// Sample integrates what is new. The time of the snapshot is that of Prometheus.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	question := s.rates.Ask()
	a, err := s.gather(ctx)
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	snapshot := question.Answer(a.Batch)
	if a.volume != "" {
		v := storage.VolumeCounters{Name: a.volume, Counters: clone(snapshot.Total)}
		if slices.ContainsFunc(snapshot.Nodes, func(n storage.Node) bool { return n.Name == a.owner }) {
			v.Node = a.owner
		}
		snapshot.Volumes = append(snapshot.Volumes, v)
	}
	return snapshot, nil
}

func clone(c storage.Counters) storage.Counters {
	for _, f := range []**uint64{
		&c.ReadOps, &c.WriteOps, &c.OtherOps, &c.ReadBytes, &c.WrittenBytes, &c.ReadMicroseconds,
		&c.WriteMicroseconds,
	} {
		if *f != nil {
			*f = new(**f)
		}
	}
	return c
}

func (s *Source) authorize(r *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cred.Token != "":
		r.Header.Set("Authorization", "Bearer "+s.cred.Token)
	case s.cred.Username != "":
		r.SetBasicAuth(s.cred.Username, s.cred.Password)
	}
	return nil
}

// renew reads the Secret again: what it holds may be another token by now.
func (s *Source) renew(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cred, changed, err := s.cred.Reload()
	if err == nil && changed {
		s.cred = cred
	}
	return changed, err
}

func (s *Source) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cred.Redact(text)
}
