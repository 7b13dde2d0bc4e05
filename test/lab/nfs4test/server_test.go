package nfs4test_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

const (
	here  = "127.0.0.1"
	there = "127.0.0.2"
)

// wire is a connection that sends raw compounds.
type wire struct {
	t       *testing.T
	s       *nfs4test.Server
	address string
	conn    *rpc.Conn
	minor   uint32
	session v4.SessionID
	client  uint64
	seqs    map[uint32]uint32 // by slot
}

func dial(t *testing.T, s *nfs4test.Server, address string, minor uint32) *wire {
	t.Helper()
	w := &wire{t: t, s: s, address: address, minor: minor, seqs: map[uint32]uint32{}}
	w.redial()
	return w
}

func (w *wire) redial() {
	w.t.Helper()
	nc, err := net.Dial("tcp", net.JoinHostPort(w.address, strconv.Itoa(w.s.Port())))
	if err != nil {
		w.t.Fatal(err)
	}
	w.conn = rpc.NewConn(nc, rpc.Options{})
	w.t.Cleanup(func() { _ = w.conn.Close() })
}

// call sends operations as they are.
func (w *wire) call(ops ...v4.Operation) error {
	w.t.Helper()
	p := v4.Compound{Minor: w.minor, Ops: ops}
	var call rpc.Call
	call.Reset()
	head := rpc.AppendCall(nil, v4.Program, v4.Version, v4.ProcCompound, rpc.AuthSys{Machine: "t"}.Auth())
	call.Request = p.Append(head)
	if err := w.conn.Do(w.t.Context(), &call); err != nil {
		return err
	}
	d := xdr.NewDecoder(call.Results)
	_, err := p.DecodeReply(&d)
	return err
}

// sequence returns the next SEQUENCE on a slot.
func (w *wire) sequence(slot uint32, cache bool) *v4.Sequence {
	w.seqs[slot]++
	return &v4.Sequence{Session: w.session, Seq: w.seqs[slot], Slot: slot, HighestSlot: slot, CacheThis: cache}
}

// do sends operations behind a SEQUENCE on slot 0, with NFSv4.0 without, and wants status.
func (w *wire) do(want v4.Status, ops ...v4.Operation) {
	w.t.Helper()
	if w.minor > 0 {
		ops = append([]v4.Operation{w.sequence(0, true)}, ops...)
	}
	w.wants(want, w.call(ops...))
}

func (w *wire) wants(want v4.Status, err error) {
	w.t.Helper()
	if want == v4.OK && err != nil || want != v4.OK && !errors.Is(err, want) {
		w.t.Fatalf("err = %v, want %v", err, want)
	}
}

// login makes a client ID and a session.
func (w *wire) login(flags uint32) *v4.ExchangeID {
	w.t.Helper()
	id := &v4.ExchangeID{Verifier: v4.Verifier{1}, Owner: []byte("c"), Flags: flags}
	w.wants(v4.OK, w.call(id))
	w.client = id.ClientID
	w.create(id.Seq)
	return id
}

func (w *wire) create(seq uint32) {
	w.t.Helper()
	attrs := v4.ChannelAttrs{MaxRequest: 2 << 20, MaxResponse: 2 << 20, MaxResponseCached: 4096, MaxOperations: 8, MaxRequests: 128}
	create := &v4.CreateSession{ClientID: w.client, Seq: seq, Flags: v4.SessionConnBackChan, Fore: attrs, Back: attrs, CallbackProgram: v4.CallbackProgram}
	w.wants(v4.OK, w.call(create))
	w.session, w.seqs = create.Session, map[uint32]uint32{}
}

func (w *wire) logout() {
	w.t.Helper()
	w.wants(v4.OK, w.call(&v4.DestroySession{Session: w.session}))
	w.wants(v4.OK, w.call(&v4.DestroyClientID{ClientID: w.client}))
}

// export returns the operations that go to the export.
func export(then ...v4.Operation) []v4.Operation {
	return append([]v4.Operation{&v4.PutRootFH{}, &v4.Lookup{Name: "export"}}, then...)
}

// opened opens a file below the export with NFSv4.1.
func (w *wire) opened(name string) (handle []byte, id v4.StateID) {
	w.t.Helper()
	o := &v4.Open{Access: v4.ShareBoth | v4.WantNoDeleg, Owner: []byte("o"), How: v4.CreateUnchecked, Name: name}
	h := &v4.GetFH{}
	w.do(v4.OK, export(o, h)...)
	return h.Handle, o.StateID
}

func start(t *testing.T, s *nfs4test.Server, addresses ...string) *nfs4test.Server {
	t.Helper()
	s.Start(t, addresses...)
	return s
}

// violated wants one violation that contains text.
func violated(t *testing.T, s *nfs4test.Server, text string) {
	t.Helper()
	all := s.TakeViolations()
	if len(all) != 1 || !strings.Contains(all[0], text) {
		t.Errorf("violations %q, want one of %q", all, text)
	}
}

func TestASessionOpensWritesReadsAndLeavesNothing(t *testing.T) {
	s := start(t, &nfs4test.Server{Exports: []string{"/export", "/vol/x"}}, here)
	w := dial(t, s, here, 1)
	w.login(0)
	w.do(v4.OK, &v4.ReclaimComplete{})
	h, id := w.opened("f")
	w.do(v4.OK, &v4.PutFH{Handle: h}, &nfs4wire.Write{StateID: id, Offset: 2, Data: []byte("data")})
	r := &nfs4wire.Read{StateID: id, Count: 100}
	w.do(v4.OK, &v4.PutFH{Handle: h}, r)
	if !bytes.Equal(r.Data, []byte("\x00\x00data")) || !r.EOF {
		t.Errorf("read %q, EOF %v", r.Data, r.EOF)
	}
	list := &v4.ReadDir{MaxCount: 4096, Request: v4.Bits(v4.AttrType, v4.AttrSize)}
	w.do(v4.OK, export(list)...)
	var a v4.Attrs
	if len(list.Entries) != 1 || a.DecodeValues(list.Entries[0].AttrMask, list.Entries[0].AttrValues) != nil || a.Size != 6 {
		t.Errorf("entries %+v, attributes %+v", list.Entries, a)
	}
	deep := &v4.GetAttr{Request: v4.Bits(v4.AttrFSID)}
	w.do(v4.OK, &v4.PutRootFH{}, &v4.Lookup{Name: "vol"}, &v4.Lookup{Name: "x"}, deep)
	if deep.Attrs.FSID.Major != 2 {
		t.Errorf("fsid %+v of the second export", deep.Attrs.FSID)
	}
	w.do(v4.OK, &v4.PutFH{Handle: h}, &v4.Commit{}, &v4.Close{StateID: id})
	w.logout()
	if c := s.Counters(here); c.Reads != 1 || c.Writes != 1 || c.BytesWritten != 4 || c.BytesRead != 6 || c.Commits != 1 {
		t.Errorf("counters %+v", c)
	}
}

func TestSlotsRememberReplies(t *testing.T) {
	s := start(t, &nfs4test.Server{Slots: 2}, here)
	w := dial(t, s, here, 1)
	w.login(0)
	defer w.logout()

	cached, root := w.sequence(0, true), &v4.PutRootFH{}
	w.wants(v4.OK, w.call(cached, root))
	w.wants(v4.OK, w.call(cached, root))
	read := []v4.Operation{w.sequence(1, true), &v4.PutFH{Handle: []byte("none")}, &nfs4wire.Read{}}
	w.wants(v4.ErrBadHandle, w.call(read...))
	w.wants(v4.ErrBadHandle, w.call(read...))
	uncached := w.sequence(1, false)
	w.wants(v4.OK, w.call(uncached, root))
	w.wants(v4.ErrRetryUncachedRep, w.call(uncached, root))

	w.wants(v4.ErrSeqFalseRetry, w.call(cached, root, &v4.GetFH{}))
	violated(t, s, "differs from the first try")
	cached.Seq += 2
	w.wants(v4.ErrSeqMisordered, w.call(cached, root))
	violated(t, s, "sequence ID 3 after 1")
	w.wants(v4.ErrBadSlot, w.call(w.sequence(2, false), root))
	violated(t, s, "slot 2 of a session of 2")
	w.wants(v4.ErrOpNotInSession, w.call(root))
	violated(t, s, "without SEQUENCE")
}

func TestTheLimitsOfASession(t *testing.T) {
	s := start(t, &nfs4test.Server{}, here)
	w := dial(t, s, here, 1)
	id := w.login(0)
	small := v4.ChannelAttrs{MaxRequest: 512, MaxResponse: 256, MaxResponseCached: 256, MaxOperations: 4, MaxRequests: 1}
	create := &v4.CreateSession{ClientID: w.client, Seq: id.Seq + 1, Fore: small, Back: small}
	first := w.session
	w.wants(v4.OK, w.call(create))
	w.session, w.seqs = create.Session, map[uint32]uint32{}
	root := &v4.PutRootFH{}
	many := v4.Bits(v4.AttrType, v4.AttrSize, v4.AttrFSID, v4.AttrMaxRead, v4.AttrMaxWrite, v4.AttrOwner, v4.AttrOwnerGroup,
		v4.AttrSpaceAvail, v4.AttrSpaceTotal)
	w.do(v4.OK, root, &v4.GetAttr{Request: many}, &v4.GetAttr{Request: many})
	violated(t, s, "ca_maxresponsesize 256")
	w.do(v4.ErrReqTooBig, root, &v4.Lookup{Name: strings.Repeat("x", 512)})
	violated(t, s, "ca_maxrequestsize 512")
	w.seqs[0]--
	w.do(v4.ErrTooManyOps, root, root, root, root)
	violated(t, s, "ca_maxoperations 4")
	w.wants(v4.OK, w.call(&v4.DestroySession{Session: first}))
	w.logout()
}

func TestALostReplyIsGivenAgainOnAnotherConnection(t *testing.T) {
	s := &nfs4test.Server{}
	lose := true
	s.Hook = func(c nfs4test.Call) (a nfs4test.Action) {
		if c.Has(v4.OpWrite) && lose {
			lose, a.Lose = false, true
		}
		return a
	}
	start(t, s, here)
	w := dial(t, s, here, 1)
	w.login(0)
	w.do(v4.OK, &v4.ReclaimComplete{})
	h, id := w.opened("f")
	put, write := &v4.PutFH{Handle: h}, &nfs4wire.Write{StateID: id, Data: []byte("once")}
	q := w.sequence(0, true)
	if err := w.call(q, put, write); err == nil {
		t.Fatal("the reply was not lost")
	}
	w.redial()
	w.wants(v4.OK, w.call(w.sequence(0, true), put))
	violated(t, s, "before 3 was answered")
	w.seqs[0]--
	w.wants(v4.ErrSeqMisordered, w.call(q, put, write))
	violated(t, s, "sequence ID 3 after 4")
	w.seqs[0]++

	lose = true
	q, write.Count = w.sequence(0, true), 0
	if err := w.call(q, put, write); err == nil {
		t.Fatal("the reply was not lost")
	}
	w.redial()
	w.wants(v4.OK, w.call(q, put, write))
	if n := s.Counters(here).Writes; n != 2 || write.Count != 4 {
		t.Errorf("%d writes executed, %d bytes", n, write.Count)
	}
	w.do(v4.OK, &v4.PutFH{Handle: h}, &v4.Close{StateID: id})
	w.logout()
}

func TestWhatClientsDoAgainstTheProtocolIsNoticed(t *testing.T) {
	s := start(t, &nfs4test.Server{}, here)
	w := dial(t, s, here, 1)
	w.login(0)
	w.do(v4.ErrGrace, export(&v4.Open{Access: v4.ShareBoth, Name: "f", How: v4.CreateUnchecked})...)
	violated(t, s, "before RECLAIM_COMPLETE")
	w.do(v4.OK, &v4.ReclaimComplete{})
	h, id := w.opened("f")
	w.do(v4.ErrBadStateID, &v4.PutFH{Handle: h}, &nfs4wire.Read{Count: 1})
	violated(t, s, "special state ID")
	g, _ := w.opened("g")
	w.do(v4.ErrBadStateID, &v4.PutFH{Handle: g}, &nfs4wire.Read{StateID: id, Count: 1})
	violated(t, s, "another file")
	w.do(v4.ErrCompleteAlready, &v4.ReclaimComplete{})
	violated(t, s, "twice")
	reading := &v4.Open{Access: v4.ShareRead, Owner: []byte("reader"), Name: "g"}
	w.do(v4.OK, export(reading)...)
	w.do(v4.ErrOpenMode, &v4.PutFH{Handle: g}, &nfs4wire.Write{StateID: reading.StateID, Data: []byte("x")})
	violated(t, s, "open for access 1")
	w.wants(v4.OK, w.call(&v4.DestroySession{Session: w.session}))
	w.wants(v4.ErrClientIDBusy, w.call(&v4.DestroyClientID{ClientID: w.client}))
	violated(t, s, "DESTROY_CLIENTID with")
	s.ExpireLease() // or what is left fails this test
}

// recorder is a test that only remembers.
type recorder struct {
	testing.TB
	cleanup func()
	errors  []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = f }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestStateThatIsLeftBehindFailsTheTest(t *testing.T) {
	s, r := &nfs4test.Server{}, &recorder{TB: t}
	s.Start(r, here)
	w := dial(t, s, here, 1)
	w.login(0)
	w.do(v4.OK, &v4.ReclaimComplete{})
	w.opened("f")
	zero := dial(t, s, here, 0)
	zero.opened0("g")
	r.cleanup()
	slices.Sort(r.errors)
	want := []string{
		`NFSv4 server: a session of client "c" was left behind`,
		`NFSv4 server: open of "f" was left behind`,
		`NFSv4 server: open of "g" was left behind`,
		`NFSv4 server: the client ID of "c" was left behind`,
	}
	if !slices.Equal(r.errors, want) {
		t.Errorf("errors %q", r.errors)
	}
}

func TestTrunkingIsWhatTheIdentitiesSay(t *testing.T) {
	for name, tc := range map[string]struct {
		second  nfs4test.Identity
		session v4.Status // of the first session at the second address
		client  v4.Status // of the client ID
	}{
		"session":   {nfs4test.Identity{Major: "a", Scope: "s"}, v4.OK, v4.OK},
		"client ID": {nfs4test.Identity{Major: "a", Scope: "s", Minor: 1}, v4.ErrBadSession, v4.OK},
		"separate":  {nfs4test.Identity{Major: "b", Scope: "s"}, v4.ErrBadSession, v4.ErrStaleClientID},
	} {
		t.Run(name, func(t *testing.T) {
			s := &nfs4test.Server{LeaveState: true, RequireBind: true}
			s.Identity = func(a string) nfs4test.Identity {
				if a == there {
					return tc.second
				}
				return nfs4test.Identity{Major: "a", Scope: "s"}
			}
			start(t, s, here, there)
			one, two := dial(t, s, here, 1), dial(t, s, there, 1)
			one.login(0)
			if tc.session == v4.OK {
				two.wants(v4.ErrConnNotBoundToSession, two.call(one.sequence(1, false)))
			}
			two.wants(tc.session, two.call(&v4.BindConnToSession{Session: one.session, Dir: v4.DirForeOrBoth}))
			one.seqs[1] = 0
			two.wants(tc.session, two.call(one.sequence(1, false)))
			two.wants(tc.client, two.call(&v4.CreateSession{ClientID: one.client, Seq: 8, Fore: v4.ChannelAttrs{MaxRequests: 1, MaxOperations: 8}}))
		})
	}
}

func TestARestartForgetsAndLetsReclaim(t *testing.T) {
	s := start(t, &nfs4test.Server{}, here)
	w := dial(t, s, here, 1)
	w.login(0)
	w.do(v4.OK, &v4.ReclaimComplete{})
	h, id := w.opened("f")
	before := &nfs4wire.Write{StateID: id, Data: []byte("gone")}
	w.do(v4.OK, &v4.PutFH{Handle: h}, before)
	s.Restart()
	w.redial()
	w.wants(v4.ErrBadSession, w.call(w.sequence(0, false)))
	w.wants(v4.ErrStaleClientID, w.call(&v4.CreateSession{ClientID: w.client}))
	w.login(0)
	again := &v4.Open{Access: v4.ShareBoth, Owner: []byte("o"), Claim: v4.ClaimPrevious}
	w.do(v4.OK, &v4.PutFH{Handle: h}, again)
	w.do(v4.OK, &v4.ReclaimComplete{})
	w.do(v4.ErrNoGrace, &v4.PutFH{Handle: h}, &v4.Open{Access: v4.ShareBoth, Owner: []byte("o"), Claim: v4.ClaimPrevious})
	w.do(v4.ErrGrace, export(&v4.Open{Access: v4.ShareBoth, Name: "f"})...)
	s.EndGrace()
	if got := s.Content("f"); len(got) != 0 {
		t.Errorf("%q survived without COMMIT", got)
	}
	w.do(v4.ErrStaleStateID, &v4.PutFH{Handle: h}, &nfs4wire.Read{StateID: id, Count: 1})
	after := &nfs4wire.Write{StateID: again.StateID, Data: []byte("stay"), Stable: v4.FileSync}
	w.do(v4.OK, &v4.PutFH{Handle: h}, after)
	if before.Verifier == after.Verifier {
		t.Error("the write verifier is the same after a restart")
	}
	w.do(v4.OK, &v4.PutFH{Handle: h}, &v4.Close{StateID: again.StateID})
	w.logout()
}

func TestStateThatIsTakenAway(t *testing.T) {
	s := start(t, &nfs4test.Server{}, here)
	w := dial(t, s, here, 1)
	id := w.login(0)
	w.do(v4.OK, &v4.ReclaimComplete{})
	h, open := w.opened("f")
	s.RevokeState()
	q := w.sequence(0, true)
	w.wants(v4.ErrAdminRevoked, w.call(q, &v4.PutFH{Handle: h}, &nfs4wire.Read{StateID: open, Count: 1}))
	if q.Reply.Flags != v4.SeqAdminStateRevoked {
		t.Errorf("flags of SEQUENCE %#x", q.Reply.Flags)
	}
	w.do(v4.OK, &v4.FreeStateID{StateID: open})
	s.DestroySessions()
	w.wants(v4.ErrBadSession, w.call(w.sequence(0, true)))
	w.create(id.Seq + 1)
	w.do(v4.OK)
	s.ExpireLease()
	w.wants(v4.ErrBadSession, w.call(w.sequence(0, true)))
}

func TestALeaseExpiresByTheClock(t *testing.T) {
	var passed atomic.Int64
	begin := time.Now()
	s := &nfs4test.Server{LeaseSeconds: 10, EnforceLease: true}
	s.Now = func() time.Time { return begin.Add(time.Duration(passed.Load()) * time.Second) }
	start(t, s, here)
	w := dial(t, s, here, 1)
	w.login(0)
	for range 3 {
		passed.Add(9)
		w.do(v4.OK)
	}
	passed.Add(11)
	w.wants(v4.ErrBadSession, w.call(w.sequence(0, false)))
	zero := dial(t, s, here, 0)
	h, id := zero.opened0("f")
	for range 3 {
		passed.Add(9)
		zero.do(v4.OK, &v4.PutFH{Handle: h}, &nfs4wire.Read{StateID: id, Count: 1})
		passed.Add(9)
		zero.do(v4.OK, &v4.Renew{ClientID: zero.client})
	}
	passed.Add(11)
	zero.do(v4.ErrExpired, export(&v4.Lookup{Name: "f"}, &nfs4wire.Read{StateID: id, Count: 1})...)
}

func TestCallbacksGoOverTheBackChannel(t *testing.T) {
	s := start(t, &nfs4test.Server{LeaveState: true, Delegate: true}, here)
	dev := &layout.Device{StripeIndices: []uint32{0}, Servers: [][]layout.NetAddr{{s.NetAddr(here)}}}
	s.SetLayouts(func(string) []layout.Segment {
		return []layout.Segment{{IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Device: dev, Body: layout.Body{StripeUnit: 4096}}}
	})
	nc, err := net.Dial("tcp", net.JoinHostPort(here, strconv.Itoa(s.Port())))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Callback(&v4.CBRecallSlot{}); err != nil {
		t.Errorf("callback to nobody: %v", err)
	}
	w := dial(t, s, here, 1)
	_ = w.conn.Close()
	relay := answering(t, nc)
	w.conn = rpc.NewConn(relay, rpc.Options{})
	w.login(0)
	w.do(v4.OK, &v4.ReclaimComplete{})
	h, id := w.opened("f")
	get := &v4.LayoutGet{Type: v4.LayoutFiles, IOMode: v4.IOModeRead, Length: v4.ToEnd, StateID: id, MaxCount: 65536}
	w.do(v4.OK, &v4.PutFH{Handle: h}, get)
	if n, err := s.RecallLayouts("f"); n != 1 || err != nil {
		t.Errorf("%d layouts recalled, %v", n, err)
	}
	back := &v4.LayoutReturn{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfFile, Length: v4.ToEnd, StateID: get.Granted}
	w.do(v4.ErrOldStateID, &v4.PutFH{Handle: h}, back) // the recall moved it on
	back.StateID.Seq++
	w.do(v4.OK, &v4.PutFH{Handle: h}, back)
	if _, _, opens, layouts := s.Clients(); opens != 1 || layouts != 0 {
		t.Errorf("%d opens, %d layouts", opens, layouts)
	}
	if n, err := s.RecallDelegations(); n != 1 || err != nil {
		t.Errorf("%d delegations recalled, %v", n, err)
	}
	if all := s.Callbacks(); len(all) != 2 || all[0].Op != v4.OpCBLayoutRecall || all[1].Op != v4.OpCBRecall || all[1].Err != nil {
		t.Errorf("callbacks %+v", all)
	}
	s.KillConnections(here)
	if err := s.RecallSlots(0); !errors.Is(err, nfs4test.ErrNoBackChannel) {
		t.Errorf("err = %v", err)
	}
	again := dial(t, s, here, 1)
	again.session, again.seqs = w.session, w.seqs
	q := again.sequence(0, false)
	again.wants(v4.OK, again.call(q))
	if q.Reply.Flags&v4.SeqCBPathDownSession == 0 || q.Reply.TargetSlot != 0 {
		t.Errorf("SEQUENCE says %+v", q.Reply)
	}
}

// answering returns a connection that passes on all records of nc but callbacks, which it
// answers with success.
func answering(t *testing.T, nc net.Conn) net.Conn {
	t.Helper()
	inner, outer := net.Pipe()
	t.Cleanup(func() { _ = inner.Close(); _ = outer.Close(); _ = nc.Close() })
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := inner.Read(buf)
			if err != nil {
				return
			}
			_, _ = nc.Write(buf[:n])
		}
	}()
	go func() {
		rec := rpc.NewRecordReader(nc, 1<<20)
		for rec.Next() == nil {
			in, err := rec.AppendRest(nil)
			if err != nil {
				return
			}
			out := append(rpc.AppendRecordMark(nil, len(in)), in...)
			to := inner
			d := xdr.NewDecoder(in)
			var h rpc.CallHeader
			if xdr.Decode(&d, &h); d.Err() == nil {
				var call v4.CBCompound
				_ = call.DecodeCall(&d)
				q := call.Ops[0].(*v4.CBSequence)
				q.Reply.Session, q.Reply.Seq = q.Session, q.Seq
				head := (&rpc.ReplyHeader{XID: h.XID}).Append(make([]byte, rpc.RecordMarkBytes))
				out, to = call.AppendReply(head, v4.OK, len(call.Ops)), nc
				rpc.PutRecordMark(out, len(out)-rpc.RecordMarkBytes)
			}
			_, _ = to.Write(out)
		}
		_ = inner.Close()
	}()
	return outer
}

func TestOneServerMayGiveAClientIDForEachAddress(t *testing.T) {
	s := start(t, &nfs4test.Server{ClientIDPerAddress: true}, here, there)
	one, two := dial(t, s, here, 1), dial(t, s, there, 1)
	first := one.login(0)
	second := &v4.ExchangeID{Verifier: v4.Verifier{1}, Owner: []byte("c")}
	two.wants(v4.OK, two.call(second))
	if first.ClientID == second.ClientID || !bytes.Equal(first.ServerMajor, second.ServerMajor) {
		t.Errorf("client IDs %d and %d of servers %s and %s", first.ClientID, second.ClientID, first.ServerMajor, second.ServerMajor)
	}
	two.wants(v4.OK, two.call(one.sequence(0, false)))
	one.logout()
}

func TestAReadOrWriteAllocatesNothing(t *testing.T) {
	for _, minor := range []uint32{0, 1} {
		t.Run(strconv.Itoa(int(minor)), func(t *testing.T) {
			s := start(t, &nfs4test.Server{LeaveState: true}, here)
			w := dial(t, s, here, minor)
			var call rpc.Call
			call.Reset()
			var h []byte
			var id v4.StateID
			if minor == 1 {
				w.login(0)
				w.do(v4.OK, &v4.ReclaimComplete{})
				h, id = w.opened("f")
			} else {
				h, id = w.opened0("f")
			}
			data := make([]byte, 4096)
			w.do(v4.OK, &v4.PutFH{Handle: h}, &nfs4wire.Write{StateID: id, Data: data, Stable: v4.FileSync})
			write := false
			round := func() {
				call.Reset()
				call.Request = rpc.AppendCall(call.Request, v4.Program, v4.Version, v4.ProcCompound, rpc.Auth{})
				call.Request = v4.AppendCompoundHead(call.Request, minor, 2+minor)
				if minor == 1 {
					w.seqs[0]++
					call.Request = v4.AppendSequence(call.Request, &w.session, w.seqs[0], 0, 0, false)
				}
				call.Request = v4.AppendPutFH(call.Request, h)
				if write = !write; write {
					call.Request = v4.AppendWriteHead(call.Request, &id, 0, v4.FileSync, len(data))
					call.Request = append(call.Request, data...)
				} else {
					call.Request = v4.AppendRead(call.Request, &id, 0, 4096)
				}
				if err := w.conn.Do(t.Context(), &call); err != nil {
					t.Fatal(err)
				}
				if call.Results[3] != 0 {
					t.Fatalf("results %x", call.Results[:min(64, len(call.Results))])
				}
			}
			round()
			round()
			if n := testing.AllocsPerRun(200, round); n != 0 {
				t.Errorf("%v allocations for an operation, client and server together", n)
			}
			if c := s.Counters(here); c.Reads < 100 || c.Writes < 100 {
				t.Errorf("counters %+v", c)
			}
		})
	}
}

// opened0 opens a file below the export with NFSv4.0.
func (w *wire) opened0(name string) (handle []byte, id v4.StateID) {
	w.t.Helper()
	set := &v4.SetClientID{Verifier: v4.Verifier{1}, Owner: []byte("c")}
	w.do(v4.OK, set)
	w.do(v4.OK, &v4.SetClientIDConfirm{ClientID: set.ClientID, Confirm: set.Confirm})
	w.client = set.ClientID
	o := &v4.Open{Seq: 1, Access: v4.ShareBoth, ClientID: set.ClientID, Owner: []byte("o"), How: v4.CreateUnchecked, Name: name}
	h := &v4.GetFH{}
	w.do(v4.OK, export(o, h)...)
	confirm := &v4.OpenConfirm{StateID: o.StateID, Seq: 2}
	w.do(v4.OK, &v4.PutFH{Handle: h.Handle}, confirm)
	return h.Handle, confirm.Confirmed
}

func TestMinorVersionZero(t *testing.T) {
	s := start(t, &nfs4test.Server{Minors: []uint32{0}}, here)
	one := dial(t, s, here, 1)
	one.wants(v4.ErrMinorVersMismatch, one.call(&v4.ExchangeID{Owner: []byte("c")}))
	w := dial(t, s, here, 0)
	set := &v4.SetClientID{Verifier: v4.Verifier{1}, Owner: []byte("c")}
	w.do(v4.OK, set)
	w.do(v4.ErrStaleClientID, &v4.Renew{ClientID: set.ClientID})
	w.do(v4.OK, &v4.SetClientIDConfirm{ClientID: set.ClientID, Confirm: set.Confirm})
	w.do(v4.OK, &v4.Renew{ClientID: set.ClientID})

	open := func(seq uint32) *v4.Open {
		return &v4.Open{Seq: seq, Access: v4.ShareBoth, ClientID: set.ClientID, Owner: []byte("o"), How: v4.CreateUnchecked, Name: "f"}
	}
	o, h := open(41), &v4.GetFH{}
	w.do(v4.OK, export(o, h)...)
	if o.Flags&v4.OpenConfirmNeeded == 0 {
		t.Fatal("OPEN asks for no OPEN_CONFIRM")
	}
	put := &v4.PutFH{Handle: h.Handle}
	w.do(v4.ErrBadStateID, put, &nfs4wire.Read{StateID: o.StateID, Count: 1})
	violated(t, s, "before OPEN_CONFIRM")
	confirm := &v4.OpenConfirm{StateID: o.StateID, Seq: 42}
	w.do(v4.OK, put, confirm)
	id := confirm.Confirmed
	w.do(v4.OK, put, &nfs4wire.Write{StateID: id, Data: []byte("zero")})
	w.do(v4.ErrOldStateID, put, &nfs4wire.Read{StateID: o.StateID, Count: 1})
	w.do(v4.ErrBadSeqID, export(open(45))...)
	violated(t, s, "sequence ID 45 after 42")
	closing := &v4.Close{Seq: 43, StateID: id}
	w.do(v4.OK, put, closing)
	w.do(v4.OK, put, closing) // a retry
	w.do(v4.ErrBadStateID, put, &nfs4wire.Read{StateID: id, Count: 1})
	violated(t, s, "was closed")
	if got := s.Content("f"); string(got) != "zero" {
		t.Errorf("content %q", got)
	}
	w.do(v4.OK, export(open(44))...)
	s.ExpireLease()
	w.do(v4.ErrExpired, &v4.Renew{ClientID: set.ClientID})
}

func TestFaultsOnDemand(t *testing.T) {
	hold := make(chan struct{})
	actions := map[v4.Op]nfs4test.Action{
		v4.OpGetAttr: nfs4test.Fail(v4.OpGetAttr, v4.ErrDelay),
		v4.OpCommit:  nfs4test.Fail(v4.OpSequence, v4.ErrDelay),
		v4.OpRemove:  {Disconnect: true},
		v4.OpGetFH:   {Hold: hold},
	}
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action { return actions[c.Ops[len(c.Ops)-1].Op()] }}
	start(t, s, here)
	w := dial(t, s, here, 1)
	w.login(0)
	w.do(v4.ErrDelay, &v4.PutRootFH{}, &v4.GetAttr{})
	w.do(v4.ErrDelay, &v4.PutRootFH{}, &v4.Commit{})
	w.seqs[0]-- // SEQUENCE failed, so that the slot did not move on
	held := make(chan error)
	slow := []v4.Operation{w.sequence(1, false), &v4.PutRootFH{}, &v4.GetFH{}}
	go func() { held <- w.call(slow...) }()
	w.do(v4.OK, &v4.PutRootFH{})
	close(hold)
	w.wants(v4.OK, <-held)
	if err := w.call(w.sequence(0, false), &v4.PutRootFH{}, &v4.Remove{Name: "x"}); err == nil {
		t.Error("the connection was not closed")
	}
	w.redial()
	w.logout()
}

// pnfs returns a server with two data servers, whose files are striped over both, and the
// stripe unit.
func pnfs(t *testing.T, dense bool) (*nfs4test.Server, uint32) {
	t.Helper()
	s := &nfs4test.Server{ReturnOnClose: true}
	s.Identity = func(a string) nfs4test.Identity {
		return nfs4test.Identity{Major: a, Scope: "s", Data: a != here}
	}
	start(t, s, here, there, "127.0.0.3")
	dev := &layout.Device{
		StripeIndices: []uint32{0, 1},
		Servers:       [][]layout.NetAddr{{s.NetAddr(there)}, {s.NetAddr("127.0.0.3")}},
	}
	s.SetLayouts(func(name string) []layout.Segment {
		if strings.HasPrefix(name, "plain") {
			return nil
		}
		return []layout.Segment{{IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Device: dev, Body: layout.Body{
			Device: v4.DeviceID{1}, StripeUnit: 4096, Dense: dense, Handles: [][]byte{[]byte(name + "0"), []byte(name + "1")},
		}}}
	})
	return s, 4096
}

func TestDataServersHoldTheBytesOfAFile(t *testing.T) {
	for name, dense := range map[string]bool{"dense": true, "sparse": false} {
		t.Run(name, func(t *testing.T) {
			s, unit := pnfs(t, dense)
			w := dial(t, s, here, 1)
			w.login(v4.ExchangeUsePNFSMDS)
			w.do(v4.OK, &v4.ReclaimComplete{})
			h, id := w.opened("f")
			put := &v4.PutFH{Handle: h}
			ds := dial(t, s, there, 1)
			if got := ds.login(v4.ExchangeUsePNFSDS); got.Granted != v4.ExchangeUsePNFSDS {
				t.Errorf("a data server grants %#x", got.Granted)
			}
			// Bytes 8192 to 12287 are in stripe unit 2: the second of the first data server.
			at := uint64(2 * unit)
			if dense {
				at = uint64(unit)
			}
			id.Seq = 0
			write := &nfs4wire.Write{StateID: id, Offset: at, Data: bytes.Repeat([]byte("d"), int(unit))}
			ds.do(v4.ErrPNFSNoLayout, &v4.PutFH{Handle: []byte("f0")}, write)

			get := &v4.LayoutGet{Type: v4.LayoutFiles, IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, StateID: id, MaxCount: 65536}
			w.do(v4.OK, put, get)
			info := &v4.GetDeviceInfo{Device: v4.DeviceID{1}, Type: v4.LayoutFiles, MaxCount: 65536}
			w.do(v4.OK, info)
			var dev layout.Device
			d := xdr.NewDecoder(info.Address)
			xdr.Decode(&d, &dev)
			if d.Err() != nil || len(dev.Servers) != 2 || len(get.Segments) != 1 || !get.ReturnOnClose {
				t.Fatalf("device %+v, layout %+v", dev, get)
			}
			ds.do(v4.OK, &v4.PutFH{Handle: []byte("f0")}, write)
			ds.do(v4.OK, &v4.PutFH{Handle: []byte("f0")}, &v4.Commit{})
			if !dense {
				ds.do(v4.ErrPNFSIOHole, &v4.PutFH{Handle: []byte("f0")}, &nfs4wire.Read{StateID: id, Offset: uint64(unit), Count: 1})
				violated(t, s, "where it has a hole")
			}
			ds.do(v4.ErrNotSupp, &v4.PutFH{Handle: []byte("f0")}, &v4.GetAttr{})
			violated(t, s, "GETATTR at a data server")

			if got := s.Content("f"); len(got) != 0 {
				t.Errorf("the metadata server knows %d bytes before LAYOUTCOMMIT", len(got))
			}
			commit := &v4.LayoutCommit{Length: v4.ToEnd, StateID: get.Granted, HasLastWrite: true, LastWrite: uint64(3*unit) - 1, Type: v4.LayoutFiles}
			w.do(v4.OK, put, commit)
			want := append(make([]byte, 2*unit), write.Data...)
			if got := s.Content("f"); !bytes.Equal(got, want) {
				t.Errorf("content of %d bytes differs from what was written", len(got))
			}
			s.Restart(there)
			if got := s.Content("f"); !bytes.Equal(got, want) {
				t.Error("what was committed is gone after a restart of the data server")
			}
			plain, pid := w.opened("plain")
			get.StateID, get.Segments = pid, nil
			w.do(v4.ErrLayoutUnavailable, &v4.PutFH{Handle: plain}, get)
			w.do(v4.OK, &v4.PutFH{Handle: plain}, &v4.Close{StateID: pid})
			w.do(v4.OK, put, &v4.Close{StateID: id})
			w.logout()
			if c := s.Counters(there); c.Writes != 2 || c.BytesWritten != int64(unit) {
				t.Errorf("counters of the data server %+v", c)
			}
		})
	}
}
