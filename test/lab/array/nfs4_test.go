package array

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// client4 is a client of NFSv4 with a connection over each LIF, and one file that is open.
// Of a client with sessions both connections belong to one.
type client4 struct {
	t      *testing.T
	array  *Array
	minor  uint32
	conns  [2]*rpc.Conn
	server v4.ExchangeID // what NFSv4.1 told of it

	session v4.SessionID
	slots   [9]uint32 // sequence of each; the last is that of whatever is not a read
	id      uint64
	owner   []byte

	handle  []byte
	stateID v4.StateID
}

// dial4 connects over the LIF of a node.
func dial4(t *testing.T, a *Array, lif int) *rpc.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", net.JoinHostPort(a.LIFs()[lif].Address, "2049"))
	if err != nil {
		t.Fatal(err)
	}
	conn := rpc.NewConn(nc, rpc.Options{})
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newClient4 makes a client that has a new file of a volume open.
func newClient4(t *testing.T, a *Array, minor uint32, v Volume, file string) *client4 {
	t.Helper()
	c := &client4{t: t, array: a, minor: minor, owner: []byte("array-" + rand.Text())}
	for i := range c.conns {
		c.conns[i] = dial4(t, a, i)
	}
	if minor == 0 {
		c.identify()
	} else {
		c.createSession()
	}
	c.open(v, file)
	t.Cleanup(c.leave)
	return c
}

// leave closes the file, and leaves no state of NFSv4.1 on the server.
func (c *client4) leave() {
	ctx := context.Background() //nolint:usetesting // that of the test has ended
	err := c.do(ctx, 0, len(c.slots)-1, &v4.PutFH{Handle: c.handle}, &v4.Close{Seq: 2, StateID: c.stateID})
	if c.minor > 0 {
		err = errors.Join(err,
			compound(ctx, c.conns[0], 1, &v4.DestroySession{Session: c.session}),
			compound(ctx, c.conns[0], 1, &v4.DestroyClientID{ClientID: c.id}))
	}
	if err != nil {
		c.t.Errorf("leave the server: %v", err)
	}
}

// must makes a COMPOUND over the LIF of a node, behind SEQUENCE where there are sessions.
func (c *client4) must(lif int, ops ...v4.Operation) {
	c.t.Helper()
	if err := c.do(c.t.Context(), lif, len(c.slots)-1, ops...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client4) do(ctx context.Context, lif, slot int, ops ...v4.Operation) error {
	if c.minor > 0 {
		c.slots[slot]++
		s := &v4.Sequence{Session: c.session, Seq: c.slots[slot], Slot: uint32(slot), HighestSlot: uint32(len(c.slots) - 1)}
		ops = append([]v4.Operation{s}, ops...)
	}
	return compound(ctx, c.conns[lif], c.minor, ops...)
}

// identify makes the client known to a server of NFSv4.0, without callbacks.
func (c *client4) identify() {
	c.t.Helper()
	id := &v4.SetClientID{Owner: c.owner, Callback: v4.Address{NetID: "tcp", Universal: "0.0.0.0.0.0"}}
	c.must(0, id)
	c.id = id.ClientID
	c.must(0, &v4.SetClientIDConfirm{ClientID: id.ClientID, Confirm: id.Confirm})
}

// createSession makes the client known to a server of NFSv4.1, with a session that both
// connections belong to.
func (c *client4) createSession() {
	c.t.Helper()
	ctx := c.t.Context()
	c.server = v4.ExchangeID{Owner: c.owner}
	channel := v4.ChannelAttrs{
		MaxRequest: 1 << 20, MaxResponse: 1 << 20, MaxResponseCached: 4096, MaxOperations: 8, MaxRequests: uint32(len(c.slots)),
	}
	err := compound(ctx, c.conns[0], 1, &c.server)
	create := &v4.CreateSession{
		ClientID: c.server.ClientID, Seq: c.server.Seq, Flags: v4.SessionConnBackChan, Fore: channel, Back: channel,
		CallbackProgram: v4.CallbackProgram, Security: []v4.CallbackSecurity{{Flavour: v4.FlavourNone}},
	}
	if err == nil {
		err = compound(ctx, c.conns[0], 1, create)
	}
	if err != nil || create.GrantedFore.MaxRequests < uint32(len(c.slots)) {
		c.t.Fatalf("make a session: %v; %+v", err, create.GrantedFore)
	}
	c.id, c.session = c.server.ClientID, create.Session
	bind := &v4.BindConnToSession{Session: c.session, Dir: v4.DirForeOrBoth}
	if err := compound(ctx, c.conns[1], 1, bind); err != nil || bind.Bound != c.session {
		c.t.Fatalf("bind the other connection: %v", err)
	}
	c.must(0, &v4.ReclaimComplete{})
}

func (c *client4) open(v Volume, file string) {
	c.t.Helper()
	open := &v4.Open{
		Access: v4.ShareBoth, ClientID: c.id, Owner: c.owner, How: v4.CreateUnchecked, Claim: v4.ClaimNull, Name: file,
		Attrs: v4.Attrs{Mask: v4.Bits(v4.AttrMode), Mode: 0o644},
	}
	if c.minor > 0 {
		open.Access |= v4.WantNoDeleg
	}
	fh := &v4.GetFH{}
	c.must(0, append(walk(v), open, fh)...)
	c.handle, c.stateID = append([]byte(nil), fh.Handle...), open.StateID
	if open.Flags&v4.OpenConfirmNeeded != 0 {
		confirm := &v4.OpenConfirm{StateID: open.StateID, Seq: 1}
		c.must(0, &v4.PutFH{Handle: c.handle}, confirm)
		c.stateID = confirm.Confirmed
	}
}

// writeAll writes all blocks of the file over the LIF of a node, and returns the verifier.
func (c *client4) writeAll(lif int) v4.Verifier {
	c.t.Helper()
	w := &nfs4wire.Write{StateID: c.stateID, Data: make([]byte, blockBytes)}
	for i := range fileBlocks {
		w.Offset = uint64(i) * blockBytes
		block(w.Data, int64(w.Offset), 1)
		if c.must(lif, &v4.PutFH{Handle: c.handle}, w); w.Count != blockBytes {
			c.t.Fatalf("%d bytes were written at %d", w.Count, w.Offset)
		}
	}
	return w.Verifier
}

// readAll reads all blocks as many times as it is told over the LIF of a node, from 8 goroutines.
func (c *client4) readAll(lif, times int) {
	c.t.Helper()
	readBlocks(c.t, times, func(g int, p []byte, off int64) error {
		r := &nfs4wire.Read{StateID: c.stateID, Offset: uint64(off), Count: uint32(len(p))}
		if err := c.do(c.t.Context(), lif, g, &v4.PutFH{Handle: c.handle}, r); err != nil {
			return err
		}
		if copy(p, r.Data) != len(p) {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
}

// protocols4 are the names of NFSv4.0 and NFSv4.1 in the counters, by minor version.
var protocols4 = []string{"nfs4", "nfs4.1"}

func TestTheWrongPathGoesThroughBothNodesWithNFSv4(t *testing.T) {
	for minor, protocol := range protocols4 {
		t.Run(protocol, func(t *testing.T) {
			a := usual(t)
			c := newClient4(t, a, uint32(minor), a.Volumes()[0], "file-"+protocol)
			c.writeAll(0)
			theWrongPathGoesThroughBothNodes(t, a, c.readAll)
		})
	}
}

// requestsOf returns the calls to the volume data over the LIF of a node.
func requestsOf(a *Array, lif int, protocol string) (local, remote uint64) {
	c := clientsOf(a, protocol)[a.LIFs()[lif].Address]
	return c.LocalRequests, c.RemoteRequests
}

func TestWritesOfNFSv4AreCountedByClient(t *testing.T) {
	for minor, protocol := range protocols4 {
		t.Run(protocol, func(t *testing.T) {
			a := usual(t)
			c := newClient4(t, a, uint32(minor), a.Volumes()[0], "written-"+protocol)
			for lif := range 2 {
				before := a.Volume("data")
				local, remote := requestsOf(a, lif, protocol)
				c.writeAll(lif)
				v := a.Volume("data")
				wrote := ontap.OpCounters{Ops: v.Write.Ops - before.Write.Ops, Bytes: v.Write.Bytes - before.Write.Bytes}
				if wrote.Ops != fileBlocks || wrote.Bytes != fileBlocks*blockBytes || v.Write.LatencyMicros == before.Write.LatencyMicros {
					t.Errorf("LIF %d: writes: %+v, then %+v", lif, before.Write, v.Write)
				}
				if v.Read != before.Read || v.Other != before.Other {
					t.Errorf("LIF %d: reads %+v, others %+v; then %+v, %+v", lif, before.Read, before.Other, v.Read, v.Other)
				}
				nowLocal, nowRemote := requestsOf(a, lif, protocol)
				want := [2]uint64{fileBlocks, 0}
				if lif == 1 {
					want = [2]uint64{0, fileBlocks}
				}
				if got := [2]uint64{nowLocal - local, nowRemote - remote}; got != want {
					t.Errorf("LIF %d: calls on the direct way and on the other: %d, not %d", lif, got, want)
				}
			}
		})
	}
}

// TestBothLIFsLeadToOneServerOfNFSv4: the same owner and scope allow session trunking
// (RFC 8881 section 2.10.5), and the REST interface tells what the server speaks.
func TestBothLIFsLeadToOneServerOfNFSv4(t *testing.T) {
	a := usual(t)
	var told [2]v4.ExchangeID
	for i := range told {
		told[i].Owner = []byte("array-" + rand.Text())
		if err := compound(t.Context(), dial4(t, a, i), 1, &told[i]); err != nil {
			t.Fatal(err)
		}
	}
	type identity struct {
		Major, Scope string
		Minor        uint64
	}
	of := func(e v4.ExchangeID) identity {
		// NFS-Ganesha sends the zero at the end of its scope as well.
		return identity{string(e.ServerMajor), strings.TrimRight(string(e.ServerScope), "\x00"), e.ServerMinor}
	}
	if diff := cmp.Diff(of(told[0]), of(told[1])); diff != "" {
		t.Errorf("(-first LIF +second)\n%s", diff)
	}
	if name := a.nfs4.name; of(told[0]).Major != name || of(told[0]).Scope != name {
		t.Errorf("the server of %s says that it is %+v, as others on this machine may", name, of(told[0]))
	}
	nfs := a.model(RESTOptions{}).NFS
	if pnfs := told[0].Granted&v4.ExchangeUsePNFSMDS != 0; pnfs != nfs.PNFS {
		t.Errorf("the server says pNFS %v, the REST interface %v", pnfs, nfs.PNFS)
	}
	for minor, enabled := range []bool{nfs.V40, nfs.V41, false} {
		err := compound(t.Context(), dial4(t, a, 0), uint32(minor), &v4.PutRootFH{})
		refused := errors.Is(err, v4.ErrMinorVersMismatch)
		if refused == enabled {
			t.Errorf("NFSv4.%d is told to be enabled: %v; a COMPOUND: %v", minor, enabled, err)
		}
	}
}

// TestAMoveKeepsTheStateOfNFSv4 reads on after it, with the same session and open file; the
// verifier of unstable data stays as well.
func TestAMoveKeepsTheStateOfNFSv4(t *testing.T) {
	for minor, protocol := range protocols4 {
		t.Run(protocol, func(t *testing.T) {
			a := usual(t)
			c := newClient4(t, a, uint32(minor), a.Volumes()[0], "moved-"+protocol)
			verifier := c.writeAll(0)
			move(t, a, a.Nodes()[1])
			_, before := requestsOf(a, 0, protocol)
			c.readAll(0, 32)
			if _, after := requestsOf(a, 0, protocol); after != before+8*32 {
				t.Errorf("%d calls went over the cluster link, not %d", after-before, 8*32)
			}
			commit := &v4.Commit{}
			if c.must(0, &v4.PutFH{Handle: c.handle}, commit); commit.Verifier != verifier {
				t.Error("the verifier has changed: the client would write again")
			}
		})
	}
}

// TestAVolumeOfTheOtherNodeHasItsRightPathThere: the way to the server of NFSv4 is that of the
// volume, and the other node carries nothing.
func TestAVolumeOfTheOtherNodeHasItsRightPathThere(t *testing.T) {
	a := usual(t)
	v := Volume{Name: "second", Junction: "/vol/second", Node: a.Nodes()[1]}
	if err := a.CreateVolume(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		//nolint:usetesting // that of the test has ended
		if err := a.DeleteVolume(context.Background(), v.Name); err != nil {
			t.Error(err)
		}
	})
	c := newClient4(t, a, 1, v, "file")
	c.writeAll(1)
	before, counted := countersOf(t, a), a.Volume(v.Name)
	c.readAll(1, 1000)
	after := countersOf(t, a)
	if n := a.Volume(v.Name).Read.Ops - counted.Read.Ops; n != 8000 {
		t.Errorf("the volume counted %d reads, not 8000", n)
	}
	var busy [2]time.Duration
	for n := range busy {
		busy[n] = time.Duration(after.nodes[n].BusyMicros-before.nodes[n].BusyMicros) * time.Microsecond
	}
	if after.link-before.link > 8000*blockBytes/100 {
		t.Errorf("%d bytes of the reads went over the cluster link", after.link-before.link)
	}
	measure.Expect(t, "node a, right path of node b", "of the CPU of b", measure.AtMost(0.2), busy[0].Seconds()/max(busy[1].Seconds(), 1e-6))
}

func TestTheTimeOfTheServerOfNFSv4IsDividedByCalls(t *testing.T) {
	var s nfs4Server
	counts := func(a, b uint64) []control.Counts {
		return []control.Counts{{NFS4Calls: map[string]uint64{"a": a}}, {NFS4Calls: map[string]uint64{"b": b}}}
	}
	for _, step := range []struct {
		told       []control.Counts
		a, b       time.Duration
		whatItShow string
	}{
		{counts(10, 0), time.Second, 0, "all to the one that was called"},
		{counts(10, 5), time.Second, time.Second, "all to the other"},
		{counts(13, 6), 1750 * time.Millisecond, 1250 * time.Millisecond, "three quarters and one"},
		{counts(13, 6), 1750 * time.Millisecond, 2250 * time.Millisecond, "no calls: to the owner of the first volume"},
		{counts(14, 6)[:1], 2750 * time.Millisecond, 2250 * time.Millisecond, "an N-blade that does not answer"},
		{counts(14, 7), 2750 * time.Millisecond, 3250 * time.Millisecond, "it answers again"},
	} {
		s.divide(time.Second, sumOf(step.told), "b")
		got, want := fmt.Sprint(s.shares["a"], s.shares["b"]), fmt.Sprint(step.a, step.b)
		if got != want {
			t.Errorf("%s: %s, not %s", step.whatItShow, got, want)
		}
	}
}
