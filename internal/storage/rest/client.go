// Package rest is the HTTP client of nfsbench for storage, Prometheus and the API server: credentials,
// verified certificates, retries, a rate limit, and bounds on time and size.
//
// A Client belongs to one host. It follows no redirect, uses no proxy and bounds what it reads, so that every
// answer comes from that host. It repeats a request that changes nothing, with growing, jittered pauses, when
// the host was unreachable or busy; the context bounds all attempts together. No error of this package
// contains a credential, a header or a query.
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
	"net"
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
	defaultTimeout   = 20 * time.Second // above the 15 s after which ONTAP ends a collection
	defaultConnect   = 10 * time.Second // a lost first packet is sent again after 1, 3 and 7 s
	defaultPause     = 250 * time.Millisecond
	defaultAttempts  = 4
	defaultBodyBytes = 16 << 20
	maxErrorBytes    = 64 << 10 // of an answer that is no success: a message needs little of it
	maxPause         = 5 * time.Second
	// maxRetryAfter is the longest pause for which the client follows a server's Retry-After.
	maxRetryAfter = 30 * time.Second
	// maxConnections is enough for the concurrent requests of one sample.
	maxConnections = 4
)

// Config describes one host.
type Config struct {
	// BaseURL is the prefix of all paths: https://host[:port][/prefix].
	BaseURL string
	// AllowPlain allows http:// in BaseURL, which sends credentials in clear text.
	AllowPlain bool
	// CABundle holds the PEM certificates to trust; empty = the certificates of the system.
	CABundle string
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
	// Authorize adds credentials and other required fields to the header of a request; nil = nothing. It is
	// called for each attempt, perhaps concurrently.
	Authorize func(*http.Request) error
	// Renew gets new credentials after a 401 and reports whether there are any: the client then sends the
	// request once more. nil = there never are. The client does not renew credentials for requests with the
	// context that Renew gets. It may call Renew concurrently.
	Renew func(context.Context) (bool, error)
	// Redact removes secrets from a server's error message; nil = nothing to remove.
	Redact func(string) string
	// Repeat reports whether a request is repeated after a status. It is for hosts on which repeating any
	// request is harmless: with it the client repeats every method, until the context ends if there is no
	// answer, and cuts a longer Retry-After to 30 s. nil = repeat after 429, 502, 503 and 504, and not POST and
	// PATCH.
	Repeat func(status int) bool
	// Notify receives the reason for a repeated attempt and the pause before it; nil = no notification.
	Notify func(err error, pause time.Duration)
	// PerSecond limits the rate of requests, and the size of a burst; 0 = 20.
	PerSecond float64
	// Timeout bounds one attempt; 0 = 20 s.
	Timeout time.Duration
	// ConnectTimeout bounds the dialing and the TLS handshake of a connection, within Timeout; 0 = 10 s. Without
	// Repeat a request is not repeated after it: the host does not answer.
	ConnectTimeout time.Duration
	// Attempts bounds the attempts of a request; 0 = 4, or no bound with Repeat.
	Attempts uint
	// Pause before the second attempt; it doubles for each further one up to 5 s, with jitter. 0 = 250 ms.
	Pause time.Duration
	// MaxBodyBytes bounds an answer; 0 = 16 MiB.
	MaxBodyBytes int64
	// Now is the clock for ClockAhead and for the date of a Retry-After. Without it (nil), do not call
	// ClockAhead; the client ignores such a date.
	Now func() time.Time
}

// Client talks to one host. It is safe for concurrent use.
type Client struct {
	cfg     Config
	base    string
	host    string
	http    *http.Client
	limiter *rate.Limiter

	mu    sync.Mutex
	known bool          // ahead is known
	took  time.Duration // round trip of the answer that gave ahead: a shorter one is more precise
	ahead time.Duration
}

// New returns a client. It sends no request; an error is permanent.
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
	cfg.ConnectTimeout = min(cfg.Timeout, cmp.Or(max(cfg.ConnectTimeout, 0), defaultConnect))
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
	dialer := &net.Dialer{Timeout: cfg.ConnectTimeout}
	return &Client{
		cfg: cfg, base: strings.TrimSuffix(cfg.BaseURL, "/"), host: u.Host,
		http: &http.Client{
			// No Proxy, because a proxy would see credentials. No redirects, because they lead to another host.
			// HTTP/1.1, as always with own functions that dial: only pings detect a dead HTTP/2 connection.
			Transport: &http.Transport{
				DialContext:    cfg.dialing(dialer),
				DialTLSContext: cfg.dialing(&tls.Dialer{NetDialer: dialer, Config: trust}),
				MaxIdleConns:   maxConnections, MaxIdleConnsPerHost: maxConnections, MaxConnsPerHost: maxConnections,
				IdleConnTimeout: 2 * time.Minute,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		limiter: rate.NewLimiter(rate.Limit(cfg.PerSecond), max(1, int(math.Ceil(cfg.PerSecond)))),
	}, nil
}

// contextDialer is a net.Dialer, or a tls.Dialer, whose time includes the handshake.
type contextDialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// dialing returns the dial function of a transport. Its context has no deadline: the transport keeps a connection that
// comes too late for a request.
func (c Config) dialing(d contextDialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, c.connectError(address, err)
		}
		return conn, nil
	}
}

// Host returns the host and port of the base URL.
func (c *Client) Host() string { return c.host }

// Close closes idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// renewing is the context key that marks the requests of a login.
type renewing struct{}

// WithoutRenewal returns a context for requests after which the client does not call Config.Renew.
func WithoutRenewal(ctx context.Context) context.Context {
	return context.WithValue(ctx, renewing{}, true)
}

// Get reads path, which begins with a slash below the base URL, decodes it into the value into (nil = ignore the
// body), and returns the header of the answer.
func (c *Client) Get(ctx context.Context, path string, q url.Values, into any) (http.Header, error) {
	return c.Do(ctx, http.MethodGet, path, q, nil, into)
}

// Do sends body as JSON (nil = no body) and reads an answer of any 2xx status to the value into: unchanged into a
// *[]byte, as JSON into any other type. If into has a method Lacks that names a field, Do returns a
// *StatusError, because an error may come with any status; the error is permanent if the host gives no
// reason. An error names method, host and path, and is or wraps a *StatusError if there was an answer;
// storage.IsPermanent reports whether a repetition is useless. Do repeats only requests that are harmless to
// repeat: not POST and PATCH, except with Config.Repeat. It adds q to the query of path.
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

// incomplete returns the error of an incomplete answer.
func (c *Client) incomplete(a answer, lacks string) error {
	e := statusError(a.status, a.body, c.cfg.Redact)
	explained := e.Code != "" || e.Message != ""
	e.Message = strings.TrimPrefix(e.Message+": ", ": ") + "it does not have the whole of " + lacks
	if explained {
		return e
	}
	return storage.Permanent(e)
}

// maxElements bounds the lists of an answer, at all depths: two bytes of an answer can become a struct of 344
// bytes. A sample of Prometheus has three elements.
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
		// ONTAP requires unescaped commas in lists of fields.
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
	// The caller reports err, which matters more than a failed renewal.
	renewed, err := c.cfg.Renew(WithoutRenewal(ctx))
	return renewed && err == nil
}

// repeated sends r until there is an answer, as often as Config allows.
func (c *Client) repeated(ctx context.Context, r request) (answer, error) {
	var last, cause error
	a, err := backoff.Retry(ctx, func() (answer, error) {
		a, err := c.once(ctx, r)
		if err == nil {
			return a, nil
		}
		// An earlier answer explains more than the end of the time before or during the next attempt.
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

// verdict converts err for the backoff library, which then knows whether and when to repeat.
func (c *Client) verdict(ctx context.Context, method string, err error) error {
	status, answered := errors.AsType[*StatusError](err)
	again := !storage.IsPermanent(err)
	if c.cfg.Repeat == nil {
		again = again && method != http.MethodPost && method != http.MethodPatch && !isSilent(err)
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

// errTooLate means that the rate limit delays a request beyond its deadline.
var errTooLate = fmt.Errorf("its turn comes too late: %w", context.DeadlineExceeded)

// once makes one attempt.
func (c *Client) once(ctx context.Context, r request) (answer, error) {
	if err := c.limiter.Wait(ctx); err != nil {
		if ctx.Err() == nil { // the rate limit allows the request only after its deadline
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
		// A server that sees the connection close may end its work and send an empty answer, which may still arrive
		// here.
		return answer{}, c.transportError(err)
	}
	failed, most := resp.StatusCode/100 != 2, c.cfg.MaxBodyBytes
	if failed {
		most = min(most, maxErrorBytes)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", c.transportError(err))
	}
	if int64(len(body)) > most && !failed {
		return answer{}, storage.Permanent(fmt.Errorf("the answer is longer than %d MiB", most>>20))
	}
	if failed {
		e := statusError(resp.StatusCode, body, c.cfg.Redact)
		e.retryAfter = c.retryAfter(resp.Header.Get("Retry-After"))
		if c.permanent(e.Status) {
			return answer{}, storage.Permanent(e)
		}
		return answer{}, e
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// retryAfter returns the pause of a Retry-After header, negative without one.
func (c *Client) retryAfter(v string) time.Duration {
	if s, err := strconv.ParseUint(v, 10, 64); err == nil {
		return time.Duration(min(s, math.MaxInt32)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(c.cfg.Now()))
	}
	return -1
}

// ClockAhead returns how far the clock of the host is ahead of ours, to about half a second and half of the
// shortest round trip. It returns false if no answer had a Date: there was no answer yet, or a proxy removed
// it.
func (c *Client) ClockAhead() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.known
}

// learn updates the clock offset from the Date of an answer, which has whole seconds. asked is the time of
// the request, took the round trip.
func (c *Client) learn(header http.Header, asked time.Time, took time.Duration) {
	date, err := http.ParseTime(header.Get("Date"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && (!c.known || took <= c.took) {
		// Only wall times can be compared between clocks.
		ahead := date.Add(500 * time.Millisecond).Sub(asked.Add(took / 2).Round(0))
		c.known, c.took, c.ahead = true, took, ahead
	}
}
