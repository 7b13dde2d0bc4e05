package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// renewing marks the context of requests that themselves are part of a login.
type renewing struct{}

// Get reads path, which begins with a slash below the base URL, to into (nil = the answer is
// not looked at) and returns the header of the answer.
func (c *Client) Get(ctx context.Context, path string, q url.Values, into any) (http.Header, error) {
	return c.Do(ctx, http.MethodGet, path, q, nil, into)
}

// Do sends body as JSON (nil = none) and reads the answer, of any 2xx status, into into. An
// error names method, host and path, and is or wraps a *StatusError if there was an answer;
// storage.IsPermanent tells whether asking again is useless. Only requests that may be
// repeated without harm are repeated: not POST and PATCH. q is added to a query that path
// has already.
func (c *Client) Do(ctx context.Context, method, path string, q url.Values, body, into any) (http.Header, error) {
	what := method + " " + c.host + strings.SplitN(path, "?", 2)[0]
	target, err := c.target(path, q)
	if err != nil {
		return nil, storage.Permanent(fmt.Errorf("%s %s: %w", method, c.host, err))
	}
	var sent []byte
	if body != nil {
		if sent, err = json.Marshal(body); err != nil {
			return nil, storage.Permanent(fmt.Errorf("%s: the request is not JSON: %w", what, err))
		}
	}
	r := request{method: method, url: target, body: sent}
	a, err := c.repeated(ctx, r)
	if c.renew(ctx, err) {
		a, err = c.repeated(ctx, r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, classified(err))
	}
	if into == nil || len(a.body) == 0 && a.status == http.StatusNoContent {
		return a.header, nil
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return nil, storage.Permanent(fmt.Errorf("%s: the answer is not what was expected there: %w", what, err))
	}
	return a.header, nil
}

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
	var status *StatusError
	if c.cfg.Renew == nil || !errors.As(err, &status) || status.Status != http.StatusUnauthorized ||
		ctx.Value(renewing{}) != nil {
		return false
	}
	// Why there are none matters less than what they were wanted for.
	renewed, err := c.cfg.Renew(context.WithValue(ctx, renewing{}, true))
	return renewed && err == nil
}

// classified marks what asking again does not cure.
func classified(err error) error {
	var status *StatusError
	if errors.As(err, &status) && status.permanent() {
		return storage.Permanent(err)
	}
	return err
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
		return a, verdict(ctx, r.method, err)
	}, backoff.WithMaxTries(c.cfg.Attempts), backoff.WithMaxElapsedTime(0),
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
func verdict(ctx context.Context, method string, err error) error {
	var status *StatusError
	answered := errors.As(err, &status)
	switch {
	case ctx.Err() != nil, method == http.MethodPost, method == http.MethodPatch, storage.IsPermanent(err),
		answered && !status.temporary(), answered && status.retryAfter > maxRetryAfter:
		return backoff.Permanent(err)
	case answered && status.retryAfter >= 0:
		return &backoff.RetryAfterError{Duration: status.retryAfter}
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
	c.cfg.Authorize(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, transportError(err)
	}
	defer resp.Body.Close() //nolint:errcheck // everything wanted was read
	if err := attempt.Err(); err != nil {
		// A server that sees the connection close ends its work and answers with
		// nothing, which may still arrive here.
		return answer{}, transportError(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes+1))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", transportError(err))
	}
	if len(body) > maxBodyBytes {
		return answer{}, storage.Permanent(fmt.Errorf("the answer is longer than %d MiB", maxBodyBytes>>20))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := statusError(resp.StatusCode, body, c.cfg.Redact)
		e.retryAfter = c.retryAfter(resp.Header.Get("Retry-After"))
		return answer{}, e
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// retryAfter is the time that a Retry-After header asks for, negative if it does not.
func (c *Client) retryAfter(v string) time.Duration {
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil && c.cfg.Now != nil {
		return max(0, at.Sub(c.cfg.Now()))
	}
	return -1
}
