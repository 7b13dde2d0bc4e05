package storagetest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// Fake is a source that says what it was told to. The zero Fake is ready for use; its
// methods may be called at once.
type Fake struct {
	mu   sync.Mutex
	next storage.Snapshot
	err  error
}

// Set makes later samples return s.
func (f *Fake) Set(s storage.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = s
}

// Fail makes later samples return err; nil ends it.
func (f *Fake) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Name returns "fake".
func (f *Fake) Name() string { return "fake" }

// Sample returns a copy of what was set.
func (f *Fake) Sample(ctx context.Context) (storage.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return storage.Snapshot{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return storage.Snapshot{}, f.err
	}
	text, err := json.Marshal(f.next) // which shares no memory
	if err != nil {
		return storage.Snapshot{}, err
	}
	var s storage.Snapshot
	err = json.Unmarshal(text, &s)
	return s, err
}
