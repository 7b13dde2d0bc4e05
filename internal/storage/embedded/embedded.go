package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	// timeout bounds one request: the server answers from memory.
	timeout = 3 * time.Second
	// maxBodyBytes is far above the document of a server with a hundred addresses.
	maxBodyBytes = 1 << 20
)

// Source reads one embedded server.
type Source struct {
	url    string
	host   string
	client *http.Client
}

// New returns the source of a server whose counters are at base, such as
// "http://10.0.0.7:8080". Nothing is asked yet.
func New(base string) (*Source, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, storage.Permanent(fmt.Errorf("counter address %q: %w", base, err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, storage.Permanent(fmt.Errorf("counter address %q: must look like http://host:port", base))
	}
	client := &http.Client{
		Timeout: timeout,
		// A proxy or a redirect would be somebody else's counters.
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Source{url: u.JoinPath("counters").String(), host: u.Host, client: client}, nil
}

// Name says which server this is.
func (s *Source) Name() string { return "embedded server " + s.host }

// Sample asks the server. Time is the server's; the epoch is its start.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	doc, err := s.fetch(ctx)
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("read counters of %s: %w", s.Name(), err)
	}
	return snapshot(doc), nil
}

func (s *Source) fetch(ctx context.Context) (*counters.Document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, storage.Permanent(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // everything wanted was read
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("the server answers %s", resp.Status)
		if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
			return nil, storage.Permanent(err)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	return decode(body)
}

func decode(body []byte) (*counters.Document, error) {
	if len(body) > maxBodyBytes {
		return nil, storage.Permanent(fmt.Errorf("the answer is longer than %d bytes", maxBodyBytes))
	}
	var doc counters.Document
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, storage.Permanent(fmt.Errorf("the answer is no counter document: %w", err))
	}
	if doc.Version != counters.DocumentVersion {
		return nil, storage.Permanent(fmt.Errorf("the counter document has version %d, this program reads version %d",
			doc.Version, counters.DocumentVersion))
	}
	if doc.Time.IsZero() || doc.StartTime.IsZero() {
		return nil, storage.Permanent(fmt.Errorf("the counter document has no time"))
	}
	return &doc, nil
}

func snapshot(doc *counters.Document) storage.Snapshot {
	node := storage.Node{Name: doc.Name, CPUSeconds: doc.CPUSeconds}
	if doc.Cores > 0 {
		node.Cores = &doc.Cores
	}
	s := storage.Snapshot{
		Time: doc.Time, Epoch: doc.StartTime.UTC().Format(time.RFC3339Nano),
		Nodes: []storage.Node{node}, Total: counts(doc.Total),
	}
	for _, l := range doc.Listeners {
		s.Paths = append(s.Paths, storage.PathCounters{Address: l.Address, Counters: counts(l.Counts)})
	}
	slices.SortFunc(s.Paths, func(a, b storage.PathCounters) int { return cmp.Compare(a.Address, b.Address) })
	return s
}

func counts(c counters.Counts) storage.Counters {
	return storage.Counters{
		ReadOps: &c.ReadOps, WriteOps: &c.WriteOps, OtherOps: &c.OtherOps,
		ReadBytes: &c.ReadBytes, WrittenBytes: &c.WrittenBytes,
	}
}
