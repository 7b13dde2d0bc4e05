package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// wanted are the collectors of node_exporter that tell what is read here; the others would
// only cost time, the server's and ours.
const wanted = "collect[]=cpu&collect[]=nfsd&collect[]=stat"

// read asks the server. node_exporter answers 400 when a collector that is asked for is
// switched off; then everything is read, from then on.
func (n *node) read(ctx context.Context) (reading, error) {
	body, status, err := n.get(ctx, n.chosen())
	if err == nil && status == http.StatusBadRequest && n.chosen() != n.url {
		n.mu.Lock()
		n.whole = true
		n.mu.Unlock()
		body, status, err = n.get(ctx, n.url)
	}
	if err != nil {
		return reading{}, err
	}
	if status != http.StatusOK {
		err := fmt.Errorf("the answer is %d %s", status, http.StatusText(status))
		if status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
			return reading{}, storage.Permanent(err)
		}
		return reading{}, err
	}
	return decode(body)
}

// chosen is the address with the choice of collectors.
func (n *node) chosen() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.whole {
		return n.url
	}
	return n.url + "?" + wanted
}

// get returns body and status. Its errors have no URL, whose query may hold a token.
func (n *node) get(ctx context.Context, address string) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, storage.Permanent(errors.New("the request cannot be made"))
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := n.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // everything wanted was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > maxBodyBytes {
		return nil, 0, storage.Permanent(fmt.Errorf("the answer is longer than %d MiB", maxBodyBytes>>20))
	}
	return body, resp.StatusCode, nil
}
