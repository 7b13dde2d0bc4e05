package policy

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// File is a policy in a file, which may change while the program runs, as the files of a
// mounted ConfigMap do. It is safe for concurrent use.
type File struct {
	path string

	mu      sync.Mutex
	changed time.Time // of the file that was read last
	size    int64
	policy  Policy
	err     error
}

// Open reads the policy in a file.
func Open(path string) (*File, error) {
	f := &File{path: path}
	_, err := f.Policy()
	return f, err
}

// Policy returns the policy that the file holds now. A file that is gone or invalid is an
// error until it is corrected: an older policy may allow what an administrator removed.
func (f *File) Policy() (Policy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	if info.ModTime().Equal(f.changed) && info.Size() == f.size {
		return f.policy, f.err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	defer func() { _ = in.Close() }()
	f.policy, f.err = Read(in)
	if f.err != nil {
		f.err = fmt.Errorf("%s: %w", f.path, f.err)
	}
	f.changed, f.size = info.ModTime(), info.Size()
	return f.policy, f.err
}
