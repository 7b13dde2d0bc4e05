package storage

import (
	"context"
	"errors"
	"time"
)

// Source reads the counters of one storage system.
//
// Sample may be called from several goroutines at once and as often as one likes: it
// changes nothing on the storage. It returns soon after the context ended, with an error
// that wraps the context's. Every call asks the storage; nothing is answered from memory.
// An error for which IsPermanent is true will be the same next time (a refused credential,
// an address that is no such storage); every other error may be gone at the next call, and
// the source goes on to be usable. With an error the Snapshot means nothing.
type Source interface {
	// Sample reads all counters as they are now.
	Sample(ctx context.Context) (Snapshot, error)
	// Name says in a word or two what this is and where, for findings and errors, such as
	// "embedded server 10.0.0.7:8080". It holds no secret and never changes.
	Name() string
}

// Snapshot is one reading of a source. Everything in it belongs to the caller.
type Snapshot struct {
	// Time is when the counters held, by the clock of the storage if it tells, which then
	// is the right one to divide by; otherwise when the answer was there.
	Time time.Time
	// Epoch names the life of the counters: they only grow while it stays the same. After
	// a restart of what counts it is another one, and differences across it mean nothing.
	// Empty: the storage does not tell, so only a falling counter shows a reset.
	Epoch string
	// Nodes are the controllers, blades or processes that do the work, sorted by name.
	// A source that can not see them has none.
	Nodes []Node
	// Total counts everything the source can see of the storage, all clients included.
	Total Counters
	// Volumes counts by volume or file system, sorted by name; it may be empty.
	Volumes []VolumeCounters
	// Paths counts by the address that clients talk to, sorted; it may be empty.
	Paths []PathCounters
}

// Node is one part of the storage that has processors of its own.
type Node struct {
	Name string
	// CPUSeconds is how long its processors were busy, summed over them; it only grows
	// within an epoch.
	CPUSeconds *float64
	// Cores is how many processors CPUSeconds sums over.
	Cores *int32
}

// Counters count since the epoch began. Bytes are file data without protocol.
type Counters struct {
	ReadOps, WriteOps, OtherOps *uint64
	ReadBytes, WrittenBytes     *uint64
}

// VolumeCounters are the counters of one volume.
type VolumeCounters struct {
	Name string
	Counters
}

// PathCounters are the counters of one address of the storage.
type PathCounters struct {
	// Address is what the storage calls it: an IP address, or a listening address.
	Address string
	Counters
}

// permanentError marks an error that asking again does not cure.
type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

// Permanent marks err as one that the same call will meet again. Sources use it. The text
// stays the same; nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether trying again is useless.
func IsPermanent(err error) bool {
	var e permanentError
	return errors.As(err, &e)
}
