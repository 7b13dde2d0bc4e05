package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	defaultPerSecond = 20
	defaultTimeout   = 20 * time.Second // above the 15 s after which ONTAP ends a collection by itself
	defaultPause     = 250 * time.Millisecond
	defaultAttempts  = 4
	maxPause         = 10 * time.Second
	// maxRetryAfter is how long a server may ask us to wait before we give up instead.
	maxRetryAfter = 30 * time.Second
	// maxConnections are enough for the requests of one sample at once.
	maxConnections = 4
	maxBodyBytes   = 16 << 20
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
	// Authorize adds credentials to a request; nil = there are none. It is called for each
	// attempt, perhaps at once from several goroutines.
	Authorize func(*http.Request)
	// Renew is asked for new credentials after a 401 and tells whether there are any: the
	// request is then sent once more. nil = there never are. Requests made with the context
	// that Renew gets are not renewed themselves. It may be called from several goroutines.
	Renew func(context.Context) (bool, error)
	// Redact removes secrets from what the server reports about an error; nil = nothing to remove.
	Redact func(string) string
	// PerSecond limits the requests, in bursts of at most as many; 0 = 20.
	PerSecond float64
	// Timeout of one attempt; 0 = 20 s.
	Timeout time.Duration
	// Attempts is how often a request is sent at most; 0 = 4.
	Attempts uint
	// Pause before the second attempt; it doubles for each further one, with jitter. 0 = 250 ms.
	Pause time.Duration
	// Now is the clock by which a Retry-After date is understood.
	Now func() time.Time
}

// Client talks to one host. It may be used by several goroutines at once.
type Client struct {
	cfg     Config
	base    string
	host    string
	http    *http.Client
	limiter *rate.Limiter
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
	setDefaults(&cfg)
	return &Client{
		cfg: cfg, base: strings.TrimSuffix(cfg.BaseURL, "/"), host: u.Host,
		http: &http.Client{
			// No Proxy: what a proxy sees are credentials. No redirects: they would go elsewhere.
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

func setDefaults(cfg *Config) {
	if cfg.PerSecond <= 0 {
		cfg.PerSecond = defaultPerSecond
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Attempts == 0 {
		cfg.Attempts = defaultAttempts
	}
	if cfg.Pause <= 0 {
		cfg.Pause = defaultPause
	}
	if cfg.Redact == nil {
		cfg.Redact = func(s string) string { return s }
	}
	if cfg.Authorize == nil {
		cfg.Authorize = func(*http.Request) {}
	}
}

// Host is the host and port of the base URL.
func (c *Client) Host() string { return c.host }

// Close ends idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }
