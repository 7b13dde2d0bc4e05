package flashblade

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	headerAPIToken = "api-token"
	headerSession  = "x-auth-token"
	pathVersions   = "/api/api_version"
	pathLogin      = "/api/login"
	pathLogout     = "/api/logout"
	// logoutPatience is short, because an abandoned session expires.
	logoutPatience = 3 * time.Second
)

// usedKey is the context key of the session token with which a request started.
type usedKey struct{}

// session logs in and keeps the session token.
type session struct {
	// turn lets one goroutine log in. The others wait for the login or for their context.
	turn chan struct{}

	mu      sync.Mutex
	cred    rest.Credentials
	token   string // of the session; empty = there is none
	version string // of the API, such as 2.17; empty = not known yet
}

func newSession(cred rest.Credentials) *session {
	return &session{cred: cred, turn: make(chan struct{}, 1)}
}

func (s *session) state() (token, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, s.version
}

// authorize adds the session token to a request, or the API token to the login.
func (s *session) authorize(r *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, pathVersions):
	case strings.HasSuffix(path, pathLogin):
		r.Header.Set(headerAPIToken, s.cred.Token)
	default:
		r.Header.Set(headerSession, s.token)
	}
	return nil
}

// redact removes secrets from a message of the array.
func (s *session) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = s.cred.Redact(text)
	if s.token != "" {
		text = strings.ReplaceAll(text, s.token, "(hidden)")
	}
	return text
}

// begin ensures a version and a session, and returns the base path of requests and their context.
func (s *Source) begin(ctx context.Context) (context.Context, string, error) {
	token, version := s.session.state()
	if token == "" || version == "" {
		if err := s.login(ctx, ""); err != nil {
			return ctx, "", err
		}
		token, version = s.session.state()
	}
	return context.WithValue(ctx, usedKey{}, token), "/api/" + version, nil
}

// renew logs in again after a 401, unless another goroutine has already logged in. It reads the Secret again,
// because the token may have changed.
func (s *Source) renew(ctx context.Context) (bool, error) {
	used, _ := ctx.Value(usedKey{}).(string)
	err := s.login(ctx, used)
	return err == nil, err
}

// login opens a session, unless the current one already differs from used.
func (s *Source) login(ctx context.Context, used string) error {
	ctx = rest.WithoutRenewal(ctx)
	select {
	case s.session.turn <- struct{}{}:
		defer func() { <-s.session.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	token, version := s.session.state()
	if version == "" {
		newest, err := s.newestVersion(ctx)
		if err != nil {
			return err
		}
		s.session.mu.Lock()
		s.session.version = newest
		s.session.mu.Unlock()
	}
	if token != used && token != "" {
		return nil
	}
	s.session.mu.Lock()
	cred, changed, err := s.session.cred.Reload()
	if changed && cred.Token != "" {
		s.session.cred = cred
	}
	s.session.mu.Unlock()
	if err != nil {
		return err
	}
	header, err := s.client.Do(ctx, http.MethodPost, pathLogin, nil, nil, nil)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	token = header.Get(headerSession)
	if token == "" {
		return storage.Permanent(errors.New("log in: the answer has no header " + headerSession + ": is this a FlashBlade?"))
	}
	s.session.mu.Lock()
	s.session.token = token
	s.session.mu.Unlock()
	return nil
}

// newestVersion returns the newest version 2.x of the array. All of them support the requests of this
// package.
func (s *Source) newestVersion(ctx context.Context) (string, error) {
	var doc struct {
		Versions []string `json:"versions"`
	}
	if _, err := s.client.Get(ctx, pathVersions, nil, &doc); err != nil {
		return "", err
	}
	newest := -1
	for _, v := range doc.Versions {
		minor, ok := strings.CutPrefix(v, "2.")
		if n, err := strconv.ParseUint(minor, 10, 16); ok && err == nil {
			newest = max(newest, int(n))
		}
	}
	if newest < 0 {
		return "", storage.Permanent(fmt.Errorf("%s speaks no REST 2.x: is it a FlashBlade with Purity//FB 3.0 or later?",
			s.client.Host()))
	}
	return "2." + strconv.Itoa(newest), nil
}

// Close ends the session, because the array allows few sessions. The source stays usable.
func (s *Source) Close() error {
	defer s.client.Close()
	token, version := s.session.state()
	if token == "" || version == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), logoutPatience)
	defer cancel()
	// Do not log in for a logout: an expired session counts as closed.
	_, err := s.client.Do(rest.WithoutRenewal(ctx), http.MethodPost, pathLogout, nil, nil, nil)
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	if s.session.token == token {
		s.session.token = ""
	}
	if status, ok := errors.AsType[*rest.StatusError](err); ok && status.Status == http.StatusUnauthorized {
		return nil
	}
	if err != nil {
		return fmt.Errorf("log out of %s: %w", s.name, err)
	}
	return nil
}
