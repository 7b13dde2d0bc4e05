// Package ontap reads NetApp ONTAP over REST: the owner of a volume, its LIFs and its NFS service before a
// run, and raw counters during the run. It also moves volumes between aggregates.
//
// # Counters
//
// A sample has the volume's own counters (operations, bytes, latencies added up), the bytes of every LIF of
// the SVM that serves NFS, and the processor counters of every node. All are raw and only grow. ONTAP updates
// them on a grid of 15 s, so that most samples taken each second repeat the one before. The time of a
// snapshot is the time of the volume's counters, on ONTAP's clock; the counters of nodes and LIFs are from
// the same 15 s, but not necessarily from the same second. Counters whose status is neither ok nor
// backfilled, and negative counters, are unknown.
//
// The bytes of a LIF have ONTAP's point of view: read bytes are those that ONTAP sent to clients. They
// include the headers of the protocol and the traffic of other volumes.
//
// # Accounts
//
// A cluster account may have all rights. An SVM account cannot see nodes and aggregates: then there is no
// processor load, and the node of the volume is known only if the volume itself reports it. After a 403,
// samples of the same source with the same credentials do not repeat the request.
package ontap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// The REST endpoints.
const (
	apiCluster       = "/api/cluster"
	apiNodes         = "/api/cluster/nodes"
	apiJobs          = "/api/cluster/jobs"
	apiLIFs          = "/api/network/ip/interfaces"
	apiVolumes       = "/api/storage/volumes"
	apiQtrees        = "/api/storage/qtrees"
	apiAggregates    = "/api/storage/aggregates"
	apiQoS           = "/api/storage/qos/policies"
	apiNFS           = "/api/protocols/nfs"
	apiClients       = apiNFS + "/connected-clients"
	apiServices      = apiNFS + "/services"
	apiExportPolicy  = apiNFS + "/export-policies"
	fieldVolumeNodes = "nodes.name" // only in releases after 9.11
)

const (
	// pollEvery is the interval for polling a move.
	pollEvery = 2 * time.Second
	// ownersFor bounds the age of the map from aggregates to nodes: a takeover changes the owner of an aggregate
	// without changing the volume.
	ownersFor = 30 * time.Second
)

// Source is one volume of one SVM. It implements storage.Mover and is safe for concurrent use.
type Source struct {
	src     runfile.Source
	name    string
	client  *rest.Client
	session *session
	now     func() time.Time
	poll    time.Duration

	mu    sync.Mutex
	known known
}

// known holds what a sample keeps for the next samples.
type known struct {
	uuid string // of the volume; empty = not looked up yet
	svm  string // of the volume
	// owners maps aggregates to the nodes that own them now.
	owners    map[string]string
	ownersAt  time.Time
	clientsAt time.Time // when clients were asked for
}

// New returns the source of src, which names the management address and may name SVM and volume. New sends no
// request. If the credentials come from a mounted Secret, the source reads them again when ONTAP refuses
// them. An error is permanent.
func New(src runfile.Source, cred rest.Credentials, now func() time.Time) (*Source, error) {
	if cred.Username == "" || cred.Password == "" {
		return nil, storage.Permanent(errors.New("ONTAP needs the keys username and password in the Secret of " +
			"storage.array.ontap.credentialsSecretRef"))
	}
	s := &Source{src: src, session: &session{cred: cred, now: now}, now: now, poll: pollEvery}
	client, err := rest.New(rest.Config{
		BaseURL: src.URL, CABundle: src.CABundle, InsecureSkipVerify: src.InsecureSkipVerify,
		Authorize: s.session.authorize, Renew: s.session.renew, Redact: s.session.redact,
		Now: now, // the default limit is three times the rate of one sample each second
	})
	if err != nil {
		return nil, fmt.Errorf("ONTAP: %w", err)
	}
	s.client = client
	s.name = "ONTAP " + client.Host()
	if src.SVM != "" {
		s.name += " SVM " + src.SVM
	}
	return s, nil
}

// Name returns the name of the SVM and the array.
func (s *Source) Name() string { return s.name }

// Close ends idle connections. ONTAP keeps no sessions.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// optional calls f unless ONTAP has refused this request. It remembers a permanent refusal and returns no
// error for it: a lack of rights for good, because a role does not change by itself, and any other refusal
// for a while, because its cause may be in the array. An incomplete list, as while a node is down, is no
// error either, and the next one may be complete.
func (s *Source) optional(ctx context.Context, what string, f func(context.Context) error) error {
	if s.session.mayNot(what) {
		return nil
	}
	err := f(ctx)
	status, answered := errors.AsType[*rest.StatusError](err)
	switch {
	case answered && status.Status == http.StatusOK:
		return nil
	case !answered || status.Status == http.StatusUnauthorized || !storage.IsPermanent(err):
		return err
	}
	s.session.forbid(what, status.Status == http.StatusForbidden)
	return nil
}

// hasStatus reports whether err is an answer with this status.
func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*rest.StatusError](err)
	return ok && e.Status == status
}

// fields returns the value of the parameter "fields", which must not contain blanks.
func fields(names ...string) []string { return []string{strings.Join(names, ",")} }

const (
	// maxPages bounds an endless collection.
	maxPages = 1000
	// maxRecords is far above the LIFs and volumes of one SVM.
	maxRecords = 100_000
)

// page is one part of a collection.
type page[T any] struct {
	Records []T   `json:"records"`
	Number  count `json:"num_records"` // ONTAP may send 0 without the empty list
	Links   struct {
		Next *struct {
			Href string `json:"href"`
		} `json:"next"`
	} `json:"_links"`
	Error any `json:"error"` // with an error the records may be incomplete
}

// Lacks returns "records" if the list is missing. A page may be empty if it links to a next page.
func (p *page[T]) Lacks() string {
	if p.Error != nil || p.Records == nil && p.Number != (count{ok: true}) && p.Links.Next == nil {
		return "records"
	}
	return ""
}

// list reads all pages of a collection. ONTAP ends a page after a time that it chooses, perhaps without any
// record: only a page without next is the last one.
func list[T any](ctx context.Context, s *Source, path string, q url.Values) ([]T, error) {
	var all []T
	for range maxPages {
		var p page[T]
		if _, err := s.client.Get(ctx, path, q, &p); err != nil {
			return nil, err
		}
		all = append(all, p.Records...)
		if p.Links.Next == nil || p.Links.Next.Href == "" {
			return all, nil
		}
		if len(all) > maxRecords {
			break
		}
		link, err := url.Parse(p.Links.Next.Href)
		if err != nil || link.Host != "" || link.Opaque != "" {
			return nil, storage.Permanent(fmt.Errorf("the link to the next page is no path on the array"))
		}
		next := link.RequestURI()
		if next == path {
			return nil, storage.Permanent(fmt.Errorf("read %s: a page names itself as the next one", apiOf(path)))
		}
		path, q = next, nil // the link holds the whole query
	}
	return nil, storage.Permanent(fmt.Errorf("read %s: the collection does not end", apiOf(path)))
}

// apiOf returns a path without its query.
func apiOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return "the collection"
	}
	return u.Path
}
