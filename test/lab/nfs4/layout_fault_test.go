package nfs4

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

// checked is an array with a file of checked blocks of 40 KiB, which are over several stripes
// and on no boundary of them.
type checked struct {
	*pnfs
	d *checker
	f *nfs.File
	s *nfs.Stream
}

const (
	checkedSlots  = 8
	checkedBlock  = 40 * kib
	checkedBlocks = 32
)

func startChecked(t *testing.T, s *nfs4test.Server, of func(*pnfs, string) []layout.Segment) *checked {
	t.Helper()
	p := startPNFS(t, s, of)
	p.AddFile("data", nil)
	x := &checked{pnfs: p, f: p.open(t, "data")}
	x.d = newChecker(t, x.f, checkedSlots, checkedBlock, checkedBlocks)
	x.s = p.stream(t, checkedSlots, checkedBlock)
	return x
}

// ends closes everything, and wants the data right and nothing left.
func (x *checked) ends(t *testing.T) {
	t.Helper()
	if err := x.s.Close(); err != nil {
		t.Error(err)
	}
	x.givesBack(t)
	closeFile(t, x.f)
	x.d.report(t, x.Content("data"))
	x.leavesNothing(t)
}

// givesBack recalls the layout of the file, which comes back when no request is counted in
// flight any more, or else after the lease.
func (x *checked) givesBack(t *testing.T) {
	t.Helper()
	var asked int
	before := x.Counters(mdsAddress).LayoutReturns
	waitFor(t, func() bool { // the answer is NFS4ERR_DELAY while a layout may be on its way
		var err error
		asked, err = x.RecallLayouts("data")
		return err == nil
	})
	waitFor(t, func() bool { return asked == 0 || x.Counters(mdsAddress).LayoutReturns > before })
}

// close ends the stream, the file and the client, without a look at the server.
func (x *checked) close(t *testing.T) {
	t.Helper()
	if err := x.s.Close(); err != nil {
		t.Error(err)
	}
	closeFile(t, x.f)
	_ = x.c.Close()
}

// moves waits until an address carries data.
func (x *checked) moves(t *testing.T, address string) {
	t.Helper()
	x.movesAfter(t, address, func() {})
}

// movesAfter waits until an address carries data after something was done, be it for a moment.
func (x *checked) movesAfter(t *testing.T, address string, do func()) {
	t.Helper()
	before := x.moved(address)
	do()
	waitFor(t, func() bool { return x.moved(address) > before })
}

// more waits until a number of I/Os has ended.
func (x *checked) more(t *testing.T, n int64) {
	t.Helper()
	before := x.d.done.Load()
	waitFor(t, func() bool { return x.d.done.Load() >= before+n })
}

// call makes a callback to all clients. Those of data servers refuse it, so one answer of the
// others is enough.
func (x *checked) call(o v4.Operation) error {
	before := len(x.Callbacks())
	err := x.Callback(o)
	for _, c := range x.Callbacks()[before:] {
		if c.Err == nil {
			return nil
		}
	}
	return err
}

func TestBothAddressesOfADataServerCarryData(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{}, func(p *pnfs, name string) []layout.Segment { return p.stripes(name, 2) })
	x.d.during(t, x.s, func() {
		for n := range 2 {
			x.moves(t, dsAddress(n))
			x.moves(t, dsOtherAddress(n))
		}
		x.Kill(dsAddress(0))
		x.more(t, 100)
		before, there := x.layouts().FallbackBytes, x.moved(dsOtherAddress(0))
		x.more(t, 200)
		if after := x.layouts().FallbackBytes; after != before {
			t.Errorf("%d bytes went through the metadata server although one path to the data server lives", after-before)
		}
		if x.moved(dsOtherAddress(0)) == there {
			t.Error("the path that lives carries nothing")
		}
		if err := x.Listen(dsAddress(0)); err != nil {
			t.Error(err)
		}
		x.moves(t, dsAddress(0))
	})
	all := x.c.Servers()
	if len(all) != 3 || !all[1].DataServer || all[1].Trunking != bench.TrunkingSession || len(all[1].Addresses) != 2 {
		t.Errorf("servers: %+v", all)
	}
	x.ends(t)
}

func TestADataServerThatIsDownCostsOnlyPerformance(t *testing.T) {
	s := &nfs4test.Server{Identity: pnfsIdentity}
	s.Start(t, mdsAddress, dsAddress(0), dsAddress(1))
	p := &pnfs{Server: s}
	s.SetLayouts(func(name string) []layout.Segment { return striped2(p, name) })
	s.Kill(dsAddress(1))
	p.c = p.dial(t, bench.PNFS)
	p.AddFile("data", nil)
	x := &checked{pnfs: p, f: p.open(t, "data")}
	x.d = newChecker(t, x.f, checkedSlots, checkedBlock, checkedBlocks)
	x.s = p.stream(t, checkedSlots, checkedBlock)
	x.d.during(t, x.s, func() {
		x.moves(t, dsAddress(0))
		if k := x.layouts(); k.Granted != 1 || k.FallbackBytes == 0 {
			t.Errorf("layouts: %+v, want one and some bytes that went through the metadata server", k)
		}
		if err := x.Listen(dsAddress(1)); err != nil {
			t.Error(err)
		}
		x.moves(t, dsAddress(1))
		for range 3 {
			x.Kill(dsAddress(1))
			x.more(t, 50)
			if err := x.Listen(dsAddress(1)); err != nil {
				t.Error(err)
			}
			x.moves(t, dsAddress(1))
		}
	})
	x.ends(t)
}

func TestAllDataServersDieAndComeBack(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{}, striped2)
	x.d.during(t, x.s, func() {
		for n := range 2 {
			x.Kill(dsAddress(n))
		}
		x.moves(t, mdsAddress)
		x.more(t, 100)
		for n := range 2 {
			if err := x.Listen(dsAddress(n)); err != nil {
				t.Error(err)
			}
			x.moves(t, dsAddress(n))
		}
		x.more(t, 50)
		before := x.layouts().FallbackBytes
		x.more(t, 100)
		if after := x.layouts().FallbackBytes; after != before {
			t.Errorf("%d bytes go through the metadata server when the data servers are back", after-before)
		}
	})
	x.ends(t)
}

func TestADataServerRestarts(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{}, striped2)
	x.d.during(t, x.s, func() {
		for range 3 {
			x.Restart(dsAddress(1))
			x.EndGrace()
			x.moves(t, dsAddress(1))
		}
	})
	x.ends(t)
}

// TestADataServerMayFailAtFirst: it is reached, and gives no client ID for a while.
func TestADataServerMayFailAtFirst(t *testing.T) {
	var refuse atomic.Bool
	refuse.Store(true)
	var tries atomic.Int64
	s := &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Address == dsAddress(1) && c.Has(v4.OpExchangeID) && refuse.Load() {
			tries.Add(1)
			return nfs4test.Fail(v4.OpExchangeID, v4.ErrServerFault)
		}
		return nfs4test.Action{}
	}}
	x := startChecked(t, s, striped2)
	x.d.during(t, x.s, func() {
		tried := tries.Load()
		waitFor(t, func() bool { return tries.Load() > tried+2 })
		refuse.Store(false)
		x.moves(t, dsAddress(1))
	})
	x.ends(t)
}

// after is closed when a time is over.
func after(d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(d, func() { close(over) })
	return over
}

func TestRecalledLayoutsAreReturnedAndTakenAgain(t *testing.T) {
	for name, recall := range map[string]func(x *checked) error{
		"of a file": func(x *checked) error { _, err := x.RecallLayouts("data"); return err },
		"of a file system": func(x *checked) error {
			return x.call(&v4.CBLayoutRecall{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfFSID, FSID: v4.FSID{Major: 1}})
		},
		"of all": func(x *checked) error {
			return x.call(&v4.CBLayoutRecall{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfAll})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var returns []v4.LayoutReturn
			x := startChecked(t, &nfs4test.Server{Hook: func(c nfs4test.Call) (a nfs4test.Action) {
				for _, o := range c.Ops {
					if r, ok := o.(*v4.LayoutReturn); ok {
						mu.Lock()
						returns = append(returns, *r)
						mu.Unlock()
						if r.Extent != v4.LayoutOfFile {
							a.Hold = after(100 * time.Millisecond) // a layout that is asked for too early is lost
						}
					}
				}
				return a
			}}, striped2)
			other := x.open(t, "data")
			x.d.during(t, x.s, func() {
				for range 3 {
					mu.Lock()
					before := len(returns)
					mu.Unlock()
					granted := x.layouts().Granted
					// The answer is NFS4ERR_DELAY while a layout may be on its way.
					waitFor(t, func() bool { return recall(x) == nil })
					waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(returns) > before })
					waitFor(t, func() bool { return x.layouts().Granted > granted })
					for n := range 2 {
						x.moves(t, dsAddress(n))
					}
				}
			})
			if k := x.layouts(); k.Recalled != 3 {
				t.Errorf("layouts: %+v, want 3 recalled", k)
			}
			closeFile(t, other)
			x.ends(t)
		})
	}
}

// TestARecallWaitsForWhatIsInFlight: a data server refuses what comes after LAYOUTRETURN.
func TestARecallWaitsForWhatIsInFlight(t *testing.T) {
	hold, arrived := make(chan struct{}), make(chan struct{}, 100)
	var returned atomic.Bool
	x := startPNFS(t, &nfs4test.Server{Hook: func(c nfs4test.Call) (a nfs4test.Action) {
		if c.Has(v4.OpLayoutReturn) {
			returned.Store(true)
		}
		if c.Address == dsAddress(1) && c.Has(v4.OpWrite) {
			a.Hold = hold
			arrived <- struct{}{}
		}
		return a
	}}, striped2)
	x.AddFile("data", nil)
	f := x.open(t, "data")
	s := x.stream(t, 2, 256*kib)
	content := randomBytes(256 * kib)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runAll(t, s, 2, f, pieces(content, 256*kib, true))
	}()
	<-arrived
	if n, err := x.RecallLayouts("data"); n != 1 || err != nil {
		t.Errorf("%d recalled, %v", n, err)
	}
	// A call of the metadata server goes there and back meanwhile.
	for range 20 {
		if _, err := x.c.Getattr(t.Context(), f.Handle()); err != nil {
			t.Fatal(err)
		}
	}
	if returned.Load() {
		t.Error("the layout was returned while a write was in flight")
	}
	close(hold)
	<-ended
	waitFor(t, returned.Load)
	closeFile(t, f)
	if string(x.Content("data")) != string(content) {
		t.Error("the file is not what was written")
	}
	_ = s.Close()
	x.leavesNothing(t)
}

func TestWhatADataServerRefusesGoesThroughTheMetadataServer(t *testing.T) {
	for _, status := range []v4.Status{
		v4.ErrPNFSNoLayout, v4.ErrStaleStateID, v4.ErrBadStateID, v4.ErrPNFSIOHole, v4.ErrStale, v4.ErrIO, v4.ErrNoSpc,
		v4.ErrAccess, v4.ErrGrace, v4.ErrServerFault, v4.ErrExpired, v4.ErrNotSupp,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var refuse atomic.Bool
			x := startChecked(t, &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				switch {
				case c.Address == mdsAddress || !refuse.Load():
				case c.Has(v4.OpRead):
					return nfs4test.Fail(v4.OpRead, status)
				case c.Has(v4.OpWrite):
					return nfs4test.Fail(v4.OpWrite, status)
				}
				return nfs4test.Action{}
			}}, striped2)
			x.d.during(t, x.s, func() {
				refuse.Store(true)
				x.moves(t, mdsAddress)
				x.more(t, 50)
				refuse.Store(false)
				x.moves(t, dsAddress(0))
			})
			if k := x.layouts(); k.Fallbacks == 0 {
				t.Errorf("layouts: %+v, want fallbacks", k)
			}
			x.ends(t)
		})
	}
}

func TestLayoutsThatAreRevokedAreTakenAgain(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{}, striped2)
	x.d.during(t, x.s, func() {
		for range 2 {
			x.movesAfter(t, mdsAddress, x.RevokeLayouts)
			x.moves(t, dsAddress(1))
		}
	})
	x.ends(t)
}

func TestTheMetadataServerRestarts(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{LeaseSeconds: 3}, striped2)
	x.d.during(t, x.s, func() {
		granted := x.layouts().Granted
		x.Restart(mdsAddress)
		waitFor(t, func() bool { return x.c.Servers()[0].Recoveries > 0 })
		x.EndGrace()
		waitFor(t, func() bool { return x.layouts().Granted > granted })
		x.moves(t, dsAddress(0))
	})
	x.ends(t)
}

func TestDevicesChange(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		var asked atomic.Int64
		x := startChecked(t, &nfs4test.Server{Hook: func(c nfs4test.Call) (a nfs4test.Action) {
			if c.Has(v4.OpGetDeviceInfo) {
				asked.Add(1)
			}
			return a
		}}, striped2)
		x.d.during(t, x.s, func() {
			change := func(device byte) error {
				return x.call(&v4.CBNotifyDeviceID{Changes: []v4.DeviceChange{{Deleted: deleted, Type: v4.LayoutFiles, Device: v4.DeviceID{device, 1}}}})
			}
			before := x.layouts().Fallbacks
			if err := change(9); err != nil { // no device of ours
				t.Error(err)
			}
			x.more(t, 50)
			if n, after := asked.Load(), x.layouts().Fallbacks; n != 1 || after != before {
				t.Errorf("the device was asked for %d times, and %d I/Os went through the metadata server", n, after-before)
			}
			if err := change(2); err != nil {
				t.Error(err)
			}
			waitFor(t, func() bool { return asked.Load() > 1 && x.layouts().Granted > 1 })
			x.moves(t, dsAddress(0))
		})
		x.ends(t)
	}
}

func TestWhatTheFileSystemOffers(t *testing.T) {
	for name, tc := range map[string]struct {
		offered  []uint32
		want     string
		asks     bool
		segments bool
	}{
		"blocks":                   {[]uint32{v4.LayoutBlock}, "blocks", false, false},
		"flexible files and SCSI":  {[]uint32{v4.LayoutFlexFiles, v4.LayoutSCSI}, "flexible files, SCSI", false, false},
		"files among others":       {[]uint32{v4.LayoutBlock, v4.LayoutFiles}, "files", true, true},
		"files, but not this file": {[]uint32{v4.LayoutFiles}, "files", true, false},
		"an unknown type":          {[]uint32{77}, "layout type 77", false, false},
		"none":                     {[]uint32{}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			x := startChecked(t, &nfs4test.Server{LayoutTypes: tc.offered, Hook: func(c nfs4test.Call) (a nfs4test.Action) {
				if c.Has(v4.OpLayoutGet) {
					asked.Add(1)
				}
				return a
			}}, func(p *pnfs, name string) []layout.Segment {
				if tc.segments {
					return striped2(p, name)
				}
				return nil
			})
			x.d.during(t, x.s, func() { x.more(t, 100) })
			k := x.layouts()
			if k.Type != tc.want || asked.Load() > 0 != tc.asks || k.Granted > 0 != tc.segments {
				t.Errorf("layouts: %+v, asked %d times; want type %q", k, asked.Load(), tc.want)
			}
			if n := x.moved(dsAddress(0)); n > 0 != tc.segments || k.FallbackBytes > 0 == tc.segments {
				t.Errorf("%d bytes at the data server, layouts %+v", n, k)
			}
			x.ends(t)
		})
	}
}

func TestALayoutOfAnotherTypeIsNotUsed(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Has(v4.OpLayoutGet) {
			return nfs4test.Fail(v4.OpLayoutGet, v4.ErrUnknownLayoutType)
		}
		return nfs4test.Action{}
	}}, striped2)
	x.d.during(t, x.s, func() { x.more(t, 100) })
	if k := x.layouts(); k.Granted != 0 || k.Fallbacks == 0 {
		t.Errorf("layouts: %+v", k)
	}
	x.ends(t)
}

func TestALayoutThatComesLaterIsUsed(t *testing.T) {
	for _, status := range []v4.Status{v4.ErrLayoutTryLater, v4.ErrLayoutUnavailable, v4.ErrRecallConflict} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var refuse atomic.Bool
			x := startChecked(t, &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
				if c.Has(v4.OpLayoutGet) && refuse.Load() {
					return nfs4test.Fail(v4.OpLayoutGet, status)
				}
				return nfs4test.Action{}
			}}, striped2)
			refuse.Store(true)
			x.d.during(t, x.s, func() {
				waitFor(t, func() bool { _, err := x.RecallLayouts("data"); return err == nil })
				x.moves(t, mdsAddress)
				x.more(t, 100)
				refuse.Store(false)
				x.moves(t, dsAddress(0))
			})
			x.ends(t)
		})
	}
}

func TestFilesWithOneHandleShareALayout(t *testing.T) {
	for _, onClose := range []bool{false, true} {
		t.Run(fmt.Sprintf("return on close %v", onClose), func(t *testing.T) {
			x := startChecked(t, &nfs4test.Server{ReturnOnClose: onClose}, striped2)
			second := x.open(t, "data")
			if _, _, opens, layouts := x.Clients(); opens != 2 || layouts != 1 {
				t.Errorf("%d opens and %d layouts, want 2 and 1", opens, layouts)
			}
			closeFile(t, x.f)
			x.f, x.d.f = second, second
			x.d.during(t, x.s, func() {
				x.moves(t, dsAddress(0))
				// The layout that follows a recall has to come from the open that is left.
				waitFor(t, func() bool { _, err := x.RecallLayouts("data"); return err == nil })
				waitFor(t, func() bool { return x.layouts().Granted > 1 })
				x.moves(t, dsAddress(0))
			})
			x.ends(t)
		})
	}
}

func TestNFSv41AsksForNoLayout(t *testing.T) {
	var asked atomic.Int64
	s := &nfs4test.Server{Identity: pnfsIdentity, Hook: func(c nfs4test.Call) (a nfs4test.Action) {
		if c.Address != mdsAddress || c.Has(v4.OpLayoutGet) || c.Has(v4.OpGetDeviceInfo) {
			asked.Add(1)
		}
		return a
	}}
	s.Start(t, mdsAddress, dsAddress(0), dsAddress(1))
	p := &pnfs{Server: s}
	s.SetLayouts(func(name string) []layout.Segment { return striped2(p, name) })
	p.c = p.dial(t, bench.NFSv41)
	p.AddFile("data", nil)
	x := &checked{pnfs: p, f: p.open(t, "data")}
	x.d = newChecker(t, x.f, checkedSlots, checkedBlock, checkedBlocks)
	x.s = p.stream(t, checkedSlots, checkedBlock)
	x.d.during(t, x.s, func() {})
	if n := asked.Load(); n != 0 || x.layouts() != (nfs.LayoutStats{}) {
		t.Errorf("%d pNFS calls were made, and layouts are %+v", n, x.layouts())
	}
	x.ends(t)
}

// TestALayoutThatIsNotInUseIsReturned: one that a data server has refused is the client's still.
func TestALayoutThatIsNotInUseIsReturned(t *testing.T) {
	p := startPNFS(t, &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Address != mdsAddress && c.Has(v4.OpWrite) {
			return nfs4test.Fail(v4.OpWrite, v4.ErrIO)
		}
		return nfs4test.Action{}
	}}, striped2)
	p.AddFile("data", nil)
	f := p.open(t, "data")
	s := p.stream(t, 1, 64*kib)
	runAll(t, s, 1, f, pieces(randomBytes(64*kib), 64*kib, true))
	_ = s.Close()
	closeFile(t, f)
	p.leavesNothing(t)
}

func TestADeadDataServerKeepsNothingAtTheMetadataServer(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{LeaveState: true}, striped2)
	x.d.during(t, x.s, func() {})
	x.Kill(dsAddress(1))
	x.close(t)
	if clients, _, opens, layouts := x.Clients(); clients != 1 || opens+layouts != 0 {
		t.Errorf("left behind: %d clients, %d opens, %d layouts; want one client, at the dead data server", clients, opens, layouts)
	}
}

// TestOneProgramIsSeveralServers: all have one client ID, and its sessions count together.
func TestOneProgramIsSeveralServers(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{Identity: func(address string) nfs4test.Identity {
		id := pnfsIdentity(address)
		id.Major = "one"
		return id
	}}, func(p *pnfs, name string) []layout.Segment {
		g := p.stripes(name, 1)
		for i := range g[0].Body.Handles {
			g[0].Body.Handles[i] = fmt.Appendf(nil, "%s/%d", name, i)
		}
		return g
	})
	for range 3 {
		x.d.during(t, x.s, func() { x.moves(t, dsAddress(0)); x.moves(t, dsAddress(1)) })
		if err := x.s.Close(); err != nil {
			t.Error(err)
		}
		x.s = x.stream(t, checkedSlots, checkedBlock)
	}
	x.ends(t)
}

func TestAStreamKnowsStripesOfLayoutsThatAreGoneNow(t *testing.T) {
	var refuse atomic.Bool
	x := startChecked(t, &nfs4test.Server{Hook: func(c nfs4test.Call) nfs4test.Action {
		if c.Has(v4.OpLayoutGet) && refuse.Load() {
			return nfs4test.Fail(v4.OpLayoutGet, v4.ErrLayoutUnavailable)
		}
		return nfs4test.Action{}
	}}, striped2)
	refuse.Store(true)
	if n, err := x.RecallLayouts("data"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	waitFor(t, func() bool { _, _, _, layouts := x.Clients(); return layouts == 0 })
	_ = x.s.Close()
	x.s = x.stream(t, checkedSlots, checkedBlock) // while there is no layout
	refuse.Store(false)
	x.d.during(t, x.s, func() { x.moves(t, dsAddress(0)); x.moves(t, dsAddress(1)) })
	x.ends(t)
}

func TestAStreamOverManySmallStripesCanBeMade(t *testing.T) {
	p := startPNFS(t, &nfs4test.Server{}, func(p *pnfs, name string) []layout.Segment {
		g := p.stripes(name, 1)
		g[0].Body.StripeUnit = layout.MinStripeUnit
		return g
	})
	p.AddFile("data", nil)
	f := p.open(t, "data")
	s := p.stream(t, 128, 1<<20)
	content := randomBytes(8 << 20)
	runAll(t, s, 128, f, pieces(content, 1<<20, true))
	_ = s.Close()
	closeFile(t, f)
	if string(p.Content("data")) != string(content) {
		t.Error("the file is not what was written")
	}
	p.leavesNothing(t)
}

// TestIOWaitsForTheSlotsOfADataServer, and is not given to the metadata server meanwhile.
func TestIOWaitsForTheSlotsOfADataServer(t *testing.T) {
	p := startPNFS(t, &nfs4test.Server{Slots: 2}, striped2)
	p.AddFile("data", make([]byte, 1<<20))
	f := p.open(t, "data")
	s := p.stream(t, 16, 256*kib)
	d := newCircle(f, true, 16, 256*kib)
	d.left.Store(300)
	s.Run(t.Context(), d)
	if err := d.err.Load(); err != nil {
		t.Error(*err)
	}
	if k := p.layouts(); k.Fallbacks != 0 {
		t.Errorf("layouts: %+v, want all at the data servers", k)
	}
	_ = s.Close()
	for _, one := range p.c.Servers() {
		if one.DataServer && (one.Slot.Waits == 0 || one.Slot.Used != 2) {
			t.Errorf("data server %+v, want that I/O has waited for 2 slots", one)
		}
	}
	closeFile(t, f)
	p.leavesNothing(t)
}

func TestAStreamOverDataServersAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, tc := range map[string]struct {
		size  int
		write bool
	}{"read 8 KiB": {8 * kib, false}, "read over stripes": {256 * kib, false}, "write 8 KiB": {8 * kib, true}, "write over stripes": {256 * kib, true}} {
		t.Run(name, func(t *testing.T) {
			p := startPNFS(t, &nfs4test.Server{}, striped2)
			_ = p.c.Close()
			// Who looks after layouts allocates beside the operations.
			p.c = p.dial(t, bench.PNFS, func(c *nfs.Config) { c.LayoutRetry = time.Hour })
			p.AddFile("data", make([]byte, 1<<20))
			f := p.open(t, "data")
			s := p.stream(t, 16, tc.size)
			d := newCircle(f, tc.write, 16, tc.size)
			d.allocates(t, s, 300)
			few, many := d.allocates(t, s, 100), d.allocates(t, s, 1100)
			if many-few > 100 {
				t.Errorf("1000 more operations allocate %d times more", many-few)
			}
			if k := p.layouts(); k.Fallbacks != 0 {
				t.Errorf("layouts: %+v, want all at the data servers", k)
			}
			_ = s.Close()
			closeFile(t, f)
		})
	}
}
