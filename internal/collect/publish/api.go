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
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ServiceAccountDir is where Kubernetes mounts token and CA of a pod's
// ServiceAccount.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	attemptTimeout = 10 * time.Second
	firstWait      = 200 * time.Millisecond
	longestWait    = 5 * time.Second
	// longestRetryAfter bounds what a server may ask for.
	longestRetryAfter = 30 * time.Second
	maxErrorBytes     = 64 << 10
)

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
		return nil, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: a ConfigMap can only be reached from a pod")
	}
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the CA of the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA of the API server in %q holds no certificate", filepath.Join(dir, "ca.crt"))
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: attemptTimeout,
		MaxIdleConns:        2,
		IdleConnTimeout:     time.Minute,
		// HTTP/1.1: a dead HTTP/2 connection is only noticed by pings.
		Protocols: http1(),
	}
	return &API{
		base:      "https://" + net.JoinHostPort(host, port),
		tokenFile: filepath.Join(dir, "token"),
		client:    &http.Client{Transport: transport, CheckRedirect: refuseRedirect},
		now:       now,
		firstWait: firstWait,
	}, nil
}

func http1() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	return p
}

// refuseRedirect keeps the token from going elsewhere.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// once makes one attempt. The caller closes the body.
func (a *API) once(ctx context.Context, method, path string, header http.Header, body []byte) (io.ReadCloser, error) {
	token, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the ServiceAccount's token: %w", err)
	}
	// The timeout covers the reading of the body too, which ends at Close.
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, permanentError{err}
	}
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("User-Agent", fieldManager)
	asked := a.now()
	response, err := a.client.Do(request)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the API server does not answer: %w", err)
	}
	a.clock.learn(response.Header, asked, a.now().Sub(asked))
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		defer cancel()
		defer response.Body.Close() //nolint:errcheck // it was read
		return nil, a.readStatus(response)
	}
	return cancelOnClose{ReadCloser: response.Body, cancel: cancel}, nil
}

type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c cancelOnClose) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// statusError is an answer of the API server that is not a success.
type statusError struct {
	code       int
	message    string // the server's own
	retryAfter time.Duration
}

func (e statusError) Error() string {
	text := fmt.Sprintf("the API server answers %d %s", e.code, http.StatusText(e.code))
	if advice := advice(e.code); advice != "" {
		text += ": " + advice
	}
	if e.message != "" {
		text += " (" + e.message + ")"
	}
	return text
}

func advice(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return "the ServiceAccount's token is not valid, or not valid any more"
	case http.StatusForbidden:
		return "the Role must allow get and patch on this one ConfigMap"
	case http.StatusNotFound:
		return "the ConfigMap is gone, the benchmark was probably deleted"
	case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return "the results do not fit the ConfigMap, use fewer repetitions or clients"
	default:
		return ""
	}
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
	if seconds, err := strconv.Atoi(word); err == nil {
		return bounded(time.Duration(min(max(seconds, 0), 3600)) * time.Second)
	}
	if at, err := http.ParseTime(word); err == nil {
		return bounded(at.Sub(a.now()))
	}
	return 0
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), longestRetryAfter) }

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

// sleep reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
