package publish

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// ServiceAccountDir is where Kubernetes mounts token and CA of a pod's ServiceAccount.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	fieldManager = "nfsbench-collector"
	// metadataOnly asks the API server to leave the data out of its answer.
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
	// maxReplyBytes is above the JSON of the largest ConfigMap.
	maxReplyBytes  = 4 << 20
	attemptTimeout = 10 * time.Second
	firstPause     = 200 * time.Millisecond
)

// ConfigMap publishes into one existing ConfigMap, through the API server and with retries. Its Role must
// allow get and patch on that object.
type ConfigMap struct {
	api             *rest.Client
	namespace, name string
	index           int32
	version         atomic.Pointer[metadata] // of the ConfigMap after the last patch; nil = unknown
}

var _ Publisher = (*ConfigMap)(nil)

// NewConfigMap returns a Publisher for the keys of one client in a ConfigMap.
func NewConfigMap(api *rest.Client, namespace, name string, index int32) *ConfigMap {
	return &ConfigMap{api: api, namespace: namespace, name: name, index: index}
}

// mergePatch is an RFC 7386 patch: keys of other clients stay as they are.
type mergePatch struct {
	Metadata   metadata          `json:"metadata,omitzero"`
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

// metadata has the expected version of the ConfigMap: the API server rejects a patch for another version.
type metadata struct {
	ResourceVersion string `json:"resourceVersion"`
}

// Publish patches the keys of this client. It tries again until ctx ends, or until a permanent error.
func (c *ConfigMap) Publish(ctx context.Context, update Update) error {
	patch := mergePatch{}
	if update.Progress != nil {
		raw, err := json.Marshal(update.Progress)
		if err != nil {
			return storage.Permanent(fmt.Errorf("encode progress: %w", err))
		}
		patch.Data = map[string]string{runfile.ProgressKey(c.index): string(raw)}
	}
	if update.Result != nil {
		patch.BinaryData = map[string][]byte{runfile.ResultKey(c.index): update.Result}
	}
	return c.patch(ctx, patch)
}

// Put replaces one key of the ConfigMap, whoever wrote it before. It tries again like Publish.
func (c *ConfigMap) Put(ctx context.Context, key, text string) error {
	return c.patch(ctx, mergePatch{Data: map[string]string{key: text}})
}

// patch changes only the known version of the ConfigMap: the API server may execute a request after its
// client has given it up, and would otherwise overwrite newer values.
func (c *ConfigMap) patch(ctx context.Context, patch mergePatch) error {
	known, err := c.version.Load(), error(nil)
	for {
		if known == nil { // the answer to an empty patch has the version
			known, err = c.send(ctx, mergePatch{})
		}
		if err == nil {
			patch.Metadata = *known
			known, err = c.send(ctx, patch)
			c.version.Store(known)
		}
		status, answered := errors.AsType[*rest.StatusError](err)
		switch {
		case answered && status.Status == http.StatusConflict:
			known, err = nil, nil
		case err != nil:
			return fmt.Errorf("publish to ConfigMap %s/%s: %w", c.namespace, c.name, explained(err))
		default:
			return nil
		}
	}
}

// send sends one patch, and returns the version of the ConfigMap after it.
func (c *ConfigMap) send(ctx context.Context, patch mergePatch) (*metadata, error) {
	var object struct {
		Metadata metadata `json:"metadata"`
	}
	q := url.Values{"fieldManager": {fieldManager}}
	if _, err := c.api.Do(ctx, http.MethodPatch, c.path(), q, patch, &object); err != nil {
		return nil, err
	}
	return &object.Metadata, nil
}

// Signal reads the keys with which the controller starts all clients and moves them from level to level.
func (c *ConfigMap) Signal(ctx context.Context) (Signal, error) {
	var object struct {
		Data map[string]string `json:"data"`
	}
	if _, err := c.api.Get(ctx, c.path(), nil, &object); err != nil {
		return Signal{}, fmt.Errorf("read ConfigMap %s/%s: %w", c.namespace, c.name, explained(err))
	}
	_, released := object.Data[runfile.KeyRelease]
	s := Signal{Released: released}
	if levels, ok := object.Data[runfile.KeyLevels]; ok {
		s.Levels = []byte(levels)
	}
	return s, nil
}

func (c *ConfigMap) path() string {
	return "/api/v1/namespaces/" + url.PathEscape(c.namespace) + "/configmaps/" + url.PathEscape(c.name)
}

// ClockOffset returns how far the clock of the API server is ahead of this client's, to about a second, and
// false while it is unknown.
func (c *ConfigMap) ClockOffset() (time.Duration, bool) {
	return c.api.ClockAhead()
}

// InCluster returns a client of the API server in the environment, with the rights of the ServiceAccount
// whose credentials are in dir (ServiceAccountDir in a pod). It repeats a request until it succeeds, fails
// permanently, or the context ends.
func InCluster(getenv func(string) string, dir string, now func() time.Time, log *slog.Logger) (*rest.Client, error) {
	return inCluster(getenv, dir, now, log, firstPause)
}

func inCluster(getenv func(string) string, dir string, now func() time.Time, log *slog.Logger, pause time.Duration,
) (*rest.Client, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: a ConfigMap can only be " +
			"reached from a pod")
	}
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the CA of the API server: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA of the API server in %q holds no certificate", filepath.Join(dir, "ca.crt"))
	}
	api, err := rest.New(rest.Config{
		BaseURL: "https://" + net.JoinHostPort(host, port), CABundle: string(pem),
		Authorize: func(r *http.Request) error {
			token, err := os.ReadFile(filepath.Join(dir, "token")) // for every request, because the kubelet replaces it
			if err != nil {
				return fmt.Errorf("read the ServiceAccount's token: %w", err)
			}
			r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
			r.Header.Set("User-Agent", fieldManager)
			if r.Method == http.MethodPatch {
				r.Header.Set("Content-Type", "application/merge-patch+json")
				r.Header.Set("Accept", metadataOnly)
			}
			return nil
		},
		Repeat: mayPass,
		Notify: func(err error, wait time.Duration) {
			log.Debug("API server does not take a request, trying again",
				slog.Any("error", err), slog.Duration("wait", wait))
		},
		Timeout: attemptTimeout, Pause: pause, MaxBodyBytes: maxReplyBytes, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return api, nil
}

// mayPass reports whether a request may succeed after an answer with that status. The client's own errors
// recur, except 401, because the token may just have been replaced.
func mayPass(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// explained adds advice to the error of an unsuccessful answer.
func explained(err error) error {
	status, answered := errors.AsType[*rest.StatusError](err)
	if !answered {
		return err
	}
	text := fmt.Sprintf("the API server answers %d %s", status.Status, http.StatusText(status.Status))
	switch status.Status {
	case http.StatusUnauthorized:
		text += ": the ServiceAccount's token is not valid, or not valid any more"
	case http.StatusForbidden:
		text += ": the Role must allow get and patch on this one ConfigMap"
	case http.StatusNotFound:
		text += ": the ConfigMap is gone, the benchmark was probably deleted"
	case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		text += ": the results do not fit the ConfigMap, use fewer repetitions or clients"
	}
	if status.Message != "" {
		text += " (" + status.Message + ")"
	}
	if mayPass(status.Status) {
		return errors.New(text)
	}
	return storage.Permanent(errors.New(text))
}
