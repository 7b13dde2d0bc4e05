// Package storage reads the raw counters of a storage system through one interface.
//
// A source returns what the storage counts and derives nothing: the reader of two snapshots computes rates,
// percentages and averages, see package stats. A counter that the storage does not have is nil, never 0: a
// FlashBlade reports no CPU, and "0 % busy" would be false.
package storage

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/netip"
	"strconv"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Source reads the counters of one storage system.
//
// Sample is safe for concurrent use and may be called as often as needed: it changes nothing on the storage.
// It returns soon after the context ends, with an error that wraps the context's error. Every call asks the
// storage; no answer comes from a cache. An error for which IsPermanent is true recurs at the next call (a
// refused credential, an address of another kind of storage); after any other error the next call may
// succeed. With an error the Snapshot has no meaning.
type Source interface {
	// Sample reads all current counters.
	Sample(ctx context.Context) (Snapshot, error)
	// Name returns a short name and the address of the storage for findings and errors, such as "embedded server
	// 10.0.0.7:8080". It holds no secret and never changes.
	Name() string
}

// Close releases what s holds on its storage, such as a session. A source that holds something implements
// io.Closer; its Close takes a few seconds at most, and the caller may ignore its error.
func Close(s Source) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Surveyor is a Source that can also describe the storage: its addresses, the volume behind an export, the
// owner of the volume, the settings of the NFS service.
//
// Survey only reads. It lists in Missing what the account may not read. An error means that Survey could read
// nothing useful, and is a *SurveyError.
type Surveyor interface {
	Source
	Survey(ctx context.Context, export string) (runfile.Survey, error)
}

// Mover is a Surveyor that moves volumes between aggregates, online.
//
// Move starts the move and waits until the move or the context ends. It calls progress, on the goroutine of
// its caller, whenever the percentage rises. It returns no error if the volume is already there. An error is
// a *SurveyError.
type Mover interface {
	Surveyor
	Move(ctx context.Context, export, aggregate string, progress func(percent int32)) (runfile.VolumeMove, error)
}

// SurveyError is the reason why a survey or a move failed: one of runfile's Survey reasons, and an error that
// says what to do.
type SurveyError struct {
	Reason string
	Err    error
}

func (e *SurveyError) Error() string { return e.Err.Error() }
func (e *SurveyError) Unwrap() error { return e.Err }

// Snapshot is one reading of a source. All of it belongs to the caller.
type Snapshot struct {
	// Epoch identifies one run of the counters: they only grow while it stays the same. It changes when the
	// counting server restarts, and differences across epochs mean nothing. Empty means that the storage reports
	// no epoch, so that only a falling counter shows a reset.
	Epoch string
	// StorageSample holds the counters since the epoch began, with an empty Source. Bytes are file data without
	// protocol, except the bytes of a path. Nodes (controllers, blades or processes that do the work), paths and
	// clients are sorted by name or address; those that the source cannot see are missing. A source that asks
	// for clients only from time to time leaves them nil in between. Time is when the storage read the counters,
	// by its own clock if it reports one, which is then the clock for rates; otherwise it is when the answer
	// arrived.
	runfile.StorageSample
}

// Count converts n to a counter of a sample, nil if it is negative, not a number or too large.
func Count[N uint64 | float64](n N) *int64 {
	if n != n || n < 0 || n >= math.MaxInt64 { // n != n is not a number
		return nil
	}
	return new(int64(n))
}

// permanentError marks an error that recurs when the request is repeated.
type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

// Permanent marks err as an error that recurs when the same call is repeated. Sources use it. The text stays
// the same; nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether a repeated call is useless.
func IsPermanent(err error) bool {
	var e permanentError
	return errors.As(err, &e)
}

// PrefixLength parses a netmask as arrays write it, such as 24, 255.255.255.0 or ffff:ffff::, for an address
// of bits bits. It returns 0 if mask is not a netmask.
func PrefixLength(bits int, mask string) int32 {
	ones, err := strconv.Atoi(mask)
	if a, failed := netip.ParseAddr(mask); err != nil && failed == nil {
		ones, _ = net.IPMask(a.AsSlice()).Size()
	}
	if ones < 0 || ones > bits {
		return 0
	}
	return int32(ones) //nolint:gosec // at most 128
}
