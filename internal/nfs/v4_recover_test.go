package nfs

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

func TestAnsweredLateRepliesOfALostClientIDLoseNothing(t *testing.T) {
	s := &serverV4{cfg: &Config{Now: time.Now}, kick: make(chan struct{}, 1)}
	s.beginEra()
	old := s.era.Load()
	if !s.loseClient(old) || !s.lost.Load() {
		t.Error("the loss of the client ID is not noticed")
	}
	s.beginEra()
	if s.loseClient(old) || s.lost.Load() {
		t.Error("an answer to a call from before the restart took the new client ID away")
	}
}

// TestASessionLimitsTransfersAndNotWhatTheServerOffers: its limit includes the header of a call.
func TestASessionLimitsTransfersAndNotWhatTheServerOffers(t *testing.T) {
	for limit, want := range map[uint64]FSInfo{
		1 << 20:        {ReadMaxBytes: 1 << 20, WriteMaxBytes: 1 << 20, TransferReadBytes: 1<<20 - headerBytes, TransferWriteBytes: 1<<20 - headerBytes},
		64 << 10:       {ReadMaxBytes: 64 << 10, WriteMaxBytes: 64 << 10, TransferReadBytes: 64 << 10, TransferWriteBytes: 64 << 10},
		0:              {ReadMaxBytes: 1<<20 - headerBytes, WriteMaxBytes: 1<<20 - headerBytes, TransferReadBytes: 1<<20 - headerBytes, TransferWriteBytes: 1<<20 - headerBytes},
		math.MaxUint64: {ReadMaxBytes: 1 << 31, WriteMaxBytes: 1 << 31, TransferReadBytes: 1<<20 - headerBytes, TransferWriteBytes: 1<<20 - headerBytes},
	} {
		p := &protoV4{at: []*placeV4{{
			server: &serverV4{minor: 1, maxRequest: 1 << 20, maxResponse: 1 << 20}, attrs: v4.Attrs{MaxRead: limit, MaxWrite: limit},
		}}}
		if got, err := p.info(t.Context(), ""); err != nil || got != want {
			t.Errorf("%d: %+v, %v", limit, got, err)
		}
	}
}

// TestAServerWithoutLimitsIsUsed: maxread and maxwrite are recommended attributes, and NFSv4.0 has no session.
func TestAServerWithoutLimitsIsUsed(t *testing.T) {
	p := &protoV4{at: []*placeV4{{server: &serverV4{}}}}
	want := FSInfo{ReadMaxBytes: 32 << 10, WriteMaxBytes: 32 << 10, TransferReadBytes: 32 << 10, TransferWriteBytes: 32 << 10}
	if got, err := p.info(t.Context(), ""); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAServerThatIsAnotherOneEachTimeFillsNoMemory: nor does one that gives another client ID each time.
func TestAServerThatIsAnotherOneEachTimeFillsNoMemory(t *testing.T) {
	s, ids := &serverV4{}, newClientIDs()
	for i := range uint64(10 * maxIdentities) {
		id := ids.at(identity{major: strconv.FormatUint(i, 10)})
		if id != ids.at(identity{major: strconv.FormatUint(i, 10), minor: 1}) {
			t.Fatal("one server has two locks for its client ID")
		}
	}
	id := ids.at(identity{})
	for i := range uint32(10 * maxIdentities) {
		if s.note(&v4.ExchangeID{ClientID: uint64(i) + 1, Seq: i}, id); id.next[uint64(i)+1] != i {
			t.Fatal("the sequence number of a new client ID is not known")
		}
	}
	if len(ids.all) > maxIdentities || len(id.next) > maxIdentities {
		t.Errorf("%d servers and %d client IDs are remembered", len(ids.all), len(id.next))
	}
}

// TestALeaseOfYearsIsNotBelieved: I/O waits as long for a recovery.
func TestALeaseOfYearsIsNotBelieved(t *testing.T) {
	s := &serverV4{cfg: &Config{CallTimeout: time.Minute}, transport: &transport{}}
	if s.setLease(math.MaxUint32 * time.Second); s.patience() > 3*time.Hour {
		t.Errorf("an I/O waits for %v", s.patience())
	}
}

// TestServeAnswersNonsense: what the other side calls is hostile.
func TestServeAnswersNonsense(t *testing.T) {
	s := &serverV4{}
	call := func(program, procedure uint32, p *v4.CBCompound) []byte {
		b := rpc.AppendCall(nil, program, v4.CallbackVersion, procedure, rpc.AuthSys{}.Auth())
		if p != nil {
			b = nfs4wire.AppendCallback(b, p)
		}
		return b[rpc.RecordMarkBytes:]
	}
	for name, tc := range map[string]struct {
		in    []byte
		reply bool
	}{
		"nothing":         {nil, false},
		"half a header":   {call(v4.CallbackProgram, 1, nil)[:20], false},
		"CB_NULL":         {call(v4.CallbackProgram, v4.CallbackProcNull, nil), true},
		"other program":   {call(7, 1, nil), true},
		"other procedure": {call(v4.CallbackProgram, 9, nil), true},
		"no arguments":    {call(v4.CallbackProgram, 1, nil), true},
		"no CB_SEQUENCE":  {call(v4.CallbackProgram, 1, &v4.CBCompound{Minor: 1, Ops: []v4.Operation{&v4.CBRecallSlot{}}}), true},
		"minor version":   {call(v4.CallbackProgram, 1, &v4.CBCompound{Minor: 7, Ops: []v4.Operation{&v4.CBSequence{}}}), true},
		"two sequences":   {call(v4.CallbackProgram, 1, &v4.CBCompound{Minor: 1, Ops: []v4.Operation{&v4.CBSequence{}, &v4.CBSequence{}}}), true},
	} {
		if got := s.serve(slices.Clone(tc.in)); (got != nil) != tc.reply {
			t.Errorf("%s: reply %x, want one: %v", name, got, tc.reply)
		}
	}
}
