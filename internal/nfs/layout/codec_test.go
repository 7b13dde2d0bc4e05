package layout_test

import (
	"encoding/hex"
	"errors"
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The bytes are written by hand from the XDR of RFC 5662.
func TestTheBodyOfASegment(t *testing.T) {
	in := unhex(t, "000102030405060708090a0b0c0d0e0f"+ // nfl_deviceid
		"00100003"+ // nfl_util: 1 MiB, commit through the MDS, dense
		"00000001"+ // nfl_first_stripe_index
		"0000000100000000"+ // nfl_pattern_offset
		"00000002"+"00000003"+"61626300"+"00000004"+"64656667") // nfl_fh_list
	want := layout.Body{
		Device:     v4.DeviceID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
		StripeUnit: 1 << 20, Dense: true, CommitThroughMDS: true, FirstStripeIndex: 1, PatternOffset: 1 << 32,
		Handles: [][]byte{[]byte("abc"), []byte("defg")},
	}
	var got layout.Body
	d := xdr.NewDecoder(in)
	xdr.Decode(&d, &got)
	if d.Err() != nil || d.Len() != 0 {
		t.Fatalf("err = %v, %d bytes left", d.Err(), d.Len())
	}
	if out := xdr.Append(nil, &want); !cmp.Equal(in, out) {
		t.Errorf("encoded %x, want %x", out, in)
	}
	clear(in)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the input was overwritten (-want +got):\n%s", diff)
	}
}

// Each flag of nfl_util is read by itself.
func TestTheFlagsOfASegment(t *testing.T) {
	for _, want := range []layout.Body{
		{StripeUnit: 64}, {StripeUnit: 64, Dense: true}, {StripeUnit: 64, CommitThroughMDS: true},
	} {
		var got layout.Body
		d := xdr.NewDecoder(xdr.Append(nil, &want))
		xdr.Decode(&d, &got)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); d.Err() != nil || diff != "" {
			t.Errorf("err = %v (-want +got):\n%s", d.Err(), diff)
		}
	}
}

func TestTheAddressOfADevice(t *testing.T) {
	in := unhex(t, "00000003"+"00000001"+"00000000"+"00000001"+ // nflda_stripe_indices
		"00000002"+ // nflda_multipath_ds_list
		"00000001"+"00000003"+"74637000"+"0000000c"+hex.EncodeToString([]byte("10.0.0.1.8.1"))+
		"00000000")
	want := layout.Device{
		StripeIndices: []uint32{1, 0, 1},
		Servers:       [][]layout.NetAddr{{{NetID: "tcp", Address: "10.0.0.1.8.1"}}, nil},
	}
	var got layout.Device
	d := xdr.NewDecoder(in)
	xdr.Decode(&d, &got)
	if d.Err() != nil || d.Len() != 0 {
		t.Fatalf("err = %v, %d bytes left", d.Err(), d.Len())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if out := xdr.Append(nil, &want); !cmp.Equal(in, out) {
		t.Errorf("encoded %x, want %x", out, in)
	}
}

func TestTheLimitsOfWhatIsDecoded(t *testing.T) {
	u32 := func(v uint32) []byte { return xdr.AppendUint32(nil, v) }
	manyServers := append(u32(0), u32(layout.MaxServers+1)...)
	manyAddresses := append(append(u32(0), u32(1)...), u32(layout.MaxAddresses+1)...)
	longHandle := layout.Body{Handles: [][]byte{make([]byte, v4.MaxHandleBytes+1)}}
	manyHandles := layout.Body{Handles: make([][]byte, layout.MaxHandles+1)}
	manyIndices := layout.Device{StripeIndices: make([]uint32, layout.MaxStripeIndices+1)}
	most := layout.Device{StripeIndices: make([]uint32, layout.MaxStripeIndices), Servers: make([][]layout.NetAddr, layout.MaxServers)}
	for name, tc := range map[string]struct {
		in   []byte
		into xdr.Coded
		want error
	}{
		"stripe indices":             {xdr.Append(nil, &manyIndices), &layout.Device{}, xdr.ErrTooLong},
		"data servers":               {manyServers, &layout.Device{}, xdr.ErrTooLong},
		"addresses":                  {manyAddresses, &layout.Device{}, xdr.ErrTooLong},
		"handles":                    {xdr.Append(nil, &manyHandles), &layout.Body{}, xdr.ErrTooLong},
		"the length of a handle":     {xdr.Append(nil, &longHandle), &layout.Body{}, xdr.ErrTooLong},
		"indices that are not there": {append(u32(layout.MaxStripeIndices), 1, 2, 3, 4), &layout.Device{}, xdr.ErrShort},
		"as many as allowed":         {xdr.Append(nil, &most), &layout.Device{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(tc.in)
			xdr.Decode(&d, tc.into)
			if !errors.Is(d.Err(), tc.want) {
				t.Errorf("err = %v, want %v", d.Err(), tc.want)
			}
		})
	}
}

func TestUniversalAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		netID, address string
		want           string // empty: refused
	}{
		"IPv4, RFC 5665 5.2.3.3":       {"tcp", "192.0.2.7.8.1", "192.0.2.7:2049"},
		"the highest port":             {"tcp", "192.0.2.7.255.255", "192.0.2.7:65535"},
		"a port below 256":             {"tcp", "192.0.2.7.0.111", "192.0.2.7:111"},
		"IPv6, RFC 5665 5.2.3.4":       {"tcp6", "2001:db8:0:0:0:0:0:1.8.1", "[2001:db8::1]:2049"},
		"IPv6, compressed":             {"tcp6", "2001:db8::1.8.1", "[2001:db8::1]:2049"},
		"IPv4 inside IPv6":             {"tcp6", "::ffff:192.0.2.7.8.1", "192.0.2.7:2049"},
		"UDP":                          {"udp", "192.0.2.7.8.1", ""},
		"RDMA":                         {"rdma", "192.0.2.7.8.1", ""},
		"IPv6 under the netid of IPv4": {"tcp", "2001:db8::1.8.1", ""},
		"IPv4 under the netid of IPv6": {"tcp6", "192.0.2.7.8.1", ""},
		"no port":                      {"tcp", "192.0.2.7", ""},
		"half a port":                  {"tcp", "192.0.2.7.8", ""},
		"a port of 256.0":              {"tcp", "192.0.2.7.256.0", ""},
		"a negative port":              {"tcp", "192.0.2.7.-1.1", ""},
		"port 0":                       {"tcp", "192.0.2.7.0.0", ""},
		"a name":                       {"tcp", "example.test.8.1", ""},
		"the unspecified address":      {"tcp", "0.0.0.0.8.1", ""},
		"multicast":                    {"tcp", "224.0.0.1.8.1", ""},
		"a zone":                       {"tcp6", "fe80::1%eth0.8.1", ""},
		"nothing":                      {"tcp", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := layout.NetAddr{NetID: tc.netID, Address: tc.address}.AddrPort()
			if tc.want == "" {
				if err == nil {
					t.Errorf("read as %v", got)
				}
				return
			}
			if err != nil || got.String() != tc.want {
				t.Errorf("read as %v, %v, want %s", got, err, tc.want)
			}
		})
	}
	for _, tc := range []struct {
		endpoint string
		want     layout.NetAddr
	}{
		{"192.0.2.7:2049", layout.NetAddr{NetID: "tcp", Address: "192.0.2.7.8.1"}},
		{"[::ffff:192.0.2.7]:2049", layout.NetAddr{NetID: "tcp", Address: "192.0.2.7.8.1"}},
		{"[2001:db8::1]:65535", layout.NetAddr{NetID: "tcp6", Address: "2001:db8::1.255.255"}},
	} {
		if got := layout.NetAddrOf(netip.MustParseAddrPort(tc.endpoint)); got != tc.want {
			t.Errorf("%s is written as %+v, want %+v", tc.endpoint, got, tc.want)
		}
	}
}

func TestNamesOfLayoutTypes(t *testing.T) {
	for v, want := range map[uint32]string{
		1: "files", 2: "OSD objects", 3: "blocks", 4: "flexible files", 5: "SCSI", 77: "layout type 77",
	} {
		if got := layout.TypeName(v); got != want {
			t.Errorf("layout type %d is called %q, want %q", v, got, want)
		}
	}
}

// FuzzLayout takes a hostile body and a hostile device. What is valid finds a place for any
// offset within its segment, at a data server that exists.
func FuzzLayout(f *testing.F) {
	body := layout.Body{StripeUnit: 4096, Dense: true, PatternOffset: 5, Handles: [][]byte{{1}, {2}, {3}}}
	dev := layout.Device{
		StripeIndices: []uint32{1, 0, 1},
		Servers:       [][]layout.NetAddr{{{NetID: "tcp", Address: "10.0.0.1.8.1"}}, {{NetID: "tcp6", Address: "::1.8.1"}}},
	}
	f.Add(xdr.Append(nil, &body), xdr.Append(nil, &dev), uint64(5), uint64(math.MaxUint64), uint64(99999))
	body.Dense, body.Handles = false, nil
	f.Add(xdr.Append(nil, &body), xdr.Append(nil, &dev), uint64(7), uint64(8192), uint64(4096))
	f.Fuzz(func(t *testing.T, bodyIn, devIn []byte, offset, length, at uint64) {
		s := layout.Segment{IOMode: v4.IOModeReadWrite, Offset: offset, Length: length, Device: &layout.Device{}}
		var err error
		memory.Bound(t, 16*(len(bodyIn)+len(devIn)), func() {
			d := xdr.NewDecoder(bodyIn)
			xdr.Decode(&d, &s.Body)
			e := xdr.NewDecoder(devIn)
			xdr.Decode(&e, s.Device)
			err = errors.Join(d.Err(), e.Err())
		})
		if err != nil {
			return
		}
		roundTrip(t, &s)
		l, err := layout.New([]layout.Segment{s})
		if err != nil {
			return
		}
		p, ok := l.Find(at, true)
		inside := at >= offset && at != math.MaxUint64 && (length == v4.ToEnd || at-offset < length)
		if ok != inside {
			t.Fatalf("offset %d of a segment of %d at %d: covered %v", at, length, offset, ok)
		}
		if ok && (p.Server < 0 || p.Server >= len(s.Device.Servers) || p.Bytes == 0 || p.Offset > at) {
			t.Fatalf("Find(%d) = %+v", at, p)
		}
	})
}

func roundTrip(t *testing.T, s *layout.Segment) {
	t.Helper()
	var body layout.Body
	d := xdr.NewDecoder(xdr.Append(nil, &s.Body))
	xdr.Decode(&d, &body)
	var dev layout.Device
	e := xdr.NewDecoder(xdr.Append(nil, s.Device))
	xdr.Decode(&e, &dev)
	if d.Err() != nil || e.Err() != nil {
		t.Fatalf("what was encoded is not decoded: %v, %v", d.Err(), e.Err())
	}
	if diff := cmp.Diff(s.Body, body, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("body changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(*s.Device, dev, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("device changed (-before +after):\n%s", diff)
	}
}

// FuzzUniversalAddress takes hostile addresses. What is read is written and read again.
func FuzzUniversalAddress(f *testing.F) {
	f.Add("tcp", "192.0.2.7.8.1")
	f.Add("tcp6", "2001:db8::1.8.1")
	f.Add("tcp6", "::ffff:192.0.2.7.8.1")
	f.Add("tcp", "....")
	f.Fuzz(func(t *testing.T, netID, address string) {
		var got netip.AddrPort
		var err error
		memory.Bound(t, 32*(len(netID)+len(address)), func() {
			got, err = layout.NetAddr{NetID: netID, Address: address}.AddrPort()
		})
		if err != nil {
			return
		}
		again, err := layout.NetAddrOf(got).AddrPort()
		if err != nil || again != got {
			t.Fatalf("%q %q is %v, and then %v, %v", netID, address, got, again, err)
		}
	})
}
