package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/ports"
)

// readServer answers READs of any file, of which each byte follows from its offset. It holds those that
// hold says.
type readServer struct {
	l     net.Listener
	hold  func(offset uint64) <-chan struct{}
	reads atomic.Int64
	wg    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func startReadServer(t *testing.T, hold func(offset uint64) <-chan struct{}) *readServer {
	t.Helper()
	l, err := net.Listen("tcp", ports.Reserve(t).String()) // it may listen there again
	if err != nil {
		t.Fatal(err)
	}
	s := &readServer{hold: hold}
	s.accept(l)
	t.Cleanup(func() {
		_ = s.l.Close()
		s.kill()
		s.wg.Wait()
	})
	return s
}

func (s *readServer) accept(l net.Listener) {
	s.l = l
	s.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, nc)
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(nc) })
		}
	})
}

// kill ends all connections.
func (s *readServer) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, nc := range s.conns {
		_ = nc.Close()
	}
	s.conns = nil
}

func (s *readServer) serve(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	var sending sync.Mutex
	var wg sync.WaitGroup
	defer wg.Wait()
	rec := rpc.NewRecordReader(nc, 1<<20)
	for rec.Next() == nil {
		in, err := rec.AppendRest(nil)
		if err != nil {
			return
		}
		d := xdr.NewDecoder(in)
		var h rpc.CallHeader
		var args v3.ReadArgs
		xdr.Decode(&d, &h)
		if xdr.Decode(&d, &args); d.Err() != nil {
			return
		}
		s.reads.Add(1)
		wg.Go(func() {
			if s.hold != nil {
				if until := s.hold(args.Offset); until != nil {
					<-until
				}
			}
			data := make([]byte, args.Count)
			label(data, args.Offset)
			sending.Lock()
			defer sending.Unlock()
			_, _ = nc.Write(readReply(h.XID, data, false))
		})
	}
}

// label tells each byte of a file from most others.
func label(p []byte, offset uint64) {
	for i := range p {
		o := offset + uint64(i)
		p[i] = byte(o ^ o>>8*31 ^ o>>16*7)
	}
}

// concurrent is striping for several threads.
type concurrent struct {
	plain
	route func(offset int) (group, bytes int)
	lost  atomic.Int64
}

func (c *concurrent) Route(io *IO, at int) (group, bytes int) { return c.route(int(io.Offset) + at) }
func (c *concurrent) Lost(*Part, error)                       { c.lost.Add(1) }

func newGroups(t *testing.T, p *concurrent, slots, block, piece int, servers ...*readServer) *Stream {
	t.Helper()
	var addresses []string
	cfg := Config{
		Protocol: p, Threads: len(servers), Slots: slots, BlockBytes: int64(block), PieceBytes: int64(piece),
		ReadBytes: 64 << 10, WriteBytes: 64 << 10, Timeout: time.Hour, Now: time.Now,
		Describe: func(int) string { return "thread" },
		Dial: func(ctx context.Context, thread int) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addresses[thread])
		},
	}
	for g, server := range servers {
		cfg.Groups, addresses = append(cfg.Groups, g), append(addresses, server.l.Addr().String())
	}
	s, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// offsets is a Driver that reads a list of offsets for each slot.
type offsets struct {
	todo  [][]int64
	bufs  [][]byte
	errs  []error // of each slot, the last
	wrong atomic.Int64
	done  func(slot int)
}

func (d *offsets) Next(x *IO) bool {
	if len(d.todo[x.Slot]) == 0 {
		return false
	}
	x.Handle, x.Buf, x.Offset = []byte("h"), d.bufs[x.Slot], d.todo[x.Slot][0]
	d.todo[x.Slot] = d.todo[x.Slot][1:]
	clear(x.Buf)
	return true
}

func (d *offsets) Done(x *IO) {
	want := make([]byte, len(x.Buf))
	label(want, uint64(x.Offset))
	if d.errs[x.Slot] = x.Err; x.Err == nil && string(want) != string(x.Buf) {
		d.wrong.Add(1)
	}
	if d.done != nil {
		d.done(x.Slot)
	}
}

// TestAThreadThatWaitsIsInterrupted: otherwise, a waiting thread would notice a new slot late.
func TestAThreadThatWaitsIsInterrupted(t *testing.T) {
	for _, group := range []int{0, 1} { // of the second thread
		s := streamOfGroups(t, &striping{unit: 8, width: 1}, &routedIO{}, 8, 64, 0, group)
		l := s.threads[1]
		interrupted := func() bool {
			var count [8]byte
			_, err := unix.Read(l.event, count[:])
			return err == nil
		}
		l.give(&s.slots[0])
		if interrupted() {
			t.Error("a thread that does not wait is interrupted")
		}
		<-l.inbox
		l.listening.Store(true)
		l.give(&s.slots[0])
		if !interrupted() {
			t.Errorf("a thread of group %d is not interrupted", group)
		}
	}
}

func TestASlotThatComesWhileAThreadWaitsIsSent(t *testing.T) { feedWaitingThread(t, 100) }

// feedWaitingThread gives a thread one slot after the other while it waits for a reply that does
// not come, and returns how long that took.
func feedWaitingThread(t *testing.T, rounds int) (took time.Duration) {
	t.Helper()
	held := make(chan struct{})
	first := startReadServer(t, nil)
	one := startReadServer(t, func(offset uint64) <-chan struct{} {
		if offset == 0 {
			return held
		}
		return nil
	})
	two := startReadServer(t, nil)
	// Offset 0 and odd blocks are in group 1, the others in group 2.
	p := &concurrent{route: func(offset int) (group, bytes int) {
		if block := offset / 4096; block == 0 || block%2 == 1 {
			return 1, 4096
		}
		return 2, 4096
	}}
	s := newGroups(t, p, 2, 4096, 4096, first, one, two)
	d := &offsets{todo: [][]int64{{0}, nil}, bufs: [][]byte{make([]byte, 4096), make([]byte, 4096)}, errs: make([]error, 2)}
	for i := range int64(2 * rounds) {
		d.todo[1] = append(d.todo[1], (i+1)*4096)
	}
	begun := time.Now()
	d.done = func(slot int) {
		if slot == 1 && len(d.todo[1]) == 0 {
			took = time.Since(begun)
			close(held)
		}
	}
	s.Run(t.Context(), d)
	if d.errs[0] != nil || d.errs[1] != nil || d.wrong.Load() != 0 {
		t.Errorf("errors %v, %d wrong", d.errs, d.wrong.Load())
	}
	if n := first.reads.Load(); n != 0 {
		t.Errorf("group 0 did %d", n)
	}
	return took
}

func stripe4(offset int) (group, bytes int) { return 1 + offset/4096%2, 4096 - offset%4096 }

func TestACancelledIOOfSeveralGroupsEndsAndTheStreamRunsAgain(t *testing.T) {
	var holding atomic.Bool
	holding.Store(true)
	held := make(chan struct{})
	hold := func(uint64) <-chan struct{} {
		if holding.Load() {
			return held
		}
		return nil
	}
	first, one, two := startReadServer(t, nil), startReadServer(t, nil), startReadServer(t, hold)
	p := &concurrent{route: stripe4}
	s := newGroups(t, p, 4, 32<<10, 4096, first, one, two)
	d := &offsets{errs: make([]error, 4)}
	for range 4 {
		d.bufs, d.todo = append(d.bufs, make([]byte, 32<<10)), append(d.todo, []int64{0, 32 << 10, 100 << 10})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		for two.reads.Load() < 4 {
			time.Sleep(time.Millisecond)
		}
		cancel(why)
	}()
	s.Run(ctx, d)
	for slot, err := range d.errs {
		if !errors.Is(err, why) {
			t.Errorf("slot %d ended with %v, want the cause", slot, err)
		}
	}
	if p.lost.Load() == 0 {
		t.Error("the protocol was not told of what was lost")
	}
	holding.Store(false)
	close(held)
	for range 3 {
		for slot := range d.todo {
			d.todo[slot] = []int64{0, 3, 4096, 32 << 10, 100_000}
		}
		s.Run(t.Context(), d)
		for slot, err := range d.errs {
			if err != nil {
				t.Errorf("slot %d of the next run: %v", slot, err)
			}
		}
	}
	if n := d.wrong.Load(); n != 0 {
		t.Errorf("%d reads brought other bytes", n)
	}
}

func TestAGroupThatIsGoneFallsBackAndReturns(t *testing.T) {
	first, one := startReadServer(t, nil), startReadServer(t, nil)
	two := startReadServer(t, nil)
	address := two.l.Addr().String()
	p := &concurrent{route: stripe4}
	s := newGroups(t, p, 4, 32<<10, 4096, first, one, two)
	var stop atomic.Bool
	var done atomic.Int64
	d := &forever{stop: &stop, done: &done, bad: make(chan error, 1)}
	for range 4 {
		d.bufs = append(d.bufs, make([]byte, 32<<10))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(t.Context(), d)
	}()
	await := func(what string, ok func() bool) {
		t.Helper()
		limit := time.Now().Add(10 * time.Minute)
		for !ok() {
			if time.Now().After(limit) {
				t.Errorf("it did not happen that %s", what)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	for range 3 {
		await("group 2 reads", func() bool { return two.reads.Load() > 10 })
		_ = ports.Close(two.l)
		two.kill()
		before := first.reads.Load()
		await("group 0 takes over", func() bool { return first.reads.Load() > before+10 })
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		two.reads.Store(0)
		two.accept(l)
	}
	await("group 2 reads again", func() bool { return two.reads.Load() > 10 })
	stop.Store(true)
	<-ended
	select {
	case err := <-d.bad:
		t.Error(err)
	default:
	}
}

// forever reads until stop.
type forever struct {
	stop *atomic.Bool
	done *atomic.Int64
	bufs [][]byte
	bad  chan error
}

func (d *forever) Next(x *IO) bool {
	x.Handle, x.Buf, x.Offset = []byte("h"), d.bufs[x.Slot], int64(x.Slot*1000)
	return !d.stop.Load()
}

func (d *forever) Done(x *IO) {
	want := make([]byte, len(x.Buf))
	label(want, uint64(x.Offset))
	err := x.Err
	if err == nil && string(want) != string(x.Buf) {
		err = io.ErrUnexpectedEOF
	}
	if d.done.Add(1); err != nil {
		select {
		case d.bad <- err:
		default:
		}
	}
}
