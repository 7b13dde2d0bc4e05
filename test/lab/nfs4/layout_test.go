package nfs4

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// Addresses of the servers of pNFS tests. Data server n has two addresses.
const (
	mdsAddress = "127.0.0.1"
	kib        = 1 << 10
)

func dsAddress(n int) string      { return fmt.Sprintf("127.0.1.%d", n+1) }
func dsOtherAddress(n int) string { return fmt.Sprintf("127.0.2.%d", n+1) }

// pnfsIdentity makes the metadata server and each data server a server of its own.
func pnfsIdentity(address string) nfs4test.Identity {
	if address == mdsAddress {
		return nfs4test.Identity{Major: "mds", Scope: "array"}
	}
	return nfs4test.Identity{Major: address[len(address)-1:], Scope: "array", Data: true} // allocates nothing
}

// pnfs is a pNFS array and a client of it.
type pnfs struct {
	*nfs4test.Server
	c *nfs.Client
}

// startPNFS mounts a server whose files have the layouts that of returns.
func startPNFS(t *testing.T, s *nfs4test.Server, of func(p *pnfs, name string) []layout.Segment) *pnfs {
	t.Helper()
	if s.Identity == nil {
		s.Identity = pnfsIdentity
	}
	// A client keeps a layout that it cannot return for the time of a lease.
	s.LeaseSeconds = cmp.Or(s.LeaseSeconds, 3600)
	s.Start(t, mdsAddress, dsAddress(0), dsAddress(1), dsAddress(2), dsOtherAddress(0), dsOtherAddress(1))
	p := &pnfs{Server: s}
	if of != nil {
		s.SetLayouts(func(name string) []layout.Segment { return of(p, name) })
	}
	p.c = p.dial(t, bench.PNFS)
	return p
}

func (p *pnfs) dial(t *testing.T, version bench.NFSVersion, change ...func(*nfs.Config)) *nfs.Client {
	t.Helper()
	cfg := nfs.Config{
		Export: "/export", NFSPort: p.Port(), Now: time.Now, CallTimeout: time.Hour, MountTimeout: time.Hour, Version: version,
		Channels: []nfs.Channel{{Path: mdsAddress}}, LayoutRetry: 20 * time.Millisecond,
	}
	for _, c := range change {
		c(&cfg)
	}
	c, err := nfs.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// device has the data servers and the pattern of stripe indices; each server has paths addresses.
func (p *pnfs) device(paths, servers int, pattern ...uint32) *layout.Device {
	d := &layout.Device{StripeIndices: pattern}
	for n := range servers {
		all := []layout.NetAddr{p.NetAddr(dsAddress(n))}
		if paths > 1 {
			all = append(all, p.NetAddr(dsOtherAddress(n)))
		}
		d.Servers = append(d.Servers, all)
	}
	return d
}

// striped2 is a layout over two data servers, dense, in units of 16 KiB.
func striped2(p *pnfs, name string) []layout.Segment { return p.stripes(name, 1) }

func (p *pnfs) stripes(name string, paths int) []layout.Segment {
	b := layout.Body{Device: v4.DeviceID{2, byte(paths)}, StripeUnit: 16 * kib, Dense: true}
	var pattern []uint32
	for n := range 2 {
		pattern = append(pattern, uint32(n))
		b.Handles = append(b.Handles, fmt.Appendf(nil, "%s%d", name, n))
	}
	return []layout.Segment{{
		IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Body: b, Device: p.device(paths, 2, pattern...),
	}}
}

func (p *pnfs) open(t *testing.T, name string) *nfs.File {
	t.Helper()
	f, err := p.c.Open(t.Context(), p.c.Root(), name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closeFile(t *testing.T, f *nfs.File) {
	t.Helper()
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func (p *pnfs) stream(t *testing.T, slots, block int) *nfs.Stream {
	t.Helper()
	s, err := p.c.NewStream(t.Context(), nfs.StreamConfig{Slots: slots, BlockBytes: int64(block)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// layouts returns the counts of the metadata server.
func (p *pnfs) layouts() nfs.LayoutStats { return p.c.Servers()[0].Layouts }

// moved returns how many bytes of data came to and from an address.
func (p *pnfs) moved(address string) int64 {
	c := p.Counters(address)
	return c.BytesRead + c.BytesWritten
}

// list is a Driver that makes each I/O once, from any slot.
type list struct {
	todo []stream.IO
	next atomic.Int64
	at   []int64 // by slot
	errs []error
}

func runAll(t *testing.T, s *nfs.Stream, slots int, f *nfs.File, todo []stream.IO) {
	t.Helper()
	d := &list{todo: todo, at: make([]int64, slots), errs: make([]error, len(todo))}
	for i := range d.todo {
		f.Prepare(&d.todo[i])
	}
	s.Run(t.Context(), d)
	for i, err := range d.errs {
		if err != nil {
			t.Errorf("I/O of %d bytes at %d: %v", len(todo[i].Buf), todo[i].Offset, err)
		}
	}
}

func (d *list) Next(x *stream.IO) bool {
	i := d.next.Add(1) - 1
	if i >= int64(len(d.todo)) {
		return false
	}
	slot, thread := x.Slot, x.Thread
	*x = d.todo[i]
	x.Slot, x.Thread = slot, thread
	d.at[slot] = i
	return true
}

func (d *list) Done(x *stream.IO) { d.errs[d.at[x.Slot]] = x.Err }

// pieces cuts a buffer into I/Os of size bytes in random order.
func pieces(buf []byte, size int, write bool) (todo []stream.IO) {
	for at := 0; at < len(buf); at += size {
		todo = append(todo, stream.IO{
			Write: write, Stable: stream.FileSync, Offset: int64(at), Buf: buf[at:min(at+size, len(buf))],
		})
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(todo), func(i, k int) { todo[i], todo[k] = todo[k], todo[i] })
	return todo
}

// checker is a Driver that writes blocks and reads them again. Each word of a block tells
// block and version, so that a write that was lost, torn or late is found. Each slot has
// blocks of its own.
type checker struct {
	f             *nfs.File
	block, blocks int
	slots         int
	first         int64 // where the first block begins
	goOn          func(done int64) bool
	begun, done   atomic.Int64

	versions []uint64 // by block
	slot     []checkerSlot
	mu       sync.Mutex
	bad      []string
}

type checkerSlot struct {
	buf   []byte
	want  []byte // what check compares with
	block int
	steps int
	rand  *rand.Rand
	_     [64]byte
}

func newChecker(t *testing.T, f *nfs.File, slots, block, blocks int) *checker {
	t.Helper()
	d := &checker{f: f, block: block, blocks: blocks, slots: slots, versions: make([]uint64, blocks)}
	for i := range slots {
		d.slot = append(d.slot, checkerSlot{buf: make([]byte, block), want: make([]byte, block), rand: rand.New(rand.NewPCG(uint64(i), 7))})
	}
	p := make([]byte, block)
	for b := range blocks {
		stamp(p, b, 0)
		if _, err := f.WriteAt(t.Context(), p, d.first+int64(b*block), nfs.FileSync); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func stamp(p []byte, block int, version uint64) {
	for at := 0; at+8 <= len(p); at += 8 {
		binary.LittleEndian.PutUint64(p[at:], uint64(block)<<48|version<<16|uint64(at/8)&0xFFFF)
	}
}

func (d *checker) Next(x *stream.IO) bool {
	if !d.goOn(d.done.Load()) {
		return false
	}
	if d.begun.Add(1)%int64(d.slots) == 0 {
		time.Sleep(2 * time.Millisecond) // what a test waits for needs a processor too
	}
	s := &d.slot[x.Slot]
	d.f.Prepare(x)
	if x.Write = s.steps%2 == 0; x.Write {
		s.block = x.Slot + d.slots*s.rand.IntN(d.blocks/d.slots)
		d.versions[s.block]++
		stamp(s.buf, s.block, d.versions[s.block])
	} else {
		clear(s.buf)
	}
	s.steps++
	x.Stable, x.Buf, x.Offset = stream.FileSync, s.buf, d.first+int64(s.block*d.block)
	return true
}

func (d *checker) Done(x *stream.IO) {
	d.done.Add(1)
	s := &d.slot[x.Slot]
	switch {
	case x.Err != nil:
		d.note("I/O at %d, write %v: %v", x.Offset, x.Write, x.Err)
	case !x.Write:
		d.check(s.buf, s.block)
	}
}

func (d *checker) check(p []byte, block int) {
	want := d.slot[block%d.slots].want
	stamp(want, block, d.versions[block])
	if bytes.Equal(p, want) {
		return
	}
	for at := 0; at+8 <= len(p); at += 8 {
		if !bytes.Equal(p[at:at+8], want[at:at+8]) {
			d.note("block %d has %x at %d, want %x", block, p[at:at+8], at, want[at:at+8])
			return
		}
	}
}

func (d *checker) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.bad) < 10 {
		d.bad = append(d.bad, fmt.Sprintf(format, args...))
	}
}

// report fails the test with what was wrong, and compares the file as the server has it.
func (d *checker) report(t *testing.T, content []byte) {
	t.Helper()
	for b := range d.blocks {
		if from := int(d.first) + b*d.block; from+d.block <= len(content) {
			d.check(content[from:from+d.block], b)
		} else {
			d.note("the file has %d bytes and ends before block %d", len(content), b)
		}
	}
	for _, text := range d.bad {
		t.Error(text)
	}
}

// during runs the driver until do is done and a number of I/Os has followed.
func (d *checker) during(t *testing.T, s *nfs.Stream, do func()) {
	t.Helper()
	var enough atomic.Int64
	enough.Store(1 << 62)
	limit := time.Now().Add(5 * time.Minute)
	d.goOn = func(done int64) bool { return done < enough.Load() && time.Now().Before(limit) }
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(t.Context(), d)
	}()
	defer func() {
		enough.Store(d.done.Load() + 200)
		<-ended
	}()
	waitFor(t, func() bool { return d.done.Load() > 200 })
	do()
}

// place is where a byte of a file is, written from RFC 8881 section 13.4.
type place struct {
	address, handle string
	offset          int64
}

// stripe are bytes of a file that follow each other at a data server too.
type stripe struct {
	at          place
	from, bytes int64
}

func stripesOf(where func(int64) place, size int64) (all []stripe) {
	for o := range size {
		p := where(o)
		if p.address == "" {
			continue
		}
		if n := len(all) - 1; n >= 0 && all[n].from+all[n].bytes == o && p == all[n].after() {
			all[n].bytes++
		} else {
			all = append(all, stripe{p, o, 1})
		}
	}
	return all
}

func (s stripe) after() place { return place{s.at.address, s.at.handle, s.at.offset + s.bytes} }

// find returns where in the file the byte at a place is, and how many follow each other there.
func find(all []stripe, p place) (from, left int64) {
	for _, s := range all {
		skip := p.offset - s.at.offset
		if p.address == s.at.address && p.handle == s.at.handle && skip >= 0 && skip < s.bytes {
			return s.from + skip, s.bytes - skip
		}
	}
	return 0, 0
}

// handles are those of one file at data servers.
type handles func(all ...string) [][]byte

func TestIOGoesWhereTheLayoutSays(t *testing.T) {
	const unit = 8 * kib
	const size = 40*unit + 1234
	servers := []string{dsAddress(0), dsAddress(1), dsAddress(2)}
	ds := func(n uint32) string { return servers[n] }
	body := func(b layout.Body) layout.Body { b.Device, b.StripeUnit = v4.DeviceID{1}, unit; return b }
	whole := func(p *pnfs, b layout.Body, servers int, pattern ...uint32) []layout.Segment {
		return []layout.Segment{{IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Body: body(b), Device: p.device(1, servers, pattern...)}}
	}
	for name, tc := range map[string]struct {
		section  string
		segments func(p *pnfs, hs handles) []layout.Segment
		where    func(o int64) place // address "" is the metadata server
		ioBytes  int
	}{
		"dense, two servers": {
			"13.4.3: each stripe index has its handle, units of one follow each other",
			func(p *pnfs, hs handles) []layout.Segment {
				return whole(p, layout.Body{Dense: true, Handles: hs("a", "b")}, 2, 0, 1)
			},
			func(o int64) place {
				i := o / unit % 2
				return place{ds(uint32(i)), []string{"a", "b"}[i], o/(2*unit)*unit + o%unit}
			}, 5 * unit,
		},
		"dense, three servers, I/O across units": {
			"13.4.3",
			func(p *pnfs, hs handles) []layout.Segment {
				return whole(p, layout.Body{Dense: true, Handles: hs("a", "b", "c")}, 3, 0, 1, 2)
			},
			func(o int64) place {
				i := o / unit % 3
				return place{ds(uint32(i)), []string{"a", "b", "c"}[i], o/(3*unit)*unit + o%unit}
			}, 30_000,
		},
		"dense, a server twice in the pattern": {
			"13.4.3: the handle goes with the stripe index and not with the server",
			func(p *pnfs, hs handles) []layout.Segment {
				return whole(p, layout.Body{Dense: true, Handles: hs("a", "b", "c")}, 2, 0, 1, 0)
			},
			func(o int64) place {
				i := o / unit % 3
				return place{ds([]uint32{0, 1, 0}[i]), []string{"a", "b", "c"}[i], o/(3*unit)*unit + o%unit}
			}, 3 * unit,
		},
		"sparse, no handle": {
			"13.3: an empty list means the handle of the metadata server; 13.4.2: offsets are those of the file",
			func(p *pnfs, _ handles) []layout.Segment { return whole(p, layout.Body{}, 3, 2, 0, 1) },
			func(o int64) place { return place{ds([]uint32{2, 0, 1}[o/unit%3]), "", o} }, 7 * unit,
		},
		"sparse, one handle": {
			"13.3: one handle is for all data servers",
			func(p *pnfs, hs handles) []layout.Segment { return whole(p, layout.Body{Handles: hs("x")}, 2, 0, 1) },
			func(o int64) place { return place{ds(uint32(o / unit % 2)), "x", o} }, 10_000,
		},
		"sparse, a handle for each server": {
			"13.4.2: handles go with the servers, not with the stripe indices",
			func(p *pnfs, hs handles) []layout.Segment {
				return whole(p, layout.Body{Handles: hs("x", "y", "z")}, 3, 2, 1, 0, 1)
			},
			func(o int64) place {
				server := []uint32{2, 1, 0, 1}[o/unit%4]
				return place{ds(server), []string{"x", "y", "z"}[server], o}
			}, 4 * unit,
		},
		"first stripe index": {
			"13.4.1: the pattern begins at nfl_first_stripe_index",
			func(p *pnfs, hs handles) []layout.Segment {
				return whole(p, layout.Body{Dense: true, FirstStripeIndex: 2, Handles: hs("a", "b", "c")}, 3, 0, 1, 2)
			},
			func(o int64) place {
				i := (o/unit + 2) % 3
				return place{ds(uint32(i)), []string{"a", "b", "c"}[i], o/(3*unit)*unit + o%unit}
			}, 5 * unit,
		},
		"segments, a pattern offset and a hole": {
			"12.2.9: what no segment covers, the metadata server serves; 13.4.1: the pattern begins at nfl_pattern_offset",
			func(p *pnfs, hs handles) []layout.Segment {
				return []layout.Segment{
					{IOMode: v4.IOModeReadWrite, Length: 10_000, Body: body(layout.Body{Handles: hs("s")}), Device: p.device(1, 2, 0, 1)},
					{
						IOMode: v4.IOModeReadWrite, Offset: 20_000, Length: v4.ToEnd,
						Body:   body(layout.Body{PatternOffset: 15_000, Handles: hs("a", "b")}),
						Device: p.device(1, 2, 0, 1),
					},
				}
			},
			func(o int64) place {
				switch {
				case o < 10_000:
					return place{ds(uint32(o / unit % 2)), "s", o}
				case o < 20_000:
					return place{}
				}
				i := (o - 15_000) / unit % 2
				return place{ds(uint32(i)), []string{"a", "b"}[i], o}
			}, 50_000,
		},
		"dense with a pattern offset, behind a hole": {
			"13.4.3: what is packed begins at nfl_pattern_offset",
			func(p *pnfs, hs handles) []layout.Segment {
				return []layout.Segment{{
					IOMode: v4.IOModeReadWrite, Offset: 20_000, Length: v4.ToEnd,
					Body:   body(layout.Body{Dense: true, PatternOffset: 15_000, Handles: hs("a", "b")}),
					Device: p.device(1, 2, 0, 1),
				}}
			},
			func(o int64) place {
				if o < 20_000 {
					return place{}
				}
				r := o - 15_000
				i := r / unit % 2
				return place{ds(uint32(i)), []string{"a", "b"}[i], r/(2*unit)*unit + r%unit}
			}, 50_000,
		},
		"one server, units above the transfer size": {
			"13.4: with one stripe index the units follow each other",
			func(p *pnfs, hs handles) []layout.Segment {
				return whole(p, layout.Body{Dense: true, Handles: hs("a")}, 1, 0)
			},
			func(o int64) place { return place{ds(0), "a", o} }, 20 * unit,
		},
	} {
		for _, transfer := range []uint32{0, 4 * kib, 12_288} {
			t.Run(fmt.Sprintf("%s, transfers of %d", name, transfer), func(t *testing.T) {
				content := randomBytes(size)
				stripes := stripesOf(tc.where, size)
				var bad atomic.Int64
				s := &nfs4test.Server{MaxTransfer: transfer}
				s.Hook = func(c nfs4test.Call) (a nfs4test.Action) {
					if c.Address == mdsAddress || !c.Has(v4.OpWrite) && !c.Has(v4.OpRead) {
						return a
					}
					_, handle, _ := strings.Cut(string(c.Ops[1].(*v4.PutFH).Handle), "/")
					op := c.Ops[2]
					var n int
					at := place{address: c.Address, handle: handle}
					w, write := op.(*nfs4wire.Write)
					if write {
						n, at.offset = len(w.Data), int64(w.Offset)
					} else {
						n, at.offset = int(op.(*nfs4wire.Read).Count), int64(op.(*nfs4wire.Read).Offset)
					}
					for done := 0; done < n; {
						o, left := find(stripes, at)
						piece := min(n-done, int(left))
						if piece == 0 || write && !bytes.Equal(w.Data[done:done+piece], content[o:o+int64(piece)]) {
							if bad.Add(1) == 1 {
								t.Errorf("%s of %d bytes: those from byte %d are not of %v (RFC 8881 %s)", op.Op(), n, done, at, tc.section)
							}
							break
						}
						done, at.offset = done+piece, at.offset+int64(piece)
					}
					return a
				}
				p := startPNFS(t, s, func(p *pnfs, name string) []layout.Segment {
					return tc.segments(p, func(all ...string) (out [][]byte) {
						for _, h := range all {
							out = append(out, []byte(name+"/"+h))
						}
						return out
					})
				})
				want := map[string]int64{mdsAddress: size}
				for _, s := range stripes {
					want[s.at.address] += s.bytes
					want[mdsAddress] -= s.bytes
				}
				counted := func(dir string, of func(nfs4test.Counters) int64) {
					t.Helper()
					for _, a := range []string{mdsAddress, ds(0), ds(1), ds(2)} {
						if got := of(p.Counters(a)); got != want[a] {
							t.Errorf("%d bytes %s at %s, want %d", got, dir, a, want[a])
						}
					}
				}

				p.AddFile("written", nil)
				f := p.open(t, "written")
				st := p.stream(t, 8, tc.ioBytes)
				runAll(t, st, 8, f, pieces(content, tc.ioBytes, true))
				counted("written", func(c nfs4test.Counters) int64 { return c.BytesWritten })
				closeFile(t, f)
				if !bytes.Equal(p.Content("written"), content) {
					t.Error("the metadata server has other bytes than those that were written through the layout")
				}
				p.AddFile("read", content)
				f = p.open(t, "read")
				got := make([]byte, size)
				runAll(t, st, 8, f, pieces(got, tc.ioBytes, false))
				counted("read", func(c nfs4test.Counters) int64 { return c.BytesRead })
				if !bytes.Equal(got, content) {
					t.Error("other bytes are read through the layout than the metadata server has")
				}
				closeFile(t, f)
				if k := p.layouts(); k.Granted != 2 || k.FallbackBytes != 2*want[mdsAddress] || k.Type != "files" {
					t.Errorf("layouts: %+v, want 2 granted and %d bytes at the metadata server", k, 2*want[mdsAddress])
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
				p.leavesNothing(t)
			})
		}
	}
}

// forgive takes one kind of violation for none: a request that a dead data server did not
// answer was given up, and the client cannot know whether its sequence ID was seen. It tries
// the next one first.
func (p *pnfs) forgive(t *testing.T) {
	t.Helper()
	for _, text := range p.TakeViolations() {
		var slot, seq, last int
		n, _ := fmt.Sscanf(text, "slot %d: sequence ID %d after %d", &slot, &seq, &last)
		if n != 3 || seq <= last+1 {
			t.Errorf("NFSv4 server: %s", text)
		}
	}
}

// leavesNothing closes the client and wants nothing left at any server.
func (p *pnfs) leavesNothing(t *testing.T) {
	t.Helper()
	if err := p.c.Close(); err != nil {
		t.Error(err)
	}
	if clients, sessions, opens, layouts := p.Clients(); clients+sessions+opens+layouts != 0 {
		t.Errorf("left behind: %d clients, %d sessions, %d opens, %d layouts", clients, sessions, opens, layouts)
	}
	p.forgive(t)
}

func TestADataServerIsReachedOverIPv6(t *testing.T) {
	needIPv6(t)
	s := &nfs4test.Server{Identity: func(address string) nfs4test.Identity {
		if address == mdsAddress {
			return pnfsIdentity(address)
		}
		return nfs4test.Identity{Major: "six", Scope: "array", Data: true}
	}}
	s.Start(t, mdsAddress, "::1")
	p := &pnfs{Server: s}
	s.SetLayouts(func(name string) []layout.Segment {
		b := layout.Body{Device: v4.DeviceID{6}, StripeUnit: 64 * kib, Dense: true, Handles: [][]byte{[]byte(name)}}
		d := &layout.Device{StripeIndices: []uint32{0}, Servers: [][]layout.NetAddr{{s.NetAddr("::1")}}}
		return []layout.Segment{{IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Body: b, Device: d}}
	})
	p.c = p.dial(t, bench.PNFS)
	f := create4(t, p.c, "data")
	want, got := randomBytes(1<<20), make([]byte, 1<<20)
	st := p.stream(t, 4, 64*kib)
	runAll(t, st, 4, f, pieces(want, 64*kib, true))
	runAll(t, st, 4, f, pieces(got, 64*kib, false))
	if !bytes.Equal(got, want) {
		t.Error("what was read differs from what was written")
	}
	if n := p.moved("::1"); n != 2<<20 {
		t.Errorf("%d bytes went to and from the data server, want 2 MiB", n)
	}
}
