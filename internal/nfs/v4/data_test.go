package v4

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

func appendReadCall(b []byte, session *SessionID, s *StateID, handle []byte) []byte {
	b = AppendCompoundHead(b, 1, 3)
	b = AppendSequence(b, session, 6, 2, 15, false)
	b = AppendPutFH(b, handle)
	return AppendRead(b, s, 1<<32, 8192)
}

func TestTheHotPathWritesTheBytesOfTheRFC(t *testing.T) {
	session, s := goldenSession(), goldenStateID()
	got := appendReadCall(nil, &session, &s, []byte("file1"))
	if diff := cmp.Diff(golden(t, readCall), got); diff != "" {
		t.Errorf("READ (-want +got):\n%s", diff)
	}
	write := Compound{Ops: []Operation{&PutFH{[]byte("file1")}, &Write{s, 7, DataSync, []byte("hello"), 0, 0, Verifier{}}}}
	got = AppendWriteHead(AppendPutFH(AppendCompoundHead(nil, 0, 2), []byte("file1")), &s, 7, DataSync, 5)
	got = xdr.AppendPadding(append(got, "hello"...), 5)
	if diff := cmp.Diff(write.Append(nil), got); diff != "" {
		t.Errorf("WRITE (-want +got):\n%s", diff)
	}
}

func TestTheHotPathReadsTheBytesOfTheRFC(t *testing.T) {
	d := xdr.NewDecoder(golden(t, readReply))
	var got ReadHead
	DecodeReadHead(&d, true, &got)
	want := ReadHead{Sequence: SequenceHead{goldenSession(), 6, 2, 63, 31, SeqRestartReclaimNeeded}, EOF: true, Data: 3}
	if diff := cmp.Diff(want, got); diff != "" || d.Err() != nil {
		t.Errorf("err = %v (-want +got):\n%s", d.Err(), diff)
	}
	if data := d.Fixed(got.Data); string(data) != "abc" || d.Len() != 0 {
		t.Errorf("the data are %q, %d bytes follow", data, d.Len())
	}
}

// hotReply is a reply to [SEQUENCE,] PUTFH and READ or WRITE.
func hotReply(minor uint32, last Operation, status Status, done int) []byte {
	p := Compound{Minor: minor, Ops: []Operation{&Sequence{Reply: SequenceHead{Seq: 1, TargetSlot: 5}}, &PutFH{}, last}}
	if minor == 0 {
		p.Ops = p.Ops[1:]
	}
	return p.AppendReply(nil, status, done)
}

func TestTheHotPathNamesTheOperationThatFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		minor  uint32
		done   int
		status Status
		op     Op
	}{
		"PUTFH of 4.0": {0, 0, ErrStale, OpPutFH},
		"READ of 4.0":  {0, 1, ErrExpired, OpRead},
		"SEQUENCE":     {1, 0, ErrBadSession, OpSequence},
		"PUTFH":        {1, 1, ErrStale, OpPutFH},
		"READ":         {1, 2, ErrDelay, OpRead},
		"nothing":      {1, 3, OK, OpCompound},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(hotReply(tc.minor, &Read{}, tc.status, tc.done))
			var got ReadHead
			DecodeReadHead(&d, tc.minor == 1, &got)
			if d.Err() != nil || got.Op != tc.op || got.Status != tc.status {
				t.Errorf("%s: %s, err = %v", got.Op, got.Status, d.Err())
			}
			if renewed := got.Sequence.TargetSlot == 5; renewed != (tc.minor == 1 && tc.done > 0) {
				t.Errorf("the results of SEQUENCE are %+v", got.Sequence)
			}
		})
	}
}

func TestTheHotPathRefusesNonsense(t *testing.T) {
	for name, tc := range map[string]struct {
		reply     []byte
		sequenced bool
		want      error
	}{
		"too much data":      {words(0, 0, 2, 22, 0, 25, 0, 0, MaxDataBytes+1), false, xdr.ErrTooLong},
		"another order":      {words(0, 0, 2, 25, 0, 22, 0), false, ErrOrder},
		"without SEQUENCE":   {words(0, 0, 2, 22, 0, 25, 0, 0, 0), true, ErrTooFewResults},
		"with SEQUENCE":      {hotReply(1, &Read{}, OK, 3), false, ErrTooManyResults},
		"WRITE":              {hotReply(0, &Write{}, OK, 2), false, ErrOrder},
		"contradiction":      {words(70, 0, 2, 22, 0, 25, 0, 0, 0), false, ErrContradiction},
		"behind the failure": {words(70, 0, 1, 22, 70, 0), false, ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(tc.reply)
			var h ReadHead
			if DecodeReadHead(&d, tc.sequenced, &h); !errors.Is(d.Err(), tc.want) {
				t.Errorf("%+v, err = %v, want %v", h, d.Err(), tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		reply []byte
		want  error
	}{
		"committed of 3": {words(0, 0, 2, 22, 0, 38, 0, 5, 3, 0, 0), xdr.ErrBadValue},
		"bytes behind":   {words(0, 0, 2, 22, 0, 38, 0, 5, 2, 0, 0, 0), ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(tc.reply)
			var h WriteHead
			if DecodeWriteHead(&d, false, &h); !errors.Is(d.Err(), tc.want) {
				t.Errorf("%+v, err = %v, want %v", h, d.Err(), tc.want)
			}
		})
	}
}

func TestTheHotPathNoticesEveryTruncation(t *testing.T) {
	read := hotReply(1, &Read{EOF: true}, OK, 3)
	write := hotReply(1, &Write{Count: 5, Verifier: Verifier{1}}, OK, 3)
	for n := range len(read) {
		d := xdr.NewDecoder(read[:n])
		if DecodeReadHead(&d, true, new(ReadHead)); d.Err() == nil {
			t.Errorf("the first %d of %d bytes of a READ decode without error", n, len(read))
		}
	}
	for n := range len(write) {
		d := xdr.NewDecoder(write[:n])
		if DecodeWriteHead(&d, true, new(WriteHead)); d.Err() == nil {
			t.Errorf("the first %d of %d bytes of a WRITE decode without error", n, len(write))
		}
	}
}

func TestTheHotPathAllocatesNothing(t *testing.T) {
	session, s, handle := goldenSession(), goldenStateID(), make([]byte, MaxHandleBytes)
	readReply := hotReply(1, &Read{Data: []byte("abc")}, OK, 3)
	writeReply := hotReply(1, &Write{Count: 3, Verifier: Verifier{1}}, OK, 3)
	failed := hotReply(1, &Read{}, ErrBadSession, 0)
	nonsense := bytes.Repeat([]byte{0, 0, 0, 1}, 20)
	b := make([]byte, 0, 1024)
	var r ReadHead
	var w WriteHead
	got := testing.AllocsPerRun(100, func() {
		b = appendReadCall(b[:0], &session, &s, handle)
		b = AppendWriteHead(b, &s, 1, FileSync, 8192)
		for _, in := range [][]byte{failed, nonsense, readReply} {
			d := xdr.NewDecoder(in)
			DecodeReadHead(&d, true, &r)
		}
		d := xdr.NewDecoder(writeReply)
		DecodeWriteHead(&d, true, &w)
	})
	if got != 0 || r.Data != 3 || w.Count != 3 {
		t.Errorf("%v allocations, %+v, %+v", got, r, w)
	}
}
