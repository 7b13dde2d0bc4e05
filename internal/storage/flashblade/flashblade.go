// Package flashblade reads a Pure FlashBlade over REST 2.x with an API token of the role readonly.
//
// The array reports means of every second instead of counters (REST 2.x performance endpoints, resolution
// 1000 ms). Each sample reads all seconds since the sample before, so that none is missed, and integrates
// them; see package integrate for the precision. The array publishes a second only after its end: counters
// are a second or two old, and their time is the time of the array.
//
// This API reports no CPU, and traffic by connector instead of by address: nodes and paths are unknown. Every
// VIP serves every file system, so no VIP is wrong.
package flashblade

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	resolution = time.Second
	// bridge is the longest time that one reading may cover: the seconds of a failed blade are lost.
	bridge = 30 * time.Second
	// overlap is read again, in case the array rounds times to its resolution.
	overlap = 2 * resolution
	// maxMillis is the largest time that the array accepts, in the year 9999.
	maxMillis = 253402300799000
)

// Source reads one file system of a FlashBlade, or all its NFS traffic. It is a storage.Surveyor.
type Source struct {
	src     runfile.Source
	name    string
	client  *rest.Client
	session *session
	rates   *integrate.Integrator
	now     func() time.Time
}

// New returns the source of src, which names the management address and the file system as its Volume;
// without a Volume, samples cover all NFS traffic. New sends no request. If the token comes from a mounted
// Secret, the source reads it again when the array refuses it. An error is permanent.
func New(src runfile.Source, cred rest.Credentials, now func() time.Time) (*Source, error) {
	if cred.Token == "" {
		return nil, storage.Permanent(errors.New("a FlashBlade needs the key token, an API token, in the Secret of " +
			"storage.array.flashBlade.credentialsSecretRef"))
	}
	s := &Source{src: src, session: newSession(cred), rates: integrate.New(now(), bridge), now: now}
	client, err := rest.New(rest.Config{
		BaseURL: src.URL, CABundle: src.CABundle, InsecureSkipVerify: src.InsecureSkipVerify,
		Authorize: s.session.authorize, Renew: s.renew, Redact: s.session.redact, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("FlashBlade: %w", err)
	}
	s.client = client
	s.name = "FlashBlade " + client.Host()
	if src.Volume != "" {
		s.name += " file system " + src.Volume
	}
	return s, nil
}

// Name returns the name of the file system and the array.
func (s *Source) Name() string { return s.name }

// performance is one second of NFS. Times are milliseconds since 1970.
type performance struct {
	Time             *int64   `json:"time"`
	ReadsPerSec      *float64 `json:"reads_per_sec"`
	WritesPerSec     *float64 `json:"writes_per_sec"`
	OthersPerSec     *float64 `json:"others_per_sec"`
	ReadBytesPerSec  *float64 `json:"read_bytes_per_sec"`
	WriteBytesPerSec *float64 `json:"write_bytes_per_sec"`
	UsecPerReadOp    *float64 `json:"usec_per_read_op"`
	UsecPerWriteOp   *float64 `json:"usec_per_write_op"`
}

// Sample reads every second since the sample before and integrates them. The time of the snapshot is the
// array's time.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	question := s.rates.Ask()
	points, err := s.performance(ctx, s.src.Volume, question.Since)
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	batch, err := batchOf(points)
	if len(batch.Total) == 0 && !question.Since.IsZero() {
		// The answer lacks even the last second of the sample before: the clock of the array went back, or it lost
		// its history.
		if points, err = s.performance(ctx, s.src.Volume, time.Time{}); err != nil {
			return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
		}
		batch, err = batchOf(points)
	}
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	if len(batch.Total) == 0 {
		return storage.Snapshot{}, fmt.Errorf("sample %s: the array tells no performance of it", s.name)
	}
	return question.Answer(batch), nil
}

// performance returns the seconds after the time since of a file system, or of all file systems without a name. If
// since is zero, it returns only the newest second.
func (s *Source) performance(ctx context.Context, fileSystem string, since time.Time) ([]performance, error) {
	path, q := "/arrays/performance", url.Values{"protocol": {"NFS"}}
	if fileSystem != "" {
		path = "/file-systems/performance"
		q.Set("names", fileSystem)
	}
	if !since.IsZero() {
		q.Set("resolution", strconv.FormatInt(resolution.Milliseconds(), 10))
		q.Set("start_time", strconv.FormatInt(since.Add(-overlap).UnixMilli(), 10))
	}
	return list[performance](ctx, s, path, q)
}

// batchOf returns an error for two different readings of one second: they describe two arrays or file
// systems, and only one of them would count.
func batchOf(points []performance) (integrate.Batch, error) {
	var b integrate.Batch
	seen := map[int64]performance{}
	for _, p := range points {
		if p.Time == nil || *p.Time <= 0 || *p.Time > maxMillis {
			continue
		}
		first, again := seen[*p.Time]
		switch {
		case again && !reflect.DeepEqual(first, p):
			return integrate.Batch{}, errors.New("the array gives two different readings of one second, so they describe " +
				"several arrays or file systems")
		case again:
			continue
		}
		seen[*p.Time] = p
		b.Total = append(b.Total, integrate.Rates{
			Time:    time.UnixMilli(*p.Time).UTC(),
			ReadOps: p.ReadsPerSec, WriteOps: p.WritesPerSec, OtherOps: p.OthersPerSec,
			ReadBytes: p.ReadBytesPerSec, WrittenBytes: p.WriteBytesPerSec,
			ReadLatency: p.UsecPerReadOp, WriteLatency: p.UsecPerWriteOp,
		})
	}
	return b, nil
}

const (
	maxPages = 200
	// maxItems bounds the items of an answer.
	maxItems = 20000
)

// page is the envelope of all collections.
type page[T any] struct {
	Items             []T     `json:"items"`
	ContinuationToken *string `json:"continuation_token"`
	Errors            []any   `json:"errors"` // with errors the items may be incomplete
}

// Lacks returns "items" if the list is missing.
func (p *page[T]) Lacks() string {
	if len(p.Errors) > 0 || p.Items == nil {
		return "items"
	}
	return ""
}

// list reads all pages of a collection.
func list[T any](ctx context.Context, s *Source, path string, q url.Values) ([]T, error) {
	ctx, base, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if q == nil {
		q = url.Values{}
	}
	var all []T
	for range maxPages {
		var p page[T]
		if _, err := s.client.Get(ctx, base+path, q, &p); err != nil {
			return nil, err
		}
		all = append(all, p.Items...)
		if len(all) > maxItems {
			break
		}
		if p.ContinuationToken == nil || *p.ContinuationToken == "" {
			return all, nil
		}
		q.Set("continuation_token", *p.ContinuationToken)
	}
	return nil, storage.Permanent(fmt.Errorf("GET %s%s: the answer does not end after %d items", s.client.Host(),
		path, len(all)))
}
