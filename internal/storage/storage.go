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
	"net"
	"net/netip"
	"strconv"
	"time"

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
// tells how far it is as often as it knows more. A volume that is there already
// is no error. The error is a *SurveyError.
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
	// Time is when the counters held, by the storage's clock where it has one, which then
	// is the right one to divide by; otherwise when the answer was there.
	Time time.Time
	// Epoch names the life of the counters: they only grow while it stays the same. After
	// a restart of what counts it is another one, and differences across it mean nothing.
	// Empty: the storage does not tell, so only a falling counter shows a reset.
	Epoch string
	// Nodes are the controllers, blades or processes that do the work, sorted by name.
	// A source that can not see them has none.
	Nodes []Node
	// Total counts everything that the source watches, all clients included: the
	// whole of a server, or the one volume of an array.
	Total Counters
	// VolumeNode owns the data of the volume now; empty = unknown, none or several.
	VolumeNode string
	// Paths counts by the address that clients talk to, sorted; it may be empty.
	Paths []PathCounters
	// Clients are those that the storage says use the volume, sorted. A storage that is
	// asked for them now and then only leaves them nil in between.
	Clients []ConnectedClient
}

// ConnectedClient is one client of a volume, in the words of its storage.
type ConnectedClient struct {
	Address  string // of the client, as the storage sees it
	Server   string // the address that it uses
	Protocol string // such as nfs3, nfs4.1
}

// Node is one part of the storage that has processors of its own.
type Node struct {
	Name string
	// CPUSeconds is how long its processors were busy, summed over them; it only grows
	// within an epoch.
	CPUSeconds *float64
	// Cores is how many processors CPUSeconds sums over.
	Cores *int32
	// BaseSeconds is in which time it could have been busy, for a storage that
	// counts that itself instead of telling its cores: the busy share of a time
	// is the growth of CPUSeconds by that of BaseSeconds.
	BaseSeconds *float64
}

// Counters count since the epoch began. Bytes are file data without protocol.
type Counters struct {
	ReadOps, WriteOps, OtherOps *uint64
	ReadBytes, WrittenBytes     *uint64
	// ReadMicroseconds and WriteMicroseconds are the latencies of all operations
	// added up, as the storage measures them.
	ReadMicroseconds, WriteMicroseconds *uint64
}

// PathCounters are the counters of one address of the storage.
type PathCounters struct {
	// Address is what the storage calls it: an IP address, or a listening address.
	Address string
	// Name is that of the LIF, Node where it is now; empty = unknown.
	Name, Node string
	// Counters of a path may include the headers of the protocol.
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
