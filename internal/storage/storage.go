// Package storage is what the storage side of a benchmark says about itself: raw counters, read through one interface.
//
// A source hands over what the storage counts and derives nothing: rates, percentages and
// averages are made by who has two snapshots, see package stats. What a storage does not
// count is nil, never 0: a FlashBlade knows no CPU, and "0 % busy" would be a lie.
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

// Close ends what s holds on its storage, such as a session: sources that hold something
// are an io.Closer, whose Close takes some seconds at most and can be left to fail.
func Close(s Source) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Surveyor is a Source that can also say what the storage is: its addresses, the
// volume behind an export, who owns it, what the NFS service offers.
//
// Survey reads only. What the account may not read is listed in Missing; an error
// means that nothing useful could be read, and is a *SurveyError.
type Surveyor interface {
	Source
	Survey(ctx context.Context, export string) (runfile.Survey, error)
}

// Mover is a Surveyor that moves volumes between aggregates, online.
//
// Move begins the move and waits for its end, or for that of the context; it
// tells how far it is as often as it knows more, on the goroutine of its caller. A
// volume that is there already is no error. The error is a *SurveyError.
type Mover interface {
	Surveyor
	Move(ctx context.Context, export, aggregate string, progress func(percent int32)) (runfile.VolumeMove, error)
}

// SurveyError is why a survey or a move failed, with one of runfile's Survey
// reasons and a sentence that says what to do.
type SurveyError struct {
	Reason string
	Err    error
}

func (e *SurveyError) Error() string { return e.Err.Error() }
func (e *SurveyError) Unwrap() error { return e.Err }

// Snapshot is one reading of a source. Everything in it belongs to the caller.
type Snapshot struct {
	// Epoch names the life of the counters: they only grow while it stays the same. After
	// a restart of what counts it is another one, and differences across it mean nothing.
	// Empty: the storage does not tell, so only a falling counter shows a reset.
	Epoch string
	// StorageSample holds the counters since the epoch began, without a name in Source. Bytes are file
	// data without protocol, but in those of a path. Nodes (controllers, blades or processes that do
	// the work), paths and clients are sorted by name or address; what the source can not see is not
	// there. A storage that is asked for clients now and then leaves them nil in between. Time is when
	// the counters held, by the storage's clock where it has one, which then is the right one to divide
	// by; otherwise when the answer was there.
	runfile.StorageSample
}

// Count is a counter as samples have them; nil for what does not fit.
func Count[N uint64 | float64](n N) *int64 {
	if n != n || n < 0 || n >= math.MaxInt64 { // n != n is not a number
		return nil
	}
	return new(int64(n))
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

// PrefixLength reads a netmask as arrays write it, such as 24, 255.255.255.0 or ffff:ffff::, for an address of at most
// that many bits; 0 = it is none.
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
