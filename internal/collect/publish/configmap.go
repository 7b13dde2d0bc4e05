package publish

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ServiceAccountDir is where Kubernetes mounts token and CA of a pod's
// ServiceAccount.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	// maxReplyBytes is more than the JSON of the largest ConfigMap.
	maxReplyBytes = 4 << 20
	fieldManager  = "nfsbench-collector"
	// metadataOnly asks the API server not to send the results back.
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"

	attemptTimeout = 10 * time.Second
	firstWait      = 200 * time.Millisecond
	longestWait    = 5 * time.Second
	// longestRetryAfter bounds what a server may ask for.
	longestRetryAfter = 30 * time.Second
	maxErrorBytes     = 64 << 10
)

// ConfigMap publishes into one ConfigMap that exists already, through the API
// server and with retries. Its Role must allow get and patch on that object.
type ConfigMap struct {
	api             *API
	namespace, name string
	index           int32
	log             *slog.Logger
}

var _ Publisher = (*ConfigMap)(nil)

// NewConfigMap returns a Publisher for one client's keys of a ConfigMap.
func NewConfigMap(api *API, namespace, name string, index int32, log *slog.Logger) *ConfigMap {
	return &ConfigMap{api: api, namespace: namespace, name: name, index: index, log: log}
}

// mergePatch is an RFC 7386 patch: keys of other clients stay as they are.
type mergePatch struct {
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

// Publish patches the keys of this client. It tries again until ctx ends, or
// until an error that trying again can not cure.
func (c *ConfigMap) Publish(ctx context.Context, update Update) error {
	patch := mergePatch{}
	if update.Progress != nil {
		raw, err := encodeProgress(update.Progress)
		if err != nil {
			return err
		}
		patch.Data = map[string]string{runfile.ProgressKey(c.index): string(raw)}
	}
	if update.Result != nil {
		patch.BinaryData = map[string][]byte{runfile.ResultKey(c.index): update.Result}
	}
	return c.patch(ctx, patch)
}

// Put replaces one key of the ConfigMap, whoever wrote it before. It tries again
// as Publish does.
func (c *ConfigMap) Put(ctx context.Context, key, text string) error {
	return c.patch(ctx, mergePatch{Data: map[string]string{key: text}})
}

func (c *ConfigMap) patch(ctx context.Context, patch mergePatch) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return permanentError{fmt.Errorf("encode patch: %w", err)}
	}
	header := http.Header{"Content-Type": {"application/merge-patch+json"}, "Accept": {metadataOnly}}
	_, err = c.do(ctx, http.MethodPatch, c.path()+"?fieldManager="+fieldManager, header, body)
	if err != nil {
		return fmt.Errorf("publish to ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	return nil
}

// Released looks for the key with which the controller starts all clients.
func (c *ConfigMap) Released(ctx context.Context) (bool, error) {
	var object struct {
		Data map[string]string `json:"data"`
	}
	reply, err := c.do(ctx, http.MethodGet, c.path(), http.Header{"Accept": {"application/json"}}, nil)
	if err == nil {
		err = json.Unmarshal(reply, &object)
	}
	if err != nil {
		return false, fmt.Errorf("read ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	_, released := object.Data[runfile.KeyRelease]
	return released, nil
}

func (c *ConfigMap) path() string {
	return "/api/v1/namespaces/" + url.PathEscape(c.namespace) + "/configmaps/" + url.PathEscape(c.name)
}

// do repeats a request until it succeeds, can not succeed, or ctx ends. The
// error then is that of the last attempt, which says more than "deadline".
func (c *ConfigMap) do(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	var last error
	for attempt := 0; ; attempt++ {
		reply, err := c.api.once(ctx, method, path, header, body)
		if err == nil {
			return reply, nil
		}
		if IsPermanent(err) {
			return nil, err
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		wait := c.api.backoff(attempt, err)
		c.log.DebugContext(ctx, "API server does not take a request, trying again",
			slog.Any("error", err), slog.Duration("wait", wait))
		if course.Wait(ctx, wait) != nil {
			return nil, last
		}
	}
}

// API is a connection to the API server with the rights of a ServiceAccount.
type API struct {
	base      string // https://host:port
	tokenFile string // read for every request: the kubelet replaces the token
	client    *http.Client
	now       func() time.Time
	firstWait time.Duration
	clock     serverClock
}

// InCluster returns the API server that the environment names, with the
// credentials in dir (ServiceAccountDir in a pod).
func InCluster(getenv func(string) string, dir string, now func() time.Time) (*API, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: a ConfigMap can only be " +
			"reached from a pod")
	}
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the CA of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA of the API server in %q holds no certificate", filepath.Join(dir, "ca.crt"))
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: attemptTimeout,
		MaxIdleConns:        2,
		IdleConnTimeout:     time.Minute,
		// HTTP/1.1: a dead HTTP/2 connection is only noticed by pings.
		Protocols: protocols,
	}
	return &API{
		base:      "https://" + net.JoinHostPort(host, port),
		tokenFile: filepath.Join(dir, "token"),
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the token goes nowhere else
		}},
		now:       now,
		firstWait: firstWait,
	}, nil
}

// once makes one attempt. An answer that breaks off is returned as far as it came: a
// patch was taken then, and who wants the object sees that it is not whole.
func (a *API) once(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	token, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the ServiceAccount's token: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, permanentError{err}
	}
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("User-Agent", fieldManager)
	asked := a.now()
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the API server does not answer: %w", err)
	}
	a.clock.learn(response.Header, asked, a.now().Sub(asked))
	defer response.Body.Close() //nolint:errcheck // what matters was read
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		return nil, a.readStatus(response)
	}
	reply, _ := io.ReadAll(io.LimitReader(response.Body, maxReplyBytes)) // see above
	return reply, nil
}

// statusError is an answer of the API server that is not a success.
type statusError struct {
	code       int
	message    string // the server's own
	retryAfter time.Duration
}

func (e statusError) Error() string {
	text := fmt.Sprintf("the API server answers %d %s", e.code, http.StatusText(e.code))
	switch e.code {
	case http.StatusUnauthorized:
		text += ": the ServiceAccount's token is not valid, or not valid any more"
	case http.StatusForbidden:
		text += ": the Role must allow get and patch on this one ConfigMap"
	case http.StatusNotFound:
		text += ": the ConfigMap is gone, the benchmark was probably deleted"
	case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		text += ": the results do not fit the ConfigMap, use fewer repetitions or clients"
	}
	if e.message != "" {
		text += " (" + e.message + ")"
	}
	return text
}

// readStatus reads the answer. What a client did wrong stays wrong, but 401
// may be a token that was just replaced.
func (a *API) readStatus(response *http.Response) error {
	var status struct {
		Message string `json:"message"`
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err != nil || json.Unmarshal(raw, &status) != nil {
		status.Message = "" // a proxy's page tells nothing
	}
	e := statusError{code: response.StatusCode, message: status.Message, retryAfter: a.retryAfter(response.Header)}
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusRequestTimeout,
		code == http.StatusConflict, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		return e
	default:
		return permanentError{e}
	}
}

// retryAfter reads the header in both its forms, seconds and a date.
func (a *API) retryAfter(header http.Header) time.Duration {
	word := header.Get("Retry-After")
	var wait time.Duration
	if seconds, err := strconv.Atoi(word); err == nil {
		wait = time.Duration(min(max(seconds, 0), 3600)) * time.Second
	} else if at, err := http.ParseTime(word); err == nil {
		wait = at.Sub(a.now())
	}
	return min(max(wait, 0), longestRetryAfter)
}

// backoff doubles with each attempt and scatters by half, so that many clients
// do not come back at the same moment. A longer Retry-After wins.
func (a *API) backoff(attempt int, err error) time.Duration {
	wait := longestWait
	if attempt < 16 {
		wait = min(a.firstWait<<attempt, longestWait)
	}
	wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // scatter needs no secrecy
	if status, ok := errors.AsType[statusError](err); ok {
		wait = max(wait, status.retryAfter)
	}
	return wait
}

// dateStep is what the Date of an answer leaves out: it has whole seconds.
const dateStep = time.Second

// serverClock learns from the answers of the API server how far its clock is
// ahead of ours. It is safe for several goroutines.
type serverClock struct {
	mu    sync.Mutex
	known bool
	took  time.Duration // of the question whose answer was used: the shorter, the surer
	ahead time.Duration
}

// learn takes in one answer to a question that was asked at that time and took
// so long.
func (c *serverClock) learn(answer http.Header, asked time.Time, took time.Duration) {
	date, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		return // a proxy that leaves it out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && took > c.took {
		return
	}
	// Between clocks only wall times can be compared.
	c.known, c.took = true, took
	c.ahead = date.Add(dateStep / 2).Sub(asked.Add(took / 2).Round(0))
}

// ClockOffset is how far the clock of the API server is ahead of this client's,
// to about a second, and false while that is not known.
func (c *ConfigMap) ClockOffset() (time.Duration, bool) {
	clock := &c.api.clock
	clock.mu.Lock()
	defer clock.mu.Unlock()
	return clock.ahead, clock.known
}
