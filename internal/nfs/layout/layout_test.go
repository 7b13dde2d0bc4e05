package layout_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// device returns a device with n data servers and the pattern.
func device(n int, pattern ...uint32) *layout.Device {
	d := &layout.Device{StripeIndices: pattern}
	for range n {
		d.Servers = append(d.Servers, []layout.NetAddr{{NetID: "tcp", Address: "192.0.2.1.8.1"}})
	}
	return d
}

// handles returns one handle for each letter.
func handles(letters string) [][]byte {
	var all [][]byte
	for _, c := range letters {
		all = append(all, []byte(string(c)))
	}
	return all
}

func whole(b layout.Body, d *layout.Device) layout.Segment {
	return layout.Segment{IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Body: b, Device: d}
}

func mustNew(t testing.TB, segments ...layout.Segment) *layout.Layout {
	t.Helper()
	l, err := layout.New(segments)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEachByteIsFoundWhereTheRFCSays(t *testing.T) {
	sparse := layout.Body{StripeUnit: 64 * kib, Handles: handles("abc")}
	shifted := layout.Body{StripeUnit: 64 * kib, FirstStripeIndex: 2, PatternOffset: 1000, Handles: handles("abc")}
	dense := layout.Body{StripeUnit: 64 * kib, Dense: true, Handles: handles("abc")}
	denseShifted := layout.Body{
		StripeUnit: 64 * kib, Dense: true, FirstStripeIndex: 2, PatternOffset: 1000, Handles: handles("abc"),
	}
	twice := layout.Body{StripeUnit: 4 * kib, Dense: true, Handles: handles("wxyz")}
	at1000 := func(b layout.Body) layout.Segment {
		return layout.Segment{
			IOMode: v4.IOModeReadWrite, Offset: 1000, Length: v4.ToEnd, Body: b, Device: device(3, 0, 1, 2),
		}
	}
	for name, tc := range map[string]struct {
		section string
		segment layout.Segment
		offset  uint64
		want    layout.Place
	}{
		"sparse: first byte": {"13.4.2", whole(sparse, device(3, 0, 1, 2)), 0, layout.Place{Server: 0, Handle: []byte("a"), Offset: 0, Bytes: 64 * kib}},
		// Unit 4, index 4 mod 3 = 1; 4*65536+100 = 262244.
		"sparse: the offset is that of the file": {"13.4.2", whole(sparse, device(3, 0, 1, 2)), 262244, layout.Place{Server: 1, Handle: []byte("b"), Offset: 262244, Bytes: 64*kib - 100}},
		// Unit 1, index 1, server 0: the handle follows the server, not the index.
		"sparse: a handle for each server": {"13.4.2", whole(sparse, device(3, 2, 0, 1)), 64 * kib, layout.Place{Server: 0, Handle: []byte("a"), Offset: 64 * kib, Bytes: 64 * kib}},
		"sparse: one handle for all":       {"13.4.2", whole(layout.Body{StripeUnit: 64 * kib, Handles: handles("q")}, device(3, 0, 1, 2)), 128 * kib, layout.Place{Server: 2, Handle: []byte("q"), Offset: 128 * kib, Bytes: 64 * kib}},
		"sparse: the handle of the MDS":    {"13.4.2", whole(layout.Body{StripeUnit: 64 * kib}, device(3, 0, 1, 2)), 128 * kib, layout.Place{Server: 2, Offset: 128 * kib, Bytes: 64 * kib}},
		// Relative 0: unit 0, index (0+2) mod 3 = 2.
		"sparse: first index and pattern offset": {"13.4.1", at1000(shifted), 1000, layout.Place{Server: 2, Handle: []byte("c"), Offset: 1000, Bytes: 64 * kib}},
		// Relative 65536: unit 1, index (1+2) mod 3 = 0.
		"sparse: next unit behind a pattern offset": {"13.4.1", at1000(shifted), 66536, layout.Place{Server: 0, Handle: []byte("a"), Offset: 66536, Bytes: 64 * kib}},
		// One byte before that: still unit 0.
		"sparse: last byte of a unit": {"13.4.1", at1000(shifted), 66535, layout.Place{Server: 2, Handle: []byte("c"), Offset: 66535, Bytes: 1}},
		// Unit 4: index 1; stripe width 196608; floor(262244/196608)=1; 1*65536 + 262244 mod 65536 = 65536+100.
		"dense: units are packed": {"13.4.4", whole(dense, device(3, 0, 1, 2)), 262244, layout.Place{Server: 1, Handle: []byte("b"), Offset: 65636, Bytes: 64*kib - 100}},
		// 10 GiB = 163840 units; 163840 mod 3 = 1; floor(10737418240/196608)=54613; *65536 = 3579117568.
		"dense: far into the file": {"13.4.4", whole(dense, device(3, 0, 1, 2)), 10 << 30, layout.Place{Server: 1, Handle: []byte("b"), Offset: 3579117568, Bytes: 64 * kib}},
		// Relative 200000: unit 3, index (3+2) mod 3 = 2; floor(200000/196608)=1; 65536 + 200000-3*65536 = 65536+3392.
		"dense: first index and pattern offset": {"13.4.4", at1000(denseShifted), 201000, layout.Place{Server: 2, Handle: []byte("c"), Offset: 68928, Bytes: 64*kib - 3392}},
		// Four indices, two servers. Unit 6, index 2, server 0 again, another handle; floor(24576/16384)=1; 4096.
		"dense: a server twice in the pattern": {"13.4.3", whole(twice, device(2, 0, 1, 0, 1)), 24 * kib, layout.Place{Server: 0, Handle: []byte("y"), Offset: 4 * kib, Bytes: 4 * kib}},
		// One index: width is the unit, so that the packed offset is the relative offset.
		"dense: one data server": {"13.4.4", whole(layout.Body{StripeUnit: mib, Dense: true, Handles: handles("g")}, device(1, 0)), 5*mib + 7, layout.Place{Handle: []byte("g"), Offset: 5*mib + 7, Bytes: math.MaxUint64 - 5*mib - 7}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := mustNew(t, tc.segment).Find(tc.offset, true)
			if !ok {
				t.Fatalf("nothing covers %d", tc.offset)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("RFC 8881 %s, offset %d (-want +got):\n%s", tc.section, tc.offset, diff)
			}
		})
	}
}

func TestSegmentsOfAFile(t *testing.T) {
	body := func(h string) layout.Body { return layout.Body{StripeUnit: 64 * kib, Handles: handles(h)} }
	one := device(2, 0, 1)
	l := mustNew(t,
		layout.Segment{IOMode: v4.IOModeReadWrite, Offset: 0, Length: 100 * kib, Body: body("a"), Device: one},
		layout.Segment{IOMode: v4.IOModeRead, Offset: 100 * kib, Length: 50 * kib, Body: body("b"), Device: one},
		layout.Segment{IOMode: v4.IOModeReadWrite, Offset: 200 * kib, Length: v4.ToEnd, Body: body("c"), Device: one},
	)
	for name, tc := range map[string]struct {
		offset  uint64
		write   bool
		segment int // -1: none
		bytes   uint64
	}{
		"the unit ends first":              {0, true, 0, 64 * kib},
		"the segment ends first":           {64 * kib, true, 0, 36 * kib},
		"its last byte":                    {100*kib - 1, true, 0, 1},
		"a segment for reading":            {100 * kib, false, 1, 28 * kib},
		"it takes no writes":               {100 * kib, true, -1, 0},
		"the hole behind it":               {150 * kib, false, -1, 0},
		"the last byte of the hole":        {200*kib - 1, false, -1, 0},
		"a segment to the end":             {200 * kib, true, 2, 56 * kib},
		"reading where one may also write": {300 * kib, false, 2, 20 * kib},
	} {
		t.Run(name, func(t *testing.T) {
			p, ok := l.Find(tc.offset, tc.write)
			if !ok {
				p.Segment = -1
			}
			if p.Segment != tc.segment || p.Bytes != tc.bytes {
				t.Errorf("segment %d, %d bytes, want segment %d, %d bytes", p.Segment, p.Bytes, tc.segment, tc.bytes)
			}
		})
	}
	if _, ok := new(layout.Layout).Find(0, false); ok {
		t.Error("an empty layout covers a byte")
	}
}

func TestTheEndOfTheLargestFile(t *testing.T) {
	l := mustNew(t, whole(layout.Body{StripeUnit: 64 * kib}, device(3, 0, 1, 2)))
	p, ok := l.Find(math.MaxUint64-1, false)
	if !ok || p.Bytes != 1 || p.Offset != math.MaxUint64-1 {
		t.Errorf("Find = %+v, %v; want one byte at its offset", p, ok)
	}
	if p, ok := l.Find(math.MaxUint64, false); ok {
		t.Errorf("Find = %+v; no file has a byte at the highest offset", p)
	}
}

// spot is a byte at a data server.
type spot struct {
	handle string
	offset uint64
}

// Each handle of a densely packed file is filled from its start without holes, and no two
// bytes of the file share a place. RFC 8881 13.4.3 and 13.4.4.
func TestDensePackingLeavesNoHolesAndNothingOverlaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		servers := 1 + rng.IntN(5)
		d := device(servers)
		letters := ""
		for i := range 1 + rng.IntN(7) {
			d.StripeIndices = append(d.StripeIndices, uint32(rng.IntN(servers)))
			letters += string(rune('a' + i))
		}
		b := layout.Body{
			StripeUnit: 4096 * (1 + uint32(rng.IntN(3))), Dense: true, Handles: handles(letters),
			FirstStripeIndex: uint32(rng.IntN(len(letters))), PatternOffset: uint64(rng.IntN(9000)),
		}
		l := mustNew(t, layout.Segment{
			IOMode: v4.IOModeReadWrite, Offset: b.PatternOffset, Length: v4.ToEnd, Body: b, Device: d,
		})
		width := uint64(b.StripeUnit) * uint64(len(letters))
		taken := map[spot]bool{}
		highest := map[string]uint64{}
		const step = 512
		for off := b.PatternOffset; off < b.PatternOffset+3*width; off += step {
			p, ok := l.Find(off, true)
			s := spot{string(p.Handle), p.Offset}
			if !ok || taken[s] {
				t.Fatalf("%+v: offset %d: Find = %+v, %v, a place that is taken", b, off, p, ok)
			}
			taken[s] = true
			highest[s.handle] = max(highest[s.handle], s.offset+step)
		}
		for h, end := range highest {
			if end != 3*uint64(b.StripeUnit) {
				t.Fatalf("%+v: handle %s has %d bytes, want three stripe units", b, h, end)
			}
		}
	}
}

// The runs of bytes that Find gives meet each other, stay on one server and keep the offset
// of the file where packing is sparse.
func TestSparsePackingKeepsTheOffset(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		servers := 2 + rng.IntN(4)
		d := device(servers, 0, 1)
		b := layout.Body{StripeUnit: 4096 * (1 + uint32(rng.IntN(3))), FirstStripeIndex: uint32(rng.IntN(2))}
		l := mustNew(t, whole(b, d))
		before := -1
		for off := uint64(rng.IntN(5000)); off < 1<<20; {
			p, ok := l.Find(off, false)
			if !ok || p.Offset != off || p.Server == before {
				t.Fatalf("%+v: offset %d after server %d: Find = %+v, %v", b, off, before, p, ok)
			}
			before, off = p.Server, off+p.Bytes
		}
	}
}

func TestAnUnusableSegmentIsRefusedByTheNameOfItsField(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*layout.Segment)
		field  string
	}{
		"no stripe unit":                  {func(s *layout.Segment) { s.Body.StripeUnit = 0 }, "nfl_util"},
		"a tiny stripe unit":              {func(s *layout.Segment) { s.Body.StripeUnit = 64 }, "nfl_util"},
		"first index beyond the list":     {func(s *layout.Segment) { s.Body.FirstStripeIndex = 2 }, "nfl_first_stripe_index"},
		"pattern behind the segment":      {func(s *layout.Segment) { s.Body.PatternOffset = 1 }, "nfl_pattern_offset"},
		"no pattern":                      {func(s *layout.Segment) { s.Device = device(2) }, "nflda_stripe_indices"},
		"a pattern of unknown servers":    {func(s *layout.Segment) { s.Device = device(2, 0, 2) }, "nflda_stripe_indices"},
		"an index of 4 Gi":                {func(s *layout.Segment) { s.Device = device(2, 0, math.MaxUint32) }, "nflda_stripe_indices"},
		"a server without an address":     {func(s *layout.Segment) { s.Device.Servers[1] = nil }, "nflda_multipath_ds_list"},
		"no device":                       {func(s *layout.Segment) { s.Device = nil }, "nfl_deviceid"},
		"sparse: too many handles":        {func(s *layout.Segment) { s.Body.Handles = handles("abc") }, "nfl_fh_list"},
		"dense: one handle for two":       {func(s *layout.Segment) { s.Body.Dense, s.Body.Handles = true, handles("a") }, "nfl_fh_list"},
		"dense: no handle":                {func(s *layout.Segment) { s.Body.Dense, s.Body.Handles = true, nil }, "nfl_fh_list"},
		"an empty handle":                 {func(s *layout.Segment) { s.Body.Handles = [][]byte{{}} }, "nfl_fh_list"},
		"no length":                       {func(s *layout.Segment) { s.Length = 0 }, "lo_length"},
		"a length beyond the last offset": {func(s *layout.Segment) { s.Offset, s.Length = 8, math.MaxUint64-1 }, "lo_length"},
		"any I/O mode":                    {func(s *layout.Segment) { s.IOMode = v4.IOModeAny }, "lo_iomode"},
	} {
		t.Run(name, func(t *testing.T) {
			s := whole(layout.Body{StripeUnit: 4096, Handles: handles("ab")}, device(2, 0, 1))
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			tc.change(&s)
			_, err := layout.New([]layout.Segment{s})
			if err == nil || !strings.Contains(err.Error(), tc.field) {
				t.Errorf("err = %v, want one that names %s", err, tc.field)
			}
		})
	}
	many := make([]layout.Segment, layout.MaxSegments+1)
	if _, err := layout.New(many); err == nil {
		t.Errorf("%d segments were accepted", len(many))
	}
}

func TestFindAllocatesNothing(t *testing.T) {
	l := mustNew(t,
		layout.Segment{IOMode: v4.IOModeRead, Length: mib, Body: layout.Body{StripeUnit: 4096}, Device: device(2, 0, 1)},
		whole(layout.Body{StripeUnit: 4096, Dense: true, Handles: handles("abc")}, device(2, 0, 1, 0)))
	var at, bytes uint64
	n := testing.AllocsPerRun(1000, func() {
		p, _ := l.Find(at, true)
		at, bytes = at+4321, bytes+p.Bytes
	})
	if n != 0 || bytes == 0 {
		t.Errorf("%v allocations for each of the lookups, of %d bytes", n, bytes)
	}
}

func TestAGapEndsWhereASegmentBegins(t *testing.T) {
	at := func(offset, length uint64, mode uint32) layout.Segment {
		return layout.Segment{
			IOMode: mode, Offset: offset, Length: length, Body: layout.Body{StripeUnit: 4 * kib}, Device: device(1, 0),
		}
	}
	l := mustNew(t, at(1000, 500, v4.IOModeReadWrite), at(3000, 1000, v4.IOModeRead), at(8000, v4.ToEnd, v4.IOModeReadWrite))
	for _, tc := range []struct {
		offset uint64
		write  bool
		want   uint64
	}{{0, false, 1000}, {1000, false, 0}, {1500, false, 1500}, {1500, true, 6500}, {3500, true, 4500}, {9000, true, 0}} {
		if got := l.Gap(tc.offset, tc.write); got != tc.want {
			t.Errorf("gap at %d, write %v: %d, want %d", tc.offset, tc.write, got, tc.want)
		}
	}
	if got := mustNew(t, at(0, 10, v4.IOModeRead)).Gap(5, true); got != math.MaxUint64-5 {
		t.Errorf("behind all segments: %d", got)
	}
}
