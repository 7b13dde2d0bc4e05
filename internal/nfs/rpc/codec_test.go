package rpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestCallHeaderSurvivesTheWire(t *testing.T) {
	sys := AuthSys{Stamp: 1, Machine: "host", UID: 2, GID: 3, GIDs: []uint32{4, 5}}
	want := CallHeader{
		XID: 1, RPCVersion: 2, Program: 3, Version: 4, Procedure: 5,
		Credential: sys.Auth(), Verifier: Auth{Body: []byte{}},
	}
	d := xdr.NewDecoder(xdr.Append(nil, &want))
	var got CallHeader
	xdr.Decode(&d, &got)
	if diff := cmp.Diff(want, got); diff != "" || d.Err() != nil || d.Len() != 0 {
		t.Fatalf("err = %v, %s", d.Err(), diff)
	}
	d = xdr.NewDecoder(got.Credential.Body)
	var gotSys AuthSys
	xdr.Decode(&d, &gotSys)
	if diff := cmp.Diff(sys, gotSys); diff != "" || d.Err() != nil {
		t.Errorf("err = %v, %s", d.Err(), diff)
	}
}

func TestAuthSysKeepsTheLimitsOfTheRFC(t *testing.T) {
	a := AuthSys{Machine: strings.Repeat("m", 300), GIDs: make([]uint32, 20)}
	body := a.Auth().Body
	d := xdr.NewDecoder(body)
	var got AuthSys
	xdr.Decode(&d, &got)
	if len(got.Machine) != 255 || len(got.GIDs) != 16 || d.Err() != nil || len(body) > maxAuthBytes {
		t.Errorf("%d bytes of name, %d groups, %d bytes in all, %v", len(got.Machine), len(got.GIDs), len(body), d.Err())
	}
}

func TestReplyHeaderSaysWhyACallWasRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		in   ReplyHeader
		want string
	}{
		"success":       {ReplyHeader{XID: 1}, ""},
		"no program":    {ReplyHeader{Accept: AcceptProgramUnavail}, "does not offer this program"},
		"other version": {ReplyHeader{Accept: AcceptProgramMismatch, Low: 2, High: 4}, "versions 2 to 4"},
		"no procedure":  {ReplyHeader{Accept: AcceptProcUnavail}, "procedure"},
		"garbage args":  {ReplyHeader{Accept: AcceptGarbageArgs}, "decode the arguments"},
		"system error":  {ReplyHeader{Accept: AcceptSystemErr}, "system error"},
		"rpc version":   {ReplyHeader{Denied: true, Reject: RejectVersion, Low: 2, High: 2}, "RPC versions 2 to 2"},
		"too weak":      {ReplyHeader{Denied: true, Reject: RejectAuth, AuthWhy: AuthTooWeak}, "AUTH_TOOWEAK"},
		"bad cred":      {ReplyHeader{Denied: true, Reject: RejectAuth, AuthWhy: AuthBadCred}, "auth_stat 1"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.Verifier.Body = []byte{}
			d := xdr.NewDecoder(tc.in.Append(nil))
			var got ReplyHeader
			got.Decode(&d)
			if tc.in.Denied {
				got.Verifier.Body = []byte{} // a rejected reply has none
			}
			if diff := cmp.Diff(tc.in, got); diff != "" || d.Err() != nil || d.Len() != 0 {
				t.Errorf("err = %v, %s", d.Err(), diff)
			}
			err := got.Err()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Err = %v, want %q", err, tc.want)
			}
			if IsAuthError(err) != (tc.in.Reject == RejectAuth && tc.in.Denied) {
				t.Errorf("IsAuthError(%v) is wrong", err)
			}
		})
	}
}

// fragments cuts a record into fragments of at most size bytes.
func fragments(record []byte, size int) []byte {
	var b []byte
	for len(record) > size {
		b = xdr.AppendUint32(b, uint32(size))
		b = append(b, record[:size]...)
		record = record[size:]
	}
	return append(AppendRecordMark(b, len(record)), record...)
}

func TestRecordsAreReadHoweverTheyAreCut(t *testing.T) {
	first, second := bytes.Repeat([]byte("first"), 40_000), []byte("second")
	for name, tc := range map[string]struct {
		fragment int
		wrap     func(io.Reader) io.Reader
	}{
		"one fragment":    {1 << 20, func(r io.Reader) io.Reader { return r }},
		"many fragments":  {1000, func(r io.Reader) io.Reader { return r }},
		"tiny fragments":  {3, iotest.HalfReader},
		"byte by byte":    {70_000, iotest.OneByteReader},
		"data with error": {70_000, iotest.DataErrReader},
	} {
		t.Run(name, func(t *testing.T) {
			stream := append(fragments(first, tc.fragment), fragments(second, tc.fragment)...)
			r := NewRecordReader(tc.wrap(bytes.NewReader(stream)), 1<<20)
			if err := r.Next(); err != nil {
				t.Fatal(err)
			}
			head := make([]byte, 50_001)
			if n, err := r.ReadFull(head); n != len(head) || err != nil || !bytes.Equal(head, first[:50_001]) {
				t.Fatalf("ReadFull = %v, or other bytes", err)
			}
			rest, err := r.AppendRest(nil)
			if err != nil || !bytes.Equal(rest, first[50_001:]) {
				t.Fatalf("AppendRest = %v, or other bytes", err)
			}
			if err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if rest, err = r.AppendRest(nil); err != nil || !bytes.Equal(rest, second) {
				t.Fatalf("AppendRest = %q, %v", rest, err)
			}
			if err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end Next = %v, want io.EOF", err)
			}
		})
	}
}

func TestNextSkipsWhatWasNotRead(t *testing.T) {
	stream := append(fragments(make([]byte, 200_000), 900), fragments([]byte("wanted"), 4)...)
	r := NewRecordReader(bytes.NewReader(stream), 1<<20)
	for range 2 {
		if err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.AppendRest(nil); err != nil || string(got) != "wanted" {
		t.Errorf("AppendRest = %q, %v", got, err)
	}
}

func TestRecordReaderRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		stream []byte
		want   error
	}{
		"one large fragment":   {"the cap holds before memory is taken", []byte{0xFF, 0xFF, 0xFF, 0xFF}, ErrRecordTooLarge},
		"many small fragments": {"the cap counts the whole record", fragments(make([]byte, 2000), 100), ErrRecordTooLarge},
		"empty fragments":      {"they must not keep us busy forever", make([]byte, 4*2000), ErrRecordTooLarge},
		"a cut mark":           {"", []byte{0x80, 0}, io.ErrUnexpectedEOF},
		"a cut record":         {"", append(AppendRecordMark(nil, 100), 1, 2), io.ErrUnexpectedEOF},
		"too few bytes":        {"", AppendRecordMark(nil, 0), ErrRecordShort},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecordReader(bytes.NewReader(tc.stream), 1000)
			err := r.Next()
			if err == nil {
				_, err = r.ReadFull(make([]byte, 1500))
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v (%s)", err, tc.want, tc.reason)
			}
		})
	}
}

func FuzzHeaders(f *testing.F) {
	call := CallHeader{Credential: (&AuthSys{Machine: "m", GIDs: []uint32{1}}).Auth()}
	f.Add(xdr.Append(nil, &call))
	f.Add((&ReplyHeader{Accept: AcceptProgramMismatch}).Append(nil))
	f.Add((&ReplyHeader{Denied: true, Reject: RejectAuth}).Append(nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 64*len(in), func() { decodeHeaders(t, in) })
	})
}

func decodeHeaders(t *testing.T, in []byte) {
	t.Helper()
	d := xdr.NewDecoder(in)
	var c CallHeader
	xdr.Decode(&d, &c)
	if d.Err() == nil {
		s := xdr.NewDecoder(c.Credential.Body)
		var a AuthSys
		xdr.Decode(&s, &a)
	}
	d = xdr.NewDecoder(in)
	var r ReplyHeader
	r.Decode(&d)
	if d.Err() == nil {
		again := xdr.NewDecoder(r.Append(nil))
		var got ReplyHeader
		got.Decode(&again)
		if again.Err() != nil || got.Denied != r.Denied || got.Accept != r.Accept {
			t.Fatalf("reply %+v changes to %+v, %v", r, got, again.Err())
		}
	}
}
