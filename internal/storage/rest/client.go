// Package rest is HTTP as all of nfsbench speaks it, to storage, to Prometheus and to the API server: credentials,
// verified certificates, retries, a rate limit, and bounds on time and size.
//
// A Client belongs to one host. It follows no redirect, uses no proxy and bounds what it
// reads, so that what comes back is what that host said. A request that changes nothing is
// repeated with growing, jittered pauses when the host was not there or was busy; the
// context bounds it all. No error of this package holds a credential, a header or a query.
package rest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	defaultPerSecond = 20
	defaultTimeout   = 20 * time.Second // above the 15 s after which ONTAP ends a collection by itself
	defaultPause     = 250 * time.Millisecond
	defaultAttempts  = 4
	defaultBodyBytes = 16 << 20
	maxPause         = 5 * time.Second
	// maxRetryAfter is how long a server may ask us to wait before we give up instead.
	maxRetryAfter = 30 * time.Second
	// maxConnections are enough for the requests of one sample at once.
	maxConnections = 4
)

// Config describes one host.
type Config struct {
	// BaseURL is where the paths of requests begin: https://host[:port][/prefix].
	BaseURL string
	// AllowPlain allows http:// in BaseURL, which sends credentials readable.
	AllowPlain bool
	// CABundle holds the PEM certificates to trust; empty = those of the system.
	CABundle string
	// InsecureSkipVerify takes any certificate.
	InsecureSkipVerify bool
	// Authorize adds credentials, and what else the host wants, to the header of a request; nil = nothing. It is
	// called for each attempt, perhaps at once from several goroutines.
	Authorize func(*http.Request) error
	// Renew is asked for new credentials after a 401 and tells whether there are any: the
	// request is then sent once more. nil = there never are. Requests made with the context
	// that Renew gets are not renewed themselves. It may be called from several goroutines.
	Renew func(context.Context) (bool, error)
	// Redact removes secrets from what the server reports about an error; nil = nothing to remove.
	Redact func(string) string
	// Repeat tells after which statuses a request is sent again. It is for hosts that take any request twice
	// without harm: with it every method is repeated, until the context ends if nobody answers, and a longer
	// Retry-After is cut to 30 s. nil = after 429, 502, 503 and 504, and not POST and PATCH.
	Repeat func(status int) bool
	// Notify is told why an attempt is repeated, and after which pause; nil = nobody wants to know.
	Notify func(err error, pause time.Duration)
	// PerSecond limits the requests, in bursts of at most as many; 0 = 20.
	PerSecond float64
	// Timeout of one attempt; 0 = 20 s.
	Timeout time.Duration
	// Attempts is how often a request is sent at most; 0 = 4, or without end if there is Repeat.
	Attempts uint
	// Pause before the second attempt; it doubles for each further one up to 5 s, with jitter. 0 = 250 ms.
	Pause time.Duration
	// MaxBodyBytes bounds an answer; 0 = 16 MiB.
	MaxBodyBytes int64
	// Now is the clock that ClockAhead and the date of a Retry-After are compared with. Without it
	// (nil), do not call ClockAhead; the client ignores such a date.
	Now func() time.Time
}

// Client talks to one host. It may be used by several goroutines at once.
type Client struct {
	cfg     Config
	base    string
	host    string
	http    *http.Client
	limiter *rate.Limiter

	mu    sync.Mutex
	known bool          // the clock of the host
	took  time.Duration // of the question whose answer told it: the shorter, the surer
	ahead time.Duration
}

// New makes a client. Nothing is asked yet; an error is permanent.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil: // the error would repeat the URL, which may hold a password
		return nil, storage.Permanent(fmt.Errorf("the address of the array is no URL: it must look like https://host"))
	case u.User != nil:
		return nil, storage.Permanent(fmt.Errorf("the address of the array holds a user name: credentials belong into a " +
			"Secret"))
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, storage.Permanent(fmt.Errorf("the address of the array %q must look like https://host", u.Redacted()))
	case u.Scheme == "http" && !cfg.AllowPlain:
		return nil, storage.Permanent(fmt.Errorf("the address of the array %q must begin with https://", cfg.BaseURL))
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: cfg.InsecureSkipVerify} //nolint:gosec // only if the user says so
	if cfg.CABundle != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(cfg.CABundle)) {
			return nil, storage.Permanent(fmt.Errorf("tls.caBundle of storage.array holds no PEM certificate"))
		}
	}
	cfg.PerSecond = cmp.Or(max(cfg.PerSecond, 0), defaultPerSecond)
	cfg.Timeout = cmp.Or(max(cfg.Timeout, 0), defaultTimeout)
	cfg.Pause = cmp.Or(max(cfg.Pause, 0), defaultPause)
	cfg.MaxBodyBytes = cmp.Or(cfg.MaxBodyBytes, defaultBodyBytes)
	if cfg.Repeat == nil {
		cfg.Attempts = cmp.Or(cfg.Attempts, defaultAttempts)
	}
	if cfg.Redact == nil {
		cfg.Redact = func(s string) string { return s }
	}
	if cfg.Authorize == nil {
		cfg.Authorize = func(*http.Request) error { return nil }
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Time{} }
	}
	return &Client{
		cfg: cfg, base: strings.TrimSuffix(cfg.BaseURL, "/"), host: u.Host,
		http: &http.Client{
			// No Proxy: what a proxy sees are credentials. No redirects: they would go elsewhere. HTTP/1.1, as always
			// with a TLS configuration of one's own: a dead HTTP/2 connection is only noticed by pings.
			Transport: &http.Transport{
				TLSClientConfig: trust, TLSHandshakeTimeout: cfg.Timeout,
				MaxIdleConns: maxConnections, MaxIdleConnsPerHost: maxConnections, MaxConnsPerHost: maxConnections,
				IdleConnTimeout: 2 * time.Minute,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		limiter: rate.NewLimiter(rate.Limit(cfg.PerSecond), max(1, int(math.Ceil(cfg.PerSecond)))),
	}, nil
}

// Host is the host and port of the base URL.
func (c *Client) Host() string { return c.host }

// Close ends idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// renewing marks the context of requests that themselves are part of a login.
type renewing struct{}

// WithoutRenewal returns the context of requests that Config.Renew is not asked for.
func WithoutRenewal(ctx context.Context) context.Context {
	return context.WithValue(ctx, renewing{}, true)
}

// Get reads path, which begins with a slash below the base URL, to into (nil = the answer is
// not looked at) and returns the header of the answer.
func (c *Client) Get(ctx context.Context, path string, q url.Values, into any) (http.Header, error) {
	return c.Do(ctx, http.MethodGet, path, q, nil, into)
}

// Do sends body as JSON (nil = none) and reads the answer, of any 2xx status, into into: as it is into a *[]byte, into
// everything else as JSON. If into has a method Lacks that names a field, the answer is a *StatusError: an error may
// come with any status. It is permanent if the host does not say what is wrong. An error names method, host and path,
// and is or wraps a *StatusError if there was an answer; storage.IsPermanent tells whether asking again is useless.
// Only requests that may be repeated without harm are repeated: not POST and PATCH, but see Config.Repeat. q is added
// to a query that path has already.
func (c *Client) Do(ctx context.Context, method, path string, q url.Values, body, into any) (http.Header, error) {
	what := method + " " + c.host + strings.SplitN(path, "?", 2)[0]
	target, err := c.target(path, q)
	if err != nil {
		return nil, storage.Permanent(fmt.Errorf("%s %s: %w", method, c.host, err))
	}
	r := request{method: method, url: target}
	if body != nil {
		if r.body, err = json.Marshal(body); err != nil {
			return nil, storage.Permanent(fmt.Errorf("%s: the request is not JSON: %w", what, err))
		}
	}
	a, err := c.repeated(ctx, r)
	if c.renew(ctx, err) {
		a, err = c.repeated(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = a.body
		return a.header, nil
	}
	if into == nil || len(a.body) == 0 && a.status == http.StatusNoContent {
		return a.header, nil
	}
	if n := runfile.ElementsOf(a.body); n > maxElements {
		return nil, storage.Permanent(fmt.Errorf("%s: the answer holds %d list elements, more than %d", what, n, maxElements))
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return nil, storage.Permanent(fmt.Errorf("%s: the answer is not what was expected there: %w", what, err))
	}
	if doc, ok := into.(interface{ Lacks() string }); ok && doc.Lacks() != "" {
		return nil, fmt.Errorf("%s: %w", what, c.incomplete(a, doc.Lacks()))
	}
	return a.header, nil
}

// incomplete is the error of an answer that lacks something.
func (c *Client) incomplete(a answer, lacks string) error {
	e := statusError(a.status, a.body, c.cfg.Redact)
	explained := e.Code != "" || e.Message != ""
	e.Message = strings.TrimPrefix(e.Message+": ", ": ") + "it does not have the whole of " + lacks
	if explained {
		return e
	}
	return storage.Permanent(e)
}

// maxElements bounds the lists of an answer, at all depths: two bytes of it can make a struct
// of 344 bytes. A sample of Prometheus has three.
const maxElements = 500_000

type request struct {
	method, url string
	body        []byte
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (c *Client) target(path string, q url.Values) (string, error) {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "", fmt.Errorf("the path of a request must begin with one slash")
	}
	u, err := url.Parse(c.base + path)
	if err != nil { // a path cannot name another host: the slash ends the host
		return "", fmt.Errorf("the path of a request is not valid")
	}
	if len(q) > 0 {
		all := u.Query()
		for k, v := range q {
			all[k] = append(all[k], v...)
		}
		// ONTAP wants commas in lists of fields as they are.
		u.RawQuery = strings.ReplaceAll(all.Encode(), "%2C", ",")
	}
	return u.String(), nil
}

// renew reports whether there are new credentials after err.
func (c *Client) renew(ctx context.Context, err error) bool {
	status, answered := errors.AsType[*StatusError](err)
	if !answered || status.Status != http.StatusUnauthorized || c.cfg.Renew == nil || ctx.Value(renewing{}) != nil {
		return false
	}
	// Why there are none matters less than what they were wanted for.
	renewed, err := c.cfg.Renew(WithoutRenewal(ctx))
	return renewed && err == nil
}

// repeated sends r until there is an answer, in the measure in which that is allowed.
func (c *Client) repeated(ctx context.Context, r request) (answer, error) {
	var last, cause error
	a, err := backoff.Retry(ctx, func() (answer, error) {
		a, err := c.once(ctx, r)
		if err == nil {
			return a, nil
		}
		// What was answered says more than that time was up during or before the next try.
		if errors.Is(err, errTooLate) {
			cause = errTooLate
		}
		if last == nil || cause == nil && ctx.Err() == nil {
			last = err
		}
		return a, c.verdict(ctx, r.method, err)
	}, backoff.WithMaxTries(c.cfg.Attempts), backoff.WithMaxElapsedTime(0), backoff.WithNotify(c.cfg.Notify),
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: c.cfg.Pause, MaxInterval: maxPause, Multiplier: 2, RandomizationFactor: 0.5,
		}))
	if err == nil {
		return a, nil
	}
	if cause == nil {
		cause = ctx.Err()
	}
	if cause != nil && !errors.Is(last, cause) {
		return a, fmt.Errorf("%w: %w", cause, last)
	}
	return a, last
}

// verdict wraps err so that the library of the loop understands whether and when to go on.
func (c *Client) verdict(ctx context.Context, method string, err error) error {
	status, answered := errors.AsType[*StatusError](err)
	again := !storage.IsPermanent(err)
	if c.cfg.Repeat == nil {
		again = again && method != http.MethodPost && method != http.MethodPatch
	}
	if c.cfg.Repeat == nil && answered {
		busy := []int{
			http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}
		again = again && slices.Contains(busy, status.Status) && status.retryAfter <= maxRetryAfter
	}
	switch {
	case ctx.Err() != nil, !again:
		return backoff.Permanent(err)
	case answered && status.retryAfter > 0:
		return &backoff.RetryAfterError{Duration: min(status.retryAfter, maxRetryAfter)}
	}
	return err
}

// errTooLate says that the turn of a request comes after its deadline.
var errTooLate = fmt.Errorf("its turn comes too late: %w", context.DeadlineExceeded)

// once sends r one time.
func (c *Client) once(ctx context.Context, r request) (answer, error) {
	if err := c.limiter.Wait(ctx); err != nil {
		if ctx.Err() == nil { // it would be too late when our turn comes
			err = errTooLate
		}
		return answer{}, fmt.Errorf("wait for the limit of %g requests/s: %w", c.cfg.PerSecond, err)
	}
	attempt, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(attempt, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, storage.Permanent(errors.New("the request cannot be made"))
	}
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.cfg.Authorize(req); err != nil {
		return answer{}, err
	}
	asked := c.cfg.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, c.transportError(err)
	}
	defer resp.Body.Close() //nolint:errcheck // everything wanted was read
	c.learn(resp.Header, asked, c.cfg.Now().Sub(asked))
	if err := attempt.Err(); err != nil {
		// A server that sees the connection close ends its work and answers with
		// nothing, which may still arrive here.
		return answer{}, c.transportError(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.cfg.MaxBodyBytes+1))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", c.transportError(err))
	}
	if int64(len(body)) > c.cfg.MaxBodyBytes {
		return answer{}, storage.Permanent(fmt.Errorf("the answer is longer than %d MiB", c.cfg.MaxBodyBytes>>20))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := statusError(resp.StatusCode, body, c.cfg.Redact)
		e.retryAfter = c.retryAfter(resp.Header.Get("Retry-After"))
		if c.permanent(e.Status) {
			return answer{}, storage.Permanent(e)
		}
		return answer{}, e
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// retryAfter is the time that a Retry-After header asks for, negative if it does not.
func (c *Client) retryAfter(v string) time.Duration {
	if s, err := strconv.ParseUint(v, 10, 64); err == nil {
		return time.Duration(min(s, math.MaxInt32)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(c.cfg.Now()))
	}
	return -1
}

// ClockAhead is how far the clock of the host is ahead of ours, to about half a second and half of the time that its
// quickest answer took. False: there was no answer yet, or a proxy left out the Date.
func (c *Client) ClockAhead() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.known
}

// learn takes in the Date of an answer, which is cut to seconds, to a question that was asked at that time and took so
// long.
func (c *Client) learn(header http.Header, asked time.Time, took time.Duration) {
	date, err := http.ParseTime(header.Get("Date"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && (!c.known || took <= c.took) {
		// Between clocks only wall times can be compared.
		ahead := date.Add(500 * time.Millisecond).Sub(asked.Add(took / 2).Round(0))
		c.known, c.took, c.ahead = true, took, ahead
	}
}
