package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxAnswerBytes bounds one answer of the API server, so that no namespace fills the memory of the manager: an object
	// may take 1.5 MiB, and a user may create thousands of objects.
	maxAnswerBytes = 16 << 20
	// maxPageBytes bounds one page of an answer. One object fits. Decoded, a page can take 25 times as much: an empty
	// element of a list is 2 bytes on the wire.
	maxPageBytes = 2 << 20
	pageItems    = 50
)

var errAnswer = errors.New("the answer of the API server is too large: delete the large objects of this kind in the " +
	"namespace")

// NewReader makes a reader of the API server. It keeps no more than 16 MiB of one answer, and 2 MiB of one page; a
// larger answer is an error. It is safe for concurrent use.
func NewReader(cfg *rest.Config, o client.Options) (client.Reader, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	return client.New(cfg, o)
}

// Pages reads into list page by page, and calls use after each page. It returns an error if there are more than most
// items. With a reader from NewReader its memory is bounded, if use keeps little. Its pages shrink where objects are
// large, and grow again behind them: a few large objects must not make it ask for thousands of small ones one by one.
func Pages(ctx context.Context, from client.Reader, list client.ObjectList, most int, use func() error,
	which ...client.ListOption,
) error {
	next, read, items := "", 0, pageItems
	for {
		if read >= most {
			return fmt.Errorf("there are more than %d: delete those that nobody needs", most)
		}
		page := min(items, most-read)
		err := from.List(ctx, list, append(which, client.Limit(page), client.Continue(next))...)
		if errors.Is(err, errAnswer) && page > 1 {
			items = page / 2
			continue
		}
		if err != nil {
			return err
		}
		if err := use(); err != nil {
			return err
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
		read += page
		items = min(items+1, pageItems)
	}
}

// MetadataOf returns an empty list of the metadata of a kind.
func MetadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// bounded cuts off an answer that is too large.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		most := int64(maxAnswerBytes)
		if r.URL.Query().Has("limit") {
			most = maxPageBytes
		}
		resp.Body = &answer{resp.Body, most}
	}
	return resp, err
}

type answer struct {
	io.ReadCloser
	left int64
}

func (a *answer) Read(p []byte) (int, error) {
	if int64(len(p)) > a.left+1 {
		p = p[:a.left+1]
	}
	n, err := a.ReadCloser.Read(p)
	if a.left -= int64(n); a.left < 0 {
		return 0, errAnswer
	}
	return n, err
}
