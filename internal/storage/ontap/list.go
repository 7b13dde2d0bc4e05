package ontap

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	// maxPages bounds a collection that never ends.
	maxPages = 1000
	// maxRecords is far above the LIFs and volumes of one SVM.
	maxRecords = 100_000
)

// page is one part of a collection.
type page[T any] struct {
	Records []T `json:"records"`
	Links   struct {
		Next *struct {
			Href string `json:"href"`
		} `json:"next"`
	} `json:"_links"`
}

// list reads all pages of a collection. ONTAP ends a page after a time of its own choice,
// perhaps without any record: only a page without next is the last one.
func list[T any](ctx context.Context, s *Source, path string, q url.Values) ([]T, http.Header, error) {
	var all []T
	for range maxPages {
		var p page[T]
		header, err := s.client.Get(ctx, path, q, &p)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, p.Records...)
		if p.Links.Next == nil || p.Links.Next.Href == "" {
			return all, header, nil
		}
		if len(all) > maxRecords {
			break
		}
		next, err := nextPage(p.Links.Next.Href)
		if err != nil {
			return nil, nil, err
		}
		if next == path {
			return nil, nil, storage.Permanent(fmt.Errorf("read %s: a page names itself as the next one", apiOf(path)))
		}
		path, q = next, nil // the link holds the whole query
	}
	return nil, nil, storage.Permanent(fmt.Errorf("read %s: the collection does not end", apiOf(path)))
}

// nextPage returns path and query of a link, whatever host it names.
func nextPage(href string) (string, error) {
	u, err := url.Parse(href)
	if err != nil || u.Host != "" || u.Opaque != "" {
		return "", storage.Permanent(fmt.Errorf("the link to the next page is no path on the array"))
	}
	return u.RequestURI(), nil
}

// apiOf is a path without its query.
func apiOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return "the collection"
	}
	return u.Path
}
