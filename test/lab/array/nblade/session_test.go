package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

// patience is the limit of every wait, against hangs.
const patience = 2 * time.Minute

// rig is an N-blade between a client and two D-blades and the server of NFSv4, which a test
// plays itself. All are this machine: they differ in the last byte of the address. Node b
// takes NFSv4 off the cluster link where its D-blade is, on a connection of its own.
type rig struct {
	t      *testing.T
	blade  *blade
	client net.Conn
	mine   map[string]net.Listener
	conns  map[string]net.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, mine: map[string]net.Listener{}, conns: map[string]net.Conn{}}
	addresses := map[string]string{"a": "127.0.0.1", "b": "127.0.0.2"}
	port := r.listen(map[string]string{"a": addresses["a"], "b": addresses["b"], "v4": "127.0.0.3"})
	var err error
	volumes := []control.Volume{
		{Name: "v1", Junction: "/v1", Export: 1, Owner: "a"}, {Name: "v2", Junction: "/v2", Export: 2, Owner: "b"},
	}
	server := net.JoinHostPort("127.0.0.3", port)
	r.blade, err = newBlade(control.Settings{Node: "a", Blades: addresses, NFS4: server, Volumes: volumes}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if r.client, err = net.Dial("tcp", front.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := front.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = front.Close()
	done := make(chan struct{})
	go func() {
		newSession(r.blade, accepted, port).serve()
		close(done)
	}()
	t.Cleanup(func() {
		_ = r.client.Close()
		v, _ := r.blade.volumes.named("v1")
		v.release("a") // a test that failed may have left it held
		for _, c := range r.conns {
			_ = c.Close()
		}
		<-done
	})
	return r
}

// listen takes a port that is free at all addresses.
func (r *rig) listen(addresses map[string]string) (port string) {
	r.t.Helper()
	var err error
	for range 100 {
		port = "0"
		for node, address := range addresses {
			var l net.Listener
			if l, err = net.Listen("tcp", net.JoinHostPort(address, port)); err != nil {
				break // somebody else has this port here
			}
			r.t.Cleanup(func() { _ = l.Close() })
			_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
			_, port, _ = net.SplitHostPort(l.Addr().String())
			r.mine[node] = l
		}
		if err == nil {
			return port
		}
	}
	r.t.Fatal(err)
	return ""
}

// at returns the connection that the N-blade has made to a node.
func (r *rig) at(node string) net.Conn {
	r.t.Helper()
	if r.conns[node] == nil {
		c, err := r.mine[node].Accept()
		if err != nil {
			r.t.Fatal(err)
		}
		r.conns[node] = c
	}
	return r.conns[node]
}

func (r *rig) send(to net.Conn, b []byte) {
	r.t.Helper()
	if _, err := to.Write(b); err != nil {
		r.t.Fatal(err)
	}
}

// expect reads exactly these bytes.
func (r *rig) expect(from net.Conn, want []byte) {
	r.t.Helper()
	_ = from.SetReadDeadline(time.Now().Add(patience))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil || !bytes.Equal(got, want) {
		r.t.Fatalf("got %d bytes that are not what was sent (%v)", len(got), err)
	}
}

// silent demands that nothing comes for a moment.
func (r *rig) silent(from net.Conn) {
	r.t.Helper()
	_ = from.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := from.Read(make([]byte, 1)); n != 0 || err == nil {
		r.t.Fatal("something came through")
	}
}

// record marks a message, in fragments of at most size bytes.
func record(m []byte, size int) []byte {
	var b []byte
	for first := true; first || len(m) > 0; first = false {
		n := min(size, len(m))
		mark := uint32(n)
		if n == len(m) {
			mark |= lastFragment
		}
		b = append(binary.BigEndian.AppendUint32(b, mark), m[:n]...)
		m = m[n:]
	}
	return b
}

func readOf(xid uint32, export byte) []byte {
	return record(callOf(xid, progNFS, 3, nfs3Read).opaque(handleOf(export)).u32(0, 0, 512), 1<<20)
}

func dataOf(xid uint32, n int) []byte {
	return record(replyTo(xid).u32(0, 0, uint32(n), 1).opaque(bytes.Repeat([]byte{byte(xid)}, n)), 1<<20)
}

func TestCallsGoToTheOwnerAndRepliesComeBackInAnyOrder(t *testing.T) {
	r := newRig(t)
	r.send(r.client, append(append(readOf(1, 1), readOf(2, 2)...), readOf(3, 1)...))
	a, b := r.at("a"), r.at("b")
	r.expect(a, append(readOf(1, 1), readOf(3, 1)...))
	r.expect(b, readOf(2, 2))
	r.send(b, dataOf(2, 512))
	r.expect(r.client, dataOf(2, 512))
	r.send(a, append(dataOf(3, 512), dataOf(1, 100)...))
	r.expect(r.client, append(dataOf(3, 512), dataOf(1, 100)...))

	counts := r.blade.counts()
	if v := counts.Volumes["v1"].Read; v.Ops != 2 || v.Bytes != 612 {
		t.Errorf("volume 1: %+v", v)
	}
	if v := counts.Volumes["v2"].Read; v.Ops != 1 || v.Bytes != 512 {
		t.Errorf("volume 2: %+v", v)
	}
	for _, c := range counts.Clients {
		if local := c.Volume == "v1"; (c.LocalRequests > 0) != local || (c.RemoteRequests > 0) == local {
			t.Errorf("client %+v", c)
		}
	}
}

// TestRepliesOfTwoOwnersDoNotMix lets one reply stop in the middle.
func TestRepliesOfTwoOwnersDoNotMix(t *testing.T) {
	r := newRig(t)
	r.send(r.client, append(readOf(1, 1), readOf(2, 2)...))
	a, b := r.at("a"), r.at("b")
	long := dataOf(1, 1<<20)
	r.send(a, long[:1<<19])
	r.expect(r.client, long[:1<<18])
	r.send(b, dataOf(2, 512))
	_ = r.client.SetReadDeadline(time.Time{})
	r.send(a, long[1<<19:])
	r.expect(r.client, append(long[1<<18:], dataOf(2, 512)...))
}

func TestRecordsOfManyFragmentsAndPiecesArriveWhole(t *testing.T) {
	r := newRig(t)
	call := callOf(1, progNFS, 3, nfs3Write).opaque(handleOf(1)).u32(0, 0, 3000, 2).opaque(bytes.Repeat([]byte("x"), 3000))
	for name, tc := range map[string]struct {
		calls uint64
		wire  []byte
	}{
		"one fragment":         {1, record(call, 1<<20)},
		"many fragments":       {1, record(call, 1100)},
		"a head in fragments":  {1, record(call, 50)},
		"an empty last one":    {1, append(binary.BigEndian.AppendUint32(nil, uint32(len(call))), append(call, 0x80, 0, 0, 0)...)},
		"two records at once":  {2, append(record(call, 1<<20), record(call, 700)...)},
		"an empty record":      {2, append([]byte{0x80, 0, 0, 0}, record(call, 1<<20)...)},
		"a call of four bytes": {1, record([]byte{1, 2, 3, 4}, 1<<20)},
	} {
		before := r.blade.counts().Calls
		go func() {
			for i := range tc.wire { // one byte at a time
				_, _ = r.client.Write(tc.wire[i : i+1])
			}
		}()
		r.expect(r.at("a"), tc.wire)
		if n := r.blade.counts().Calls - before; n != tc.calls {
			t.Errorf("%s: %d calls were seen, not %d", name, n, tc.calls)
		}
	}
}

// hold holds volume v1.
func (r *rig) hold(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	v, err := r.blade.volumes.named("v1")
	if err != nil {
		return err
	}
	return v.hold(ctx)
}

func TestAHoldDrainsWhatIsInFlightAndKeepsTheRestBack(t *testing.T) {
	r := newRig(t)
	r.send(r.client, append(readOf(1, 1), readOf(2, 1)...))
	r.expect(r.at("a"), append(readOf(1, 1), readOf(2, 1)...))
	if err := r.hold(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "2 calls") {
		t.Fatalf("a hold with two calls in flight: %v", err)
	}
	v, _ := r.blade.volumes.named("v1")
	state := func() (held bool, inFlight int) {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.held, v.inFlight
	}
	held := make(chan error, 1)
	go func() {
		err := r.hold(patience)
		if _, n := state(); err == nil && n > 0 {
			err = fmt.Errorf("the hold did not wait for %d calls", n)
		}
		held <- err
	}()
	for begun := false; !begun; begun, _ = state() {
		runtime.Gosched()
	}
	r.send(r.at("a"), dataOf(1, 512))
	r.expect(r.client, dataOf(1, 512))
	r.send(r.at("a"), dataOf(2, 512))
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	r.expect(r.client, dataOf(2, 512))
	r.send(r.client, readOf(3, 1))
	r.silent(r.at("a"))
	v.release("b")
	r.expect(r.at("b"), readOf(3, 1))
	r.silent(r.at("a"))
}

// TestCallsInFrontOfOneThatWaitsGoOn: they came in one packet, and the hold waits
// for them.
func TestCallsInFrontOfOneThatWaitsGoOn(t *testing.T) {
	r := newRig(t)
	if err := r.hold(patience); err != nil {
		t.Fatal(err)
	}
	r.send(r.client, append(readOf(1, 2), readOf(2, 1)...))
	r.expect(r.at("b"), readOf(1, 2))
	v, _ := r.blade.volumes.named("v1")
	v.release("a")
	r.expect(r.at("a"), readOf(2, 1))
}

func TestAClientThatLeavesIsWaitedForAndForgotten(t *testing.T) {
	r := newRig(t)
	r.send(r.client, append(readOf(1, 1), readOf(2, 1)...))
	a := r.at("a")
	r.expect(a, append(readOf(1, 1), readOf(2, 1)...))
	_ = r.client.Close()
	if err := r.hold(50 * time.Millisecond); err == nil {
		t.Error("what the client left behind may still be done, and nobody waits for it")
	}
	r.send(a, append(dataOf(1, 512), dataOf(2, 512)...))
	if err := r.hold(patience); err != nil {
		t.Error(err)
	}
}

func TestAnOwnerThatDiesEndsTheConnectionOfTheClient(t *testing.T) {
	r := newRig(t)
	r.send(r.client, readOf(1, 1))
	r.expect(r.at("a"), readOf(1, 1))
	_ = r.at("a").Close()
	_ = r.client.SetReadDeadline(time.Now().Add(patience))
	if _, err := r.client.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // Read promises it
		t.Errorf("the client reads %v", err)
	}
	if err := r.hold(patience); err != nil {
		t.Error(err)
	}
}

// compound makes a record of a COMPOUND of NFSv4.1.
func compound(xid uint32, ops ...message) []byte {
	return record(compoundOf(xid, 1, uint32(len(ops))).then(ops...), 1<<20)
}

// results makes a record of the reply to one that succeeds.
func results(xid uint32, ops ...message) []byte {
	return record(resultsOf(xid, 0, uint32(len(ops))).then(ops...), 1<<20)
}

func TestNFSv4GoesToItsOwnServerThroughTheOwner(t *testing.T) {
	r := newRig(t)
	null := record(callOf(1, progNFS, 4, 0), 1<<20)
	walk := compound(2, message{}.u32(opPutRootFH), lookup("v1"))
	read := compound(3, sequence(), putFH(1), read4())
	r.send(r.client, bytes.Join([][]byte{null, walk, read}, nil))
	server := r.at("v4")
	r.expect(server, bytes.Join([][]byte{null, walk, read}, nil))

	remoteWalk := compound(4, message{}.u32(opPutRootFH), lookup("v2"))
	write := compound(5, sequence(), putFH(2), write4(64).zeros(64))
	r.send(r.client, append(remoteWalk, write...))
	b := r.at("b")
	r.expect(b, append(remoteWalk, write...))

	// NFSv3 of the same client goes to the D-blade of the owner.
	r.send(r.client, readOf(6, 1))
	r.expect(r.at("a"), readOf(6, 1))
	r.send(r.at("a"), dataOf(6, 512))
	r.expect(r.client, dataOf(6, 512))

	readDone := results(3, sequenced(), done(opPutFH), done(opRead).u32(1).opaque(make([]byte, 700)))
	writeDone := results(5, sequenced(), done(opPutFH), done(opWrite).u32(64, 2).zeros(8))
	r.send(server, readDone)
	r.expect(r.client, readDone)
	r.send(b, writeDone)
	r.expect(r.client, writeDone)

	c := r.blade.counts()
	if v := c.Volumes["v1"]; v.Read.Ops != 2 || v.Read.Bytes != 700+512 || v.Write.Ops+v.Other.Ops != 0 {
		t.Errorf("volume 1: %+v", v)
	}
	if v := c.Volumes["v2"]; v.Write.Ops != 1 || v.Write.Bytes != 64 || v.Read.Ops+v.Other.Ops != 0 {
		t.Errorf("volume 2: %+v", v)
	}
	if c.NFS4Calls["a"] != 3 || c.NFS4Calls["b"] != 2 {
		t.Errorf("calls of NFSv4 by owner: %v", c.NFS4Calls)
	}
	for _, c := range c.Clients {
		if c.Protocol == "nfs4.1" && (c.LocalRequests == 1) == (c.RemoteRequests == 1) {
			t.Errorf("client %+v", c)
		}
	}
}

// TestCallsOfTheServerAreRelayed: the back channel of NFSv4.1 (RFC 8881 section 2.10.3.1). The
// xid of such a call is that of a call of the client as well.
func TestCallsOfTheServerAreRelayed(t *testing.T) {
	r := newRig(t)
	local, remote := compound(7, sequence(), putFH(1), read4()), compound(8, sequence(), putFH(2), read4())
	r.send(r.client, append(local, remote...))
	server, b := r.at("v4"), r.at("b")
	r.expect(server, local)
	r.expect(b, remote)

	recall := record(callOf(7, 0x40000000, 1, 1).zeros(40), 1<<20)
	r.send(b, recall)
	r.expect(r.client, recall)
	if n := r.blade.counts().Volumes["v1"].Read.Ops; n != 0 {
		t.Error("a call of the server ended one of the client")
	}
	answer := record(replyTo(7).u32(0).zeros(8), 1<<20)
	r.send(r.client, answer)
	r.expect(b, answer)
	r.silent(server)

	// A reply that nobody waits for ends nothing.
	r.send(r.client, append(record(replyTo(9), 1<<20), answer...))
	next := compound(10, sequence(), putFH(2), read4())
	r.send(r.client, next)
	_ = b.SetReadDeadline(time.Time{})
	r.expect(b, next)

	for from, reply := range map[net.Conn][]byte{
		server: results(7, sequenced(), done(opPutFH), done(opRead).u32(1).opaque(make([]byte, 100))),
		b:      results(8, sequenced(), done(opPutFH), done(opRead).u32(1).opaque(make([]byte, 200))),
	} {
		r.send(from, reply)
		r.expect(r.client, reply)
	}
	if c := r.blade.counts().Volumes; c["v1"].Read.Bytes != 100 || c["v2"].Read.Bytes != 200 {
		t.Errorf("volumes %+v", c)
	}
}

// TestWhatCannotBeReadIsRelayed: the server says what is wrong with it.
func TestWhatCannotBeReadIsRelayed(t *testing.T) {
	r := newRig(t)
	for name, call := range map[string]message{
		"a tag that is too long":       callOf(1, progNFS, 4, 1).u32(1 << 30),
		"a minor version of tomorrow":  compoundOf(2, 77, 1).u32(99),
		"an operation of tomorrow":     compoundOf(3, 1, 2).then(sequence(), message{}.u32(4000).zeros(2000)),
		"fewer operations than stated": compoundOf(4, 1, 9).then(sequence()),
		"the handle of no volume":      compoundOf(5, 1, 3).then(sequence(), putFH(77), read4()),
	} {
		r.send(r.client, record(call, 1<<20))
		r.expect(r.at("v4"), record(call, 1<<20))
		garbage := record(message{}.u32(binary.BigEndian.Uint32(call), msgReply, 0, 0, 0, 4), 1<<20)
		r.send(r.at("v4"), garbage)
		r.expect(r.client, garbage)
		if v := r.blade.counts().Volumes; v["v1"].Read.Ops+v["v1"].Write.Ops+v["v2"].Read.Ops+v["v2"].Write.Ops != 0 {
			t.Errorf("%s: data were counted: %+v", name, v)
		}
	}
}
