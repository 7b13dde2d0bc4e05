// Package prometheus reads the metrics of a storage from a Prometheus server: the metrics of NetApp Harvest,
// chosen by labels, or any PromQL.
//
// Harvest exports means over its last poll of the array. Each sample reads all of them from the last five
// minutes with their scrape times (an instant query would return the time of the query instead), and
// integrates the new ones; see package integrate. No scrape counts twice, and the time of a snapshot is that
// of the newest scrape. Expressions of a user have no scrape times: they are evaluated together at one
// moment, and cover the time since the sample before.
//
// The limits for short runs: Harvest polls every 60 s, and Prometheus scrapes it some time later. A run sees
// the polls that end during the run, up to a minute and a scrape interval too late at each end. A run that is
// shorter than a poll sees nothing: no counter moves, and there is no difference. Read ONTAP itself for such
// runs.
//
// The CPU of nodes is node_avg_processor_busy, the mean of all cores, as in ONTAP's REST. Without this metric
// it is node_cpu_busy, which is another number: the load of the busiest domain. One source never mixes them.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// bridge is the longest time that one reading may cover, and the range of a query. Prometheus drops a value
// after the same time.
const bridge = 5 * time.Minute

// Source reads one storage from a Prometheus server.
type Source struct {
	name   string
	client *rest.Client
	rates  *integrate.Integrator
	gather func(context.Context) (answer, error)

	mu        sync.Mutex
	cred      rest.Credentials
	cpuMetric string // of Harvest, once known
	times     times  // of the series of Harvest in earlier answers
}

// answer holds the readings of one sample.
type answer struct {
	integrate.Batch
	owner string // the last node of the volume; empty = unknown
}

// New returns the source of src. With Queries it evaluates them; otherwise it reads the metrics of Harvest
// with Labels: cluster is required, and svm and volume are required for the counters of a volume. New sends
// no request. cred may be empty; a token takes precedence over a password. An error is permanent.
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

// Name returns the name of the Prometheus server, and of the cluster of Harvest.
func (s *Source) Name() string { return s.name }

// Close ends idle connections.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// Sample integrates new readings. The time of the snapshot is Prometheus' time.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	question := s.rates.Ask()
	a, err := s.gather(ctx)
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	snapshot := question.Answer(a.Batch)
	if slices.ContainsFunc(snapshot.Nodes, func(n runfile.StorageNode) bool { return n.Name == a.owner }) {
		snapshot.VolumeNode = a.owner
	}
	return snapshot, nil
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

// renew reads the Secret again, because it may hold another token now.
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

// maxSeries bounds an answer: a cluster has 24 nodes and some hundred LIFs.
const maxSeries = 10000

// result is the data of an answer.
type result struct {
	Type  string          `json:"resultType"`
	Value json.RawMessage `json:"result"`
}

// query evaluates an expression, at time at unless that is 0, and returns its data.
func (s *Source) query(ctx context.Context, expression string, at model.Time) (result, error) {
	q := url.Values{"query": {expression}}
	if at != 0 {
		q.Set("time", at.String())
	}
	var doc document
	_, err := s.client.Get(ctx, "/api/v1/query", q, &doc)
	return doc.Data, err
}

// document is the envelope of an answer.
type document struct {
	Status string `json:"status"`
	Data   result `json:"data"`
}

// Lacks returns "data" if the query did not succeed.
func (d *document) Lacks() string {
	if d.Status != "success" {
		return "data"
	}
	return ""
}

// stream is a series with all its samples. It replaces model.SampleStream, which reads a null value as 0.
type stream struct {
	Metric model.Metric `json:"metric"`
	Values []pair       `json:"values"`
}

// sample is a series with one sample; the sample of a histogram is nil.
type sample struct {
	Metric model.Metric `json:"metric"`
	Value  *pair        `json:"value"`
}

// pair is one sample.
type pair struct{ model.SamplePair }

// UnmarshalJSON requires both the time and the value.
func (p *pair) UnmarshalJSON(b []byte) error {
	var both []json.RawMessage
	if err := json.Unmarshal(b, &both); err != nil {
		return err
	}
	if len(both) != 2 {
		return fmt.Errorf("a sample has %d parts, and must have a time and a value", len(both))
	}
	return errors.Join(json.Unmarshal(both[0], &p.Timestamp), p.Value.UnmarshalJSON(both[1]))
}

// matrix reads series with all their samples.
func (r result) matrix() ([]*stream, error) {
	if r.Type != "matrix" {
		return nil, storage.Permanent(fmt.Errorf("the answer is a %q and no range of samples", r.Type))
	}
	return readSeries[stream](r)
}

// vector reads one sample of each series. A scalar is a series without labels.
func (r result) vector() ([]*sample, error) {
	switch r.Type {
	case "vector":
		all, err := readSeries[sample](r)
		if slices.ContainsFunc(all, func(s *sample) bool { return s.Value == nil }) {
			err = storage.Permanent(errors.New("it gives a series without a value, as that of a histogram is"))
		}
		return all, err
	case "scalar":
		var one pair
		if err := json.Unmarshal(r.Value, &one); err != nil {
			return nil, unexpected(err)
		}
		return []*sample{{Value: &one}}, nil
	default:
		return nil, storage.Permanent(fmt.Errorf("it gives a %s, and must give one value for each series, such as "+
			"rate(...) does", r.Type))
	}
}

func readSeries[T any](r result) ([]*T, error) {
	var all []*T
	if err := json.Unmarshal(r.Value, &all); err != nil {
		return nil, unexpected(err)
	}
	if all == nil || slices.Contains(all, nil) {
		return nil, storage.Permanent(errors.New("the answer holds a result or a series that is null"))
	}
	if len(all) > maxSeries {
		return nil, storage.Permanent(fmt.Errorf("the answer holds %d series, more than %d", len(all), maxSeries))
	}
	return all, nil
}

func unexpected(err error) error {
	return storage.Permanent(fmt.Errorf("the answer is not what was expected there: %w", err))
}

// number returns nil for a value that is not finite, such as 0/0 or rate() of too few samples.
func number(v model.SampleValue) *float64 {
	f := float64(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// plausible reports whether a time is after 1970 and has a form in RFC 3339.
func plausible(t model.Time) bool { return t > 0 && t < 253402300799000 }
