package flashblade

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	maxPages = 200
	// maxItems bounds what is kept of an answer.
	maxItems = 20000
)

// page is the envelope of all collections.
type page struct {
	Items             json.RawMessage `json:"items"`
	ContinuationToken *string         `json:"continuation_token"`
}

// list reads all pages of a collection.
func list[T any](ctx context.Context, s *Source, path string, q url.Values) ([]T, error) {
	ctx, base, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if q == nil {
		q = url.Values{}
	}
	var all []T
	for range maxPages {
		var p page
		if _, err := s.client.Get(ctx, base+path, q, &p); err != nil {
			return nil, err
		}
		items, err := decode[T](p.Items)
		if err != nil {
			return nil, storage.Permanent(fmt.Errorf("GET %s%s: %w", s.client.Host(), path, err))
		}
		all = append(all, items...)
		if len(all) > maxItems {
			break
		}
		if p.ContinuationToken == nil || *p.ContinuationToken == "" {
			return all, nil
		}
		q.Set("continuation_token", *p.ContinuationToken)
	}
	return nil, storage.Permanent(fmt.Errorf("GET %s%s: the answer does not end after %d items", s.client.Host(),
		path, len(all)))
}

// decode reads the items of a page; null is none.
func decode[T any](raw json.RawMessage) ([]T, error) {
	var items []T
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("the items are not what was expected there: %w", err)
	}
	return items, nil
}
