package ontap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// The endpoints that are asked.
const (
	apiCluster       = "/api/cluster"
	apiNodes         = "/api/cluster/nodes"
	apiJobs          = "/api/cluster/jobs"
	apiLIFs          = "/api/network/ip/interfaces"
	apiVolumes       = "/api/storage/volumes"
	apiAggregates    = "/api/storage/aggregates"
	apiQoS           = "/api/storage/qos/policies"
	apiNFS           = "/api/protocols/nfs"
	apiClients       = apiNFS + "/connected-clients"
	apiServices      = apiNFS + "/services"
	apiExportPolicy  = apiNFS + "/export-policies"
	fieldVolumeNodes = "nodes.name" // newer than 9.11
)

const (
	// perSecond is what a sample each second needs, three times over.
	perSecond = 20
	// pollEvery is how often a move is looked at.
	pollEvery = 2 * time.Second
	// ownersFor is how long it is believed which node owns an aggregate: a takeover
	// changes it without changing the volume.
	ownersFor = 30 * time.Second
)

// Source is one volume of one SVM. It implements storage.Mover, and may be used by
// several goroutines at once.
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

// known is what one sample learned for the next ones.
type known struct {
	uuid string // of the volume; empty = not looked up yet
	svm  string // of the volume
	// owners maps aggregates to the nodes that own them now.
	owners    map[string]string
	ownersAt  time.Time
	clientsAt time.Time // when clients were asked for
	// refused holds what need not be asked again, endpoints and fields, and until when,
	// for the credentials of this generation.
	refused    map[string]time.Time
	generation int
}

// New returns the source of src, which names the management address and may name SVM and
// volume. Nothing is asked yet. If the credentials were read from a mounted Secret they are
// read again when ONTAP refuses them. An error is permanent.
func New(src runfile.Source, cred rest.Credentials, now func() time.Time) (*Source, error) {
	if cred.Username == "" || cred.Password == "" {
		return nil, storage.Permanent(errors.New("ONTAP needs the keys username and password in the Secret of " +
			"storage.array.ontap.credentialsSecretRef"))
	}
	s := &Source{src: src, session: newSession(cred, now), now: now, poll: pollEvery}
	client, err := rest.New(rest.Config{
		BaseURL: src.URL, CABundle: src.CABundle, InsecureSkipVerify: src.InsecureSkipVerify,
		Authorize: s.session.authorize, Renew: s.session.renew, Redact: s.session.redact,
		PerSecond: perSecond, Now: now,
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

// Name says which SVM of which array this is.
func (s *Source) Name() string { return s.name }

// Close ends idle connections. ONTAP keeps no sessions.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// isRefused reports whether path or field need not be asked now.
func (s *Source) isRefused(what string) bool {
	generation, now := s.session.generation(), s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	until, is := s.known.refused[what]
	return s.known.generation == generation && is && (until.IsZero() || now.Before(until))
}

// refuse remembers that what was refused with status. A role does not change by itself, but
// what else is wrong with a request may be wrong with the array.
func (s *Source) refuse(what string, status int) {
	generation := s.session.generation()
	until := time.Time{}
	if status != http.StatusForbidden {
		until = s.now().Add(refusedFor)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.generation != generation || s.known.refused == nil {
		s.known.refused, s.known.generation = map[string]time.Time{}, generation
	}
	s.known.refused[what] = until
}

// optional calls f unless it is known that what is refused. An answer that says that it
// always will be is remembered and is no error.
func (s *Source) optional(ctx context.Context, what string, f func(context.Context) error) error {
	if s.isRefused(what) {
		return nil
	}
	err := f(ctx)
	if status, ok := errors.AsType[*rest.StatusError](err); ok && storage.IsPermanent(err) &&
		status.Status != http.StatusUnauthorized {
		s.refuse(what, status.Status)
		return nil
	}
	return err
}

// hasStatus reports whether err is an answer with that status.
func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*rest.StatusError](err)
	return ok && e.Status == status
}

// fields makes the value of the parameter of that name: no blanks are allowed in it.
func fields(names ...string) []string { return []string{strings.Join(names, ",")} }
