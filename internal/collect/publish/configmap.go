package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// maxReplyBytes is more than the JSON of the largest ConfigMap.
	maxReplyBytes = 4 << 20
	fieldManager  = "nfsbench-collector"
	// metadataOnly asks the API server not to send the results back.
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
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
	reply, err := c.do(ctx, http.MethodPatch, c.path()+"?fieldManager="+fieldManager, header, body)
	if err != nil {
		return fmt.Errorf("publish to ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	return drain(reply)
}

// Released looks for the key with which the controller starts all clients.
func (c *ConfigMap) Released(ctx context.Context) (bool, error) {
	reply, err := c.do(ctx, http.MethodGet, c.path(), http.Header{"Accept": {"application/json"}}, nil)
	if err != nil {
		return false, fmt.Errorf("read ConfigMap %s/%s: %w", c.namespace, c.name, err)
	}
	defer reply.Close() //nolint:errcheck // it was read
	var object struct {
		Data map[string]string `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(reply, maxReplyBytes)).Decode(&object); err != nil {
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
func (c *ConfigMap) do(ctx context.Context, method, path string, header http.Header, body []byte) (io.ReadCloser, error) {
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
		if !sleep(ctx, wait) {
			return nil, last
		}
	}
}

func drain(body io.ReadCloser) error {
	defer body.Close() //nolint:errcheck // it was read
	if _, err := io.Copy(io.Discard, io.LimitReader(body, maxReplyBytes)); err != nil {
		// The patch was taken; only the connection can not be used again.
		return nil //nolint:nilerr // see above
	}
	return nil
}
