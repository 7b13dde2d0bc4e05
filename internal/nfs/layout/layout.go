package layout

import (
	"errors"
	"fmt"
	"math"
	"slices"

	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Limits of New.
const (
	// MaxSegments is the highest number of segments of one file.
	MaxSegments = 256
	// MinStripeUnit is the smallest stripe unit in bytes. A smaller one would cut
	// each I/O into many.
	MinStripeUnit = 4096
)

// Segment is one segment of the layout of a file, with the device that it names.
type Segment struct {
	IOMode uint32 // v4.IOModeRead or v4.IOModeReadWrite, which also allows reading
	Offset uint64 // in the file
	Length uint64 // bytes, or v4.ToEnd
	Body   Body
	Device *Device
}

// Validate returns an error that names the field of RFC 8881 that makes the segment
// unusable.
func (s *Segment) Validate() error {
	if s.IOMode != v4.IOModeRead && s.IOMode != v4.IOModeReadWrite {
		return fmt.Errorf("lo_iomode is %d, neither READ nor RW", s.IOMode)
	}
	if s.Length == 0 || s.Length != v4.ToEnd && s.Length > math.MaxUint64-s.Offset {
		return fmt.Errorf("lo_length is %d at lo_offset %d", s.Length, s.Offset)
	}
	if s.Device == nil {
		return errors.New("nfl_deviceid names no known device")
	}
	if err := s.Device.Validate(); err != nil {
		return err
	}
	return s.validateBody()
}

func (s *Segment) validateBody() error {
	b, pattern := &s.Body, len(s.Device.StripeIndices)
	if b.StripeUnit < MinStripeUnit {
		return fmt.Errorf("nfl_util has a stripe unit of %d bytes, less than %d", b.StripeUnit, MinStripeUnit)
	}
	if uint64(b.FirstStripeIndex) >= uint64(pattern) {
		return fmt.Errorf("nfl_first_stripe_index is %d of %d stripe indices", b.FirstStripeIndex, pattern)
	}
	if b.PatternOffset > s.Offset {
		return fmt.Errorf("nfl_pattern_offset %d is above lo_offset %d", b.PatternOffset, s.Offset)
	}
	n := len(b.Handles)
	if b.Dense && n != pattern {
		return fmt.Errorf("nfl_fh_list has %d handles for %d stripe indices, densely packed", n, pattern)
	}
	if !b.Dense && n > 1 && n != len(s.Device.Servers) {
		return fmt.Errorf("nfl_fh_list has %d handles for %d data servers, sparsely packed", n, len(s.Device.Servers))
	}
	if i := slices.IndexFunc(b.Handles, func(h []byte) bool { return len(h) == 0 }); i >= 0 {
		return fmt.Errorf("nfl_fh_list has an empty handle at %d", i)
	}
	return nil
}

// Validate returns an error that names the field of RFC 8881 that makes the device unusable. It does not check
// addresses: a client uses those that it can.
func (v *Device) Validate() error {
	if len(v.StripeIndices) == 0 {
		return errors.New("nflda_stripe_indices is empty")
	}
	for at, i := range v.StripeIndices {
		if uint64(i) >= uint64(len(v.Servers)) {
			return fmt.Errorf("nflda_stripe_indices has %d at %d, of %d data servers", i, at, len(v.Servers))
		}
		if len(v.Servers[i]) == 0 {
			return fmt.Errorf("nflda_multipath_ds_list has no address of data server %d", i)
		}
	}
	return nil
}

// Layout is the layout of one file: its segments in the order of search. It is immutable and safe for concurrent use.
type Layout struct{ segments []Segment }

// New returns the layout of a file. It refuses invalid segments. If segments overlap, the first one that covers an
// offset counts.
func New(segments []Segment) (*Layout, error) {
	if len(segments) > MaxSegments {
		return nil, fmt.Errorf("layout of %d segments, more than %d", len(segments), MaxSegments)
	}
	for i := range segments {
		if err := segments[i].Validate(); err != nil {
			return nil, fmt.Errorf("segment %d of the layout: %w", i, err)
		}
	}
	return &Layout{segments: slices.Clone(segments)}, nil
}

// Segments returns the segments. Callers must not change them.
func (l *Layout) Segments() []Segment { return l.segments }

// Place is the place of bytes of a file.
type Place struct {
	Segment int    // index of the segment
	Server  int    // index of the data server in Device.Servers of that segment
	Handle  []byte // at the data server; nil: the handle of the metadata server
	Offset  uint64 // at the data server
	// Bytes is the number of bytes from there in the same stripe unit and segment. With a single stripe index, stripe
	// units follow each other, and Bytes counts them all.
	Bytes uint64
}

// Find returns the place of the byte at offset, for reading or for writing. It returns false if no segment covers the
// byte, which the metadata server then serves. It allocates nothing.
func (l *Layout) Find(offset uint64, write bool) (Place, bool) {
	for i := range l.segments {
		s := &l.segments[i]
		if offset < s.Offset || write && s.IOMode != v4.IOModeReadWrite {
			continue
		}
		left := s.left(offset)
		if left == 0 {
			continue
		}
		p := s.place(offset)
		p.Segment, p.Bytes = i, min(p.Bytes, left)
		return p, true
	}
	return Place{}, false
}

// Gap returns the number of bytes from offset on that no segment covers.
func (l *Layout) Gap(offset uint64, write bool) uint64 {
	gap := math.MaxUint64 - offset
	for i := range l.segments {
		s := &l.segments[i]
		switch {
		case write && s.IOMode != v4.IOModeReadWrite:
		case s.Offset > offset:
			gap = min(gap, s.Offset-offset)
		case s.left(offset) > 0:
			return 0
		}
	}
	return gap
}

// left returns the number of bytes of the segment from offset on, which is not before the segment.
func (s *Segment) left(offset uint64) uint64 {
	if s.Length == v4.ToEnd {
		return math.MaxUint64 - offset
	}
	return s.Length - min(offset-s.Offset, s.Length)
}

// place computes the place by RFC 8881 13.4.
func (s *Segment) place(offset uint64) Place {
	b := &s.Body
	unit, width := uint64(b.StripeUnit), uint64(len(s.Device.StripeIndices))
	relative := offset - b.PatternOffset
	index := (relative/unit%width + uint64(b.FirstStripeIndex)) % width
	p := Place{
		Server: int(s.Device.StripeIndices[index]),
		Offset: offset,
		Bytes:  unit - relative%unit,
	}
	if width == 1 {
		p.Bytes = math.MaxUint64
	}
	switch {
	case b.Dense: // 13.4.3: a handle for each stripe index
		p.Handle = b.Handles[index]
		p.Offset = relative/(unit*width)*unit + relative%unit
	case len(b.Handles) == 1: // 13.4.2: the same handle everywhere
		p.Handle = b.Handles[0]
	case len(b.Handles) > 1: // 13.4.2: a handle for each data server
		p.Handle = b.Handles[p.Server]
	}
	return p
}
