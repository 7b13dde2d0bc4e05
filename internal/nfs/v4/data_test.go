package v4_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

func appendReadCall(b []byte, session *v4.SessionID, s *v4.StateID, handle []byte) []byte {
	b = v4.AppendCompoundHead(b, 1, 3)
	b = v4.AppendSequence(b, session, 6, 2, 15, false)
	b = v4.AppendPutFH(b, handle)
	return v4.AppendRead(b, s, 1<<32, 8192)
}

func TestTheHotPathWritesTheBytesOfTheRFC(t *testing.T) {
	session, s := goldenSession(), goldenStateID()
	got := appendReadCall(nil, &session, &s, []byte("file1"))
	if diff := cmp.Diff(golden(t, readCall), got); diff != "" {
		t.Errorf("READ (-want +got):\n%s", diff)
	}
	write := v4.Compound{Ops: []v4.Operation{&v4.PutFH{[]byte("file1")}, &nfs4wire.Write{StateID: s, Offset: 7, Stable: v4.DataSync, Data: []byte("hello")}}}
	got = v4.AppendWriteHead(v4.AppendPutFH(v4.AppendCompoundHead(nil, 0, 2), []byte("file1")), &s, 7, v4.DataSync, 5)
	got = xdr.AppendPadding(append(got, "hello"...), 5)
	if diff := cmp.Diff(write.Append(nil), got); diff != "" {
		t.Errorf("WRITE (-want +got):\n%s", diff)
	}
}

func TestTheHotPathReadsTheBytesOfTheRFC(t *testing.T) {
	d := xdr.NewDecoder(golden(t, readReply))
	var got v4.ReadHead
	v4.DecodeReadHead(&d, true, &got)
	want := v4.ReadHead{Sequence: v4.SequenceHead{goldenSession(), 6, 2, 63, 31, v4.SeqRestartReclaimNeeded}, EOF: true, Data: 3}
	if diff := cmp.Diff(want, got); diff != "" || d.Err() != nil {
		t.Errorf("err = %v (-want +got):\n%s", d.Err(), diff)
	}
	if data := d.Fixed(got.Data); string(data) != "abc" || d.Len() != 0 {
		t.Errorf("the data are %q, %d bytes follow", data, d.Len())
	}
}

// hotReply is a reply to [SEQUENCE,] PUTFH and READ or WRITE.
func hotReply(minor uint32, last v4.Operation, status v4.Status, done int) []byte {
	p := v4.Compound{Minor: minor, Ops: []v4.Operation{&v4.Sequence{Reply: v4.SequenceHead{Seq: 1, TargetSlot: 5}}, &v4.PutFH{}, last}}
	if minor == 0 {
		p.Ops = p.Ops[1:]
	}
	return nfs4wire.AppendReply(nil, &p, status, done)
}

func TestTheHotPathNamesTheOperationThatFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		minor  uint32
		done   int
		status v4.Status
		op     v4.Op
	}{
		"PUTFH of 4.0": {0, 0, v4.ErrStale, v4.OpPutFH},
		"READ of 4.0":  {0, 1, v4.ErrExpired, v4.OpRead},
		"SEQUENCE":     {1, 0, v4.ErrBadSession, v4.OpSequence},
		"PUTFH":        {1, 1, v4.ErrStale, v4.OpPutFH},
		"READ":         {1, 2, v4.ErrDelay, v4.OpRead},
		"nothing":      {1, 3, v4.OK, v4.OpCompound},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(hotReply(tc.minor, &nfs4wire.Read{}, tc.status, tc.done))
			var got v4.ReadHead
			v4.DecodeReadHead(&d, tc.minor == 1, &got)
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
		"too much data":      {words(0, 0, 2, 22, 0, 25, 0, 0, v4.MaxDataBytes+1), false, xdr.ErrTooLong},
		"another order":      {words(0, 0, 2, 25, 0, 22, 0), false, v4.ErrOrder},
		"without SEQUENCE":   {words(0, 0, 2, 22, 0, 25, 0, 0, 0), true, v4.ErrTooFewResults},
		"with SEQUENCE":      {hotReply(1, &nfs4wire.Read{}, v4.OK, 3), false, v4.ErrTooManyResults},
		"WRITE":              {hotReply(0, &nfs4wire.Write{}, v4.OK, 2), false, v4.ErrOrder},
		"contradiction":      {words(70, 0, 2, 22, 0, 25, 0, 0, 0), false, v4.ErrContradiction},
		"behind the failure": {words(70, 0, 1, 22, 70, 0), false, v4.ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(tc.reply)
			var h v4.ReadHead
			if v4.DecodeReadHead(&d, tc.sequenced, &h); !errors.Is(d.Err(), tc.want) {
				t.Errorf("%+v, err = %v, want %v", h, d.Err(), tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		reply []byte
		want  error
	}{
		"committed of 3": {words(0, 0, 2, 22, 0, 38, 0, 5, 3, 0, 0), xdr.ErrBadValue},
		"bytes behind":   {words(0, 0, 2, 22, 0, 38, 0, 5, 2, 0, 0, 0), v4.ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			d := xdr.NewDecoder(tc.reply)
			var h v4.WriteHead
			if v4.DecodeWriteHead(&d, false, &h); !errors.Is(d.Err(), tc.want) {
				t.Errorf("%+v, err = %v, want %v", h, d.Err(), tc.want)
			}
		})
	}
}

func TestTheHotPathNoticesEveryTruncation(t *testing.T) {
	read := hotReply(1, &nfs4wire.Read{EOF: true}, v4.OK, 3)
	write := hotReply(1, &nfs4wire.Write{Count: 5, Verifier: v4.Verifier{1}}, v4.OK, 3)
	for n := range len(read) {
		d := xdr.NewDecoder(read[:n])
		if v4.DecodeReadHead(&d, true, new(v4.ReadHead)); d.Err() == nil {
			t.Errorf("the first %d of %d bytes of a READ decode without error", n, len(read))
		}
	}
	for n := range len(write) {
		d := xdr.NewDecoder(write[:n])
		if v4.DecodeWriteHead(&d, true, new(v4.WriteHead)); d.Err() == nil {
			t.Errorf("the first %d of %d bytes of a WRITE decode without error", n, len(write))
		}
	}
}

func TestTheHotPathAllocatesNothing(t *testing.T) {
	session, s, handle := goldenSession(), goldenStateID(), make([]byte, v4.MaxHandleBytes)
	readReply := hotReply(1, &nfs4wire.Read{Data: []byte("abc")}, v4.OK, 3)
	writeReply := hotReply(1, &nfs4wire.Write{Count: 3, Verifier: v4.Verifier{1}}, v4.OK, 3)
	failed := hotReply(1, &nfs4wire.Read{}, v4.ErrBadSession, 0)
	nonsense := bytes.Repeat([]byte{0, 0, 0, 1}, 20)
	b := make([]byte, 0, 1024)
	var r v4.ReadHead
	var w v4.WriteHead
	got := testing.AllocsPerRun(100, func() {
		b = appendReadCall(b[:0], &session, &s, handle)
		b = v4.AppendWriteHead(b, &s, 1, v4.FileSync, 8192)
		for _, in := range [][]byte{failed, nonsense, readReply} {
			d := xdr.NewDecoder(in)
			v4.DecodeReadHead(&d, true, &r)
		}
		d := xdr.NewDecoder(writeReply)
		v4.DecodeWriteHead(&d, true, &w)
	})
	if got != 0 || r.Data != 3 || w.Count != 3 {
		t.Errorf("%v allocations, %+v, %+v", got, r, w)
	}
}
