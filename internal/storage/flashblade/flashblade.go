package flashblade

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	resolution = time.Second
	// bridge is for how long one reading may stand for others: a blade that fails takes
	// its seconds with it.
	bridge = 30 * time.Second
	// overlap is asked for once more, in case the array cuts times to its resolution.
	overlap = 2 * resolution
	// maxMillis keeps times within what the array can mean, year 9999.
	maxMillis = 253402300799000
)

// Source reads one file system of a FlashBlade, or all NFS of it. It is a
// storage.Surveyor.
type Source struct {
	src     runfile.Source
	name    string
	client  *rest.Client
	session *session
	rates   *integrate.Integrator
	now     func() time.Time
}

// New returns the source of src, which names the management address and the file system as
// its Volume; without one, samples are of all NFS. Nothing is asked yet. If the token was
// read from a mounted Secret it is read again when the array refuses it. An error is
// permanent.
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

// Name says which file system of which array this is.
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

// Sample asks for every second since the sample before and integrates them. The time of the
// snapshot is the array's.
func (s *Source) Sample(ctx context.Context) (storage.Snapshot, error) {
	question := s.rates.Ask()
	points, err := s.performance(ctx, s.src.Volume, question.Since)
	if err != nil {
		return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
	}
	batch := batchOf(points)
	if len(batch.Total) == 0 && !question.Since.IsZero() {
		// Not even the second that it reported before: its clock went back, or its memory.
		if points, err = s.performance(ctx, s.src.Volume, time.Time{}); err != nil {
			return storage.Snapshot{}, fmt.Errorf("sample %s: %w", s.name, err)
		}
		batch = batchOf(points)
	}
	if len(batch.Total) == 0 {
		return storage.Snapshot{}, fmt.Errorf("sample %s: the array tells no performance of it", s.name)
	}
	return question.Answer(batch), nil
}

// performance reads the seconds of a file system, or of all if it has no name, since since;
// the newest alone if that is zero.
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

func batchOf(points []performance) integrate.Batch {
	var b integrate.Batch
	for _, p := range points {
		if p.Time == nil || *p.Time <= 0 || *p.Time > maxMillis {
			continue
		}
		b.Total = append(b.Total, integrate.Rates{
			Time:    time.UnixMilli(*p.Time).UTC(),
			ReadOps: p.ReadsPerSec, WriteOps: p.WritesPerSec, OtherOps: p.OthersPerSec,
			ReadBytes: p.ReadBytesPerSec, WrittenBytes: p.WriteBytesPerSec,
			ReadLatency: p.UsecPerReadOp, WriteLatency: p.UsecPerWriteOp,
		})
	}
	return b
}
