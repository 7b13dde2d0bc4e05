package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Publisher keeps the last progress and the last result of one client.
//
// Publish replaces what the update carries and keeps the rest; it may be
// repeated with the same update. Released reports whether all clients may
// start. Both return when ctx ends at the latest. An error for which
// IsPermanent is true will come again until somebody changes something outside;
// after any other error the caller may try again soon. A Publisher is safe for
// several goroutines.
type Publisher interface {
	Publish(ctx context.Context, update Update) error
	Released(ctx context.Context) (bool, error)
}

// Update is what changed. Nil parts stay as they are.
type Update struct {
	Progress *runfile.Progress
	Result   []byte // gzip of a runfile.Result with one client, see Encode
}

// IsPermanent reports whether trying again can not help by itself.
func IsPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

func encodeProgress(p *runfile.Progress) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, permanentError{fmt.Errorf("encode progress: %w", err)}
	}
	return raw, nil
}
