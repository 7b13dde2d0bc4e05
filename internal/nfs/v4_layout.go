package nfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

const (
	// layoutBytes bounds the requested size of a layout or of a device.
	layoutBytes = 64 << 10
	// layoutPause is the maximum number of Config.LayoutRetry intervals between two requests.
	layoutPause = 31
	// layoutTimeout bounds the wait for one layout: I/O continues through the metadata server.
	layoutTimeout = 5 * time.Second
	// maxDataServers bounds the data servers that a client connects to.
	maxDataServers = 64
	// maxDataPaths bounds the addresses used of a data server: each needs a connection in each stream.
	maxDataPaths = 8
	// maxDevices bounds the devices that are remembered for other layouts. One layout may need as many.
	maxDevices = layout.MaxSegments
	// maxRecalls bounds the recalls that are being answered: a server can make more, although it has no answer yet.
	maxRecalls = 64
	// maxParts bounds the outstanding parts of a stream with stripes.
	maxParts = 4096
)

// layoutsV4 holds the files layouts of a client and their data servers (RFC 8881 chapters 12 and 13).
type layoutsV4 struct {
	cfg    *Config
	mds    *serverV4
	wanted bool   // the file system offers files layouts
	kind   string // name of the offered layout type

	mu        sync.Mutex
	closed    bool
	byFile    map[string]*layoutV4 // by file handle
	servers   []*dataServer
	devices   map[v4.DeviceID]*deviceV4
	changes   int // counts the notifications of changed devices
	recalling int // counts the recalls that still wait for their LAYOUTRETURN
	// returning counts the recalls of more than one file that still wait for the answer to their last LAYOUTRETURN. No
	// layouts are requested meanwhile: that call returns all layouts, including new ones.
	returning int

	life context.Context // until close
	stop context.CancelFunc
	wg   sync.WaitGroup

	smallest atomic.Int64 // the smallest stripe unit so far, 0 before the first layout

	granted, recalled, fallbacks, fallbackBytes atomic.Int64
}

// layoutV4 is the layout of one file. Files with the same handle share it, as at the server.
type layoutV4 struct {
	all    *layoutsV4
	handle []byte

	// mu is held while the layout is requested, committed or returned, for as long as the server takes.
	mu sync.Mutex

	// Guarded by mu of all.
	opens   []*openV4  // of the open Files
	id      v4.StateID // of the layout; zero if the server has given none
	onExit  bool       // the server takes the layout back when the file is closed
	asking  bool       // LAYOUTGET is under way
	recalls int
	pause   int // turns of keep between two requests
	skip    int // remaining turns of pause

	use     atomic.Pointer[striped] // nil: use the metadata server
	flight  atomic.Int64            // unanswered requests at data servers
	written atomic.Int64            // end of the data written through the layout since the last LAYOUTCOMMIT
	told    atomic.Int64            // end of the data at the last LAYOUTCOMMIT
}

// striped is a layout with its data servers. It is immutable.
type striped struct {
	*layout.Layout
	groups [][]int // group of threads, by segment and data server
}

// deviceV4 is a device with its data servers.
type deviceV4 struct {
	layout.Device
	groups []int
}

// dataServer is one data server. Its group of threads is its index in layoutsV4.servers plus one: group 0 is the
// metadata server.
type dataServer struct {
	server *serverV4
	key    string

	mu      sync.Mutex // held during the start
	started atomic.Bool
}

// newLayouts reads the layout types of the file system and starts keep.
func newLayouts(cfg *Config, mds *serverV4, offered []uint32) *layoutsV4 {
	life, stop := context.WithCancel(context.Background())
	l := &layoutsV4{
		cfg: cfg, mds: mds, wanted: slices.Contains(offered, v4.LayoutFiles),
		byFile: map[string]*layoutV4{}, devices: map[v4.DeviceID]*deviceV4{}, life: life, stop: stop,
	}
	if l.wanted {
		offered = []uint32{v4.LayoutFiles}
	}
	var names []string
	for _, kind := range offered {
		names = append(names, layout.TypeName(kind))
	}
	l.kind = strings.Join(names, ", ")
	mds.recallLayouts, mds.changeDevices, mds.loseLayouts = l.recall, l.forget, l.loseAll
	if l.wanted {
		l.wg.Go(l.keep)
	}
	return l
}

// keep requests lost, recalled and refused layouts again, and commits files that have grown to the metadata server.
func (l *layoutsV4) keep() {
	tick := time.NewTicker(l.cfg.LayoutRetry)
	defer tick.Stop()
	for {
		select {
		case <-l.life.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		files := slices.Collect(maps.Values(l.byFile))
		l.mu.Unlock()
		for _, f := range files {
			ctx, cancel := l.within(layoutTimeout)
			var err error
			if f.use.Load() != nil {
				err = l.tell(ctx, f)
			} else if f.due() {
				err = l.get(ctx, f)
			}
			cancel()
			if err != nil {
				l.cfg.Logger.Debug("No layout, or it cannot be committed yet", "error", err)
			}
		}
	}
}

// within returns a context for background calls. Calls under way at close may finish: the server would otherwise keep
// a layout that this client does not know.
func (l *layoutsV4) within(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	stop := context.AfterFunc(l.life, func() { l.mds.cancelInSilence(ctx, cancel) })
	return ctx, func() {
		stop() // otherwise life would keep ctx
		cancel()
	}
}

// due reports whether a file without a layout requests one in this turn of keep. After each refusal it waits longer.
func (f *layoutV4) due() bool {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.all.returning > 0 {
		return false
	}
	if f.skip > 0 {
		f.skip--
		return false
	}
	f.pause = min(2*f.pause+1, layoutPause)
	f.skip = f.pause
	return true
}

// close returns all layouts and ends the connections to data servers. The connection to the metadata server stays.
func (l *layoutsV4) close(ctx context.Context) error {
	l.mu.Lock()
	files, servers := l.byFile, l.servers
	l.byFile, l.closed = map[string]*layoutV4{}, true
	l.mu.Unlock()
	l.stop()
	l.wg.Wait()
	var errs []error
	heard, stop := l.mds.whileHeard(ctx)
	for _, f := range files {
		errs = append(errs, l.giveBack(heard, f))
	}
	stop()
	// The rest of the time belongs to the metadata server.
	ctx, cancel := context.WithTimeout(ctx, closeTimeout/2)
	defer cancel()
	// The last server that shares a client ID destroys it, so close that one last.
	for _, shares := range []bool{true, false} {
		errs = append(errs, closeAll(ctx, servers, shares))
	}
	return errors.Join(errs...)
}

func closeAll(ctx context.Context, servers []*dataServer, shares bool) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, ds := range servers {
		if ds.started.Load() && ds.server.shares == shares {
			wg.Go(func() { errs[i] = ds.server.close(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// attach gives an open file its layout, if it is available now. Until then, I/O goes through the metadata server.
func (l *layoutsV4) attach(ctx context.Context, o *openV4) *layoutV4 {
	l.mu.Lock()
	f := l.byFile[string(o.handle)]
	if f == nil {
		f = &layoutV4{all: l, handle: o.handle}
		l.byFile[string(o.handle)] = f
	}
	f.opens = append(f.opens, o)
	l.mu.Unlock()
	if !l.wanted {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, layoutTimeout)
	defer cancel()
	if err := l.get(ctx, f); err != nil {
		l.cfg.Logger.Warn("A file has no layout: its data go through the metadata server", "error", err)
	}
	return f
}

// detach is the counterpart of attach. The caller closes the file after it.
func (l *layoutsV4) detach(ctx context.Context, f *layoutV4, o *openV4) error {
	l.mu.Lock()
	f.opens = slices.DeleteFunc(f.opens, func(other *openV4) bool { return other == o })
	last := len(f.opens) == 0
	if last && l.byFile[string(f.handle)] == f {
		delete(l.byFile, string(f.handle))
	}
	l.mu.Unlock()
	if !last {
		return nil
	}
	return l.giveBack(ctx, f)
}

// giveBack commits the data written through a layout, and returns the layout.
func (l *layoutsV4) giveBack(ctx context.Context, f *layoutV4) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
	l.mu.Lock()
	id, closes := f.id, f.onExit && len(f.opens) == 0
	f.id = v4.StateID{}
	l.mu.Unlock()
	if id == (v4.StateID{}) {
		return nil
	}
	err := l.commit(ctx, f, id)
	if closes {
		return err
	}
	return errors.Join(err, l.mds.do(ctx, &v4.PutFH{Handle: f.handle}, &v4.LayoutReturn{
		Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfFile, Length: v4.ToEnd, StateID: id,
	}))
}

// tell commits if the file has grown: otherwise other clients do not see the new size.
func (l *layoutsV4) tell(ctx context.Context, f *layoutV4) error {
	if f.written.Load() <= f.told.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.mu.Lock()
	id := f.id
	l.mu.Unlock()
	if id == (v4.StateID{}) {
		return nil
	}
	return l.commit(ctx, f, id)
}

// commit tells the metadata server the end of the data written at data servers (RFC 8881 section 18.42). The caller
// holds mu of f.
func (l *layoutsV4) commit(ctx context.Context, f *layoutV4, id v4.StateID) error {
	end := f.written.Swap(0)
	if end == 0 {
		return nil
	}
	err := l.mds.do(ctx, &v4.PutFH{Handle: f.handle}, &v4.LayoutCommit{
		Length: uint64(end), StateID: id, HasLastWrite: true, LastWrite: uint64(end - 1), Type: v4.LayoutFiles,
	})
	if err != nil {
		f.wrote(end) // to be committed with the next layout
		return fmt.Errorf("commit a layout: %w", err)
	}
	f.told.Store(max(end, f.told.Load()))
	return nil
}

// get requests the layout of the whole file, for reading and writing, unless the file has one.
func (l *layoutsV4) get(ctx context.Context, f *layoutV4) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.use.Load() != nil {
		return nil
	}
	ask, recalls, err := l.ask(ctx, f)
	if err != nil {
		return fmt.Errorf("ask for a layout: %w", err)
	}
	changes := l.changesSoFar()
	use, err := l.stripe(ctx, ask.Segments)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.recalls != recalls || f.id == (v4.StateID{}) || l.changes != changes {
		return errors.New("the layout was taken back at once")
	}
	f.pause, f.skip = 0, 0
	l.granted.Add(1)
	f.use.Store(use)
	return nil
}

func (l *layoutsV4) changesSoFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// ask sends LAYOUTGET. The result recalls is the number of recalls before the answer.
func (l *layoutsV4) ask(ctx context.Context, f *layoutV4) (ask *v4.LayoutGet, recalls int, err error) {
	ask = &v4.LayoutGet{
		Type: v4.LayoutFiles, IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, MinLength: 1, MaxCount: layoutBytes,
	}
	c := &callV4{ops: []v4.Operation{&v4.PutFH{Handle: f.handle}, ask}, before: func() (err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.returning > 0 {
			return errors.New("the server takes all layouts back")
		}
		if ask.StateID, err = f.stateID(); err == nil {
			f.asking = true
		}
		return err
	}}
	for range 2 {
		_, err = l.mds.call(ctx, c)
		l.mu.Lock()
		recalls, f.asking = f.recalls, false
		if err == nil {
			f.id, f.onExit = ask.Granted, ask.ReturnOnClose
		}
		again := err != nil && ask.StateID == f.id && isLostState(err)
		if again {
			f.id = v4.StateID{} // the layout is lost: begin again with the open
		}
		l.mu.Unlock()
		if !again {
			break
		}
	}
	return ask, recalls, err
}

// stateID returns the state ID for LAYOUTGET: that of the layout, or at first that of an open (RFC 8881 section
// 12.5.2). The caller holds mu of all.
func (f *layoutV4) stateID() (v4.StateID, error) {
	if f.id != (v4.StateID{}) {
		return f.id, nil
	}
	err := errNotOpen
	for _, o := range f.opens {
		if state := o.state.Load(); state != nil {
			return state.id, nil
		}
		if o.broken.Load() == nil {
			err = stream.ErrNotReady
		}
	}
	return v4.StateID{}, err
}

var errNotOpen = errors.New("the file is not open at the metadata server any more")

// isLostState reports whether err says that a state ID is no longer valid.
func isLostState(err error) bool {
	switch statusOf(err) {
	case v4.ErrBadStateID, v4.ErrOldStateID, v4.ErrStaleStateID, v4.ErrAdminRevoked, v4.ErrDelegRevoked, v4.ErrExpired:
		return true
	default:
		return false
	}
}

// stripe builds a layout from the segments of LAYOUTGET.
func (l *layoutsV4) stripe(ctx context.Context, segments []v4.Segment) (*striped, error) {
	out := &striped{}
	var all []layout.Segment
	if len(segments) > layout.MaxSegments { // before each of them asks for a device
		return nil, violation("layout of %d segments, more than %d", len(segments), layout.MaxSegments)
	}
	for i := range segments {
		g := &segments[i]
		if g.Type != v4.LayoutFiles {
			return nil, fmt.Errorf("the server gives a layout of type %s, which this client does not speak",
				layout.TypeName(g.Type))
		}
		var body layout.Body
		d := xdr.NewDecoder(slices.Clone(g.Body))
		if xdr.Decode(&d, &body); d.Err() != nil {
			return nil, violation("layout: %w", d.Err())
		}
		device, err := l.device(ctx, body.Device)
		if err != nil {
			return nil, err
		}
		all = append(all, layout.Segment{
			IOMode: g.IOMode, Offset: g.Offset, Length: g.Length, Body: body, Device: &device.Device,
		})
		out.groups = append(out.groups, device.groups)
	}
	var err error
	if out.Layout, err = layout.New(all); err != nil {
		return nil, violation("%w", err)
	}
	for i := range all {
		unit := int64(all[i].Body.StripeUnit)
		for old := l.smallest.Load(); (old == 0 || unit < old) && !l.smallest.CompareAndSwap(old, unit); {
			old = l.smallest.Load()
		}
	}
	return out, nil
}

// device returns a device with its addresses, and requests it if it is unknown.
func (l *layoutsV4) device(ctx context.Context, id v4.DeviceID) (*deviceV4, error) {
	l.mu.Lock()
	known, changes := l.devices[id], l.changes
	l.mu.Unlock()
	if known != nil {
		return known, nil
	}
	info := v4.GetDeviceInfo{
		Device: id, Type: v4.LayoutFiles, MaxCount: layoutBytes,
		Notify: v4.Bits(v4.NotifyDeviceChange, v4.NotifyDeviceDelete),
	}
	if err := l.mds.do(ctx, &info); err != nil {
		return nil, fmt.Errorf("ask for the data servers of a layout: %w", err)
	}
	device := &deviceV4{}
	d := xdr.NewDecoder(info.Address)
	if xdr.Decode(&d, &device.Device); d.Err() != nil || info.AddressType != v4.LayoutFiles {
		return nil, violation("addresses of data servers: %w", errors.Join(d.Err(), layoutTypeError(info.AddressType)))
	}
	if err := device.Validate(); err != nil {
		return nil, violation("%w", err)
	}
	for i, addresses := range device.Servers {
		g, err := l.dataServer(ctx, addresses)
		if err != nil {
			return nil, err
		}
		device.groups = append(device.groups, g)
		device.Servers[i] = slices.Clone(addresses[:1]) // the others are not needed any more, and may be many
	}
	l.remember(id, device, changes)
	return device, nil
}

// remember keeps a device for other layouts, unless devices have changed since it was requested. A server may name
// new ones without end.
func (l *layoutsV4) remember(id v4.DeviceID, device *deviceV4, changes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changes != changes {
		return
	}
	if len(l.devices) >= maxDevices {
		clear(l.devices)
	}
	l.devices[id] = device
}

func layoutTypeError(kind uint32) error {
	if kind == v4.LayoutFiles {
		return nil
	}
	return fmt.Errorf("the layout type is %s, not %s", layout.TypeName(kind), layout.TypeName(v4.LayoutFiles))
}

// dataServer returns the group of the data server with these addresses, and connects to a new server. If a server
// does not answer, the streams retry.
func (l *layoutsV4) dataServer(ctx context.Context, addresses []layout.NetAddr) (group int, err error) {
	var reach []netip.AddrPort
	var errs []error
	for _, a := range addresses {
		ap, err := a.AddrPort()
		if err == nil {
			err = l.mayReach(ap.Addr())
		}
		if err != nil {
			errs = append(errs, err)
		} else if !slices.Contains(reach, ap) && len(reach) < maxDataPaths {
			reach = append(reach, ap)
		}
	}
	if len(reach) == 0 {
		return 0, fmt.Errorf("a data server has no address that this client can use: %w", errors.Join(errs...))
	}
	slices.SortFunc(reach, netip.AddrPort.Compare) // servers may change the order
	key := fmt.Sprint(reach)
	l.mu.Lock()
	i := slices.IndexFunc(l.servers, func(ds *dataServer) bool { return ds.key == key })
	if i < 0 && len(l.servers) == maxDataServers {
		l.mu.Unlock()
		return 0, fmt.Errorf("layouts lead to more than %d data servers", maxDataServers)
	}
	if i < 0 {
		i = len(l.servers)
		l.servers = append(l.servers, l.newDataServer(key, reach))
	}
	ds := l.servers[i]
	l.mu.Unlock()
	if err := l.start(ctx, ds); err != nil {
		l.cfg.Logger.Warn("A data server does not answer: its data go through the metadata server",
			"address", ds.server.describe(), "error", err)
	}
	return i + 1, nil
}

// mayReach refuses addresses that mean something different on each host, unless the metadata server has an address of
// the same kind.
func (l *layoutsV4) mayReach(ip netip.Addr) error {
	for _, kind := range []struct {
		is   func(netip.Addr) bool
		name string
	}{{netip.Addr.IsLoopback, "loopback"}, {netip.Addr.IsLinkLocalUnicast, "link-local"}} {
		if kind.is(ip) && !slices.ContainsFunc(l.mds.channels, func(ch *channel) bool { return ch.from(kind.is) }) {
			return fmt.Errorf("%s is a %s address, and the metadata server has another kind", ip, kind.name)
		}
	}
	if ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return fmt.Errorf("%s is the broadcast address", ip)
	}
	return nil
}

// from reports whether is holds for the local address of the channel, which has the same family as the remote one.
func (ch *channel) from(is func(netip.Addr) bool) bool {
	local := ch.local.Load()
	if local == nil {
		return false
	}
	ap, err := netip.ParseAddrPort(*local)
	return err == nil && is(ap.Addr())
}

func (l *layoutsV4) newDataServer(key string, reach []netip.AddrPort) *dataServer {
	var channels []*channel
	for _, ap := range reach {
		channels = append(channels, &channel{
			addr: Channel{Path: ap.Addr().String()}, port: int(ap.Port()), now: l.cfg.Now, logger: l.cfg.Logger,
			dontRoute: l.cfg.DontRoute, data: true,
		})
	}
	cfg := *l.cfg
	// Calls besides I/O, such as the creation of sessions, must not delay streams.
	cfg.CallTimeout = min(cfg.CallTimeout, layoutTimeout)
	s := newServerV4(&cfg, 1, v4.ExchangeUsePNFSDS, channels)
	s.lease.Store(l.mds.lease.Load())
	// Both servers must see the same client, because the state IDs come from the metadata server (RFC 8881 section
	// 13.1).
	s.owner, s.verifier, s.ids = l.mds.owner, l.mds.verifier, l.mds.ids
	return &dataServer{server: s, key: key}
}

// start connects the data server and creates client ID and sessions, unless it is started.
func (l *layoutsV4) start(ctx context.Context, ds *dataServer) error {
	if ds.started.Load() {
		return nil
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.started.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, layoutTimeout)
	defer cancel()
	if err := connectAll(ctx, ds.server.channels); err != nil {
		return err
	}
	if err := ds.server.start(ctx); err != nil {
		return err
	}
	// One program may be several servers, and several addresses may share a client ID.
	l.mu.Lock()
	defer l.mu.Unlock()
	ds.server.shares = ds.server.sameClient(l.mds)
	for _, other := range l.servers {
		ds.server.shares = ds.server.shares || other.started.Load() && ds.server.sameClient(other.server)
	}
	ds.started.Store(true)
	return nil
}

// drop stops the use of a layout: new I/O goes through the metadata server until there is another layout.
func (f *layoutV4) drop() { f.use.Store(nil) }

// sameClient reports whether two serverV4 have the same client ID at the same server.
func (s *serverV4) sameClient(other *serverV4) bool {
	a, b := s.who(), other.who()
	return s.clientID.Load() == other.clientID.Load() && a.major == b.major && a.scope == b.scope
}

// recall returns layouts because the metadata server recalls them. It first waits for requests in flight, because a
// data server may refuse them afterwards.
func (l *layoutsV4) recall(call *v4.CBLayoutRecall) v4.Status {
	var gone []*layoutV4
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.byFile {
		switch {
		case call.Type != v4.LayoutFiles || call.Extent == v4.LayoutOfFile && string(call.Handle) != string(f.handle):
		case f.asking:
			// The recalled layout may be the one that is being requested (RFC 8881 section 12.5.5.2).
			return v4.ErrDelay
		case f.id != v4.StateID{}:
			gone = append(gone, f)
		}
	}
	if len(gone) == 0 || l.closed {
		return v4.ErrNoMatchingLayout
	}
	if l.recalling >= maxRecalls {
		return v4.ErrDelay
	}
	l.recalling++
	l.recalled.Add(int64(len(gone)))
	if call.Extent != v4.LayoutOfFile {
		l.returning++
	}
	for _, f := range gone {
		f.drop()
		if f.recalls++; call.Extent == v4.LayoutOfFile {
			f.id = call.StateID
		}
		f.pause, f.skip = 0, 0
	}
	l.wg.Go(func() { l.returnRecalled(gone, call) })
	return v4.OK
}

func (l *layoutsV4) returnRecalled(gone []*layoutV4, call *v4.CBLayoutRecall) {
	defer func() {
		l.mu.Lock()
		l.recalling--
		l.mu.Unlock()
	}()
	lease := time.Duration(l.mds.lease.Load())
	life, end := context.WithTimeout(l.life, lease)
	defer end()
	ctx, cancel := l.within(lease)
	defer cancel()
	for _, f := range gone {
		for waits := true; waits && f.flight.Load() > 0; {
			waits = sleep(life, time.Millisecond)
		}
		if err := l.giveBack(ctx, f); err != nil {
			l.cfg.Logger.Debug("The server did not take a layout back", "error", err)
		}
	}
	if call.Extent == v4.LayoutOfFile {
		return
	}
	defer func() {
		l.mu.Lock()
		l.returning--
		l.mu.Unlock()
	}()
	// One more LAYOUTRETURN reports that all layouts are returned (RFC 8881 section 18.44.3).
	last := &v4.LayoutReturn{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: call.Extent}
	ops := []v4.Operation{last}
	if call.Extent == v4.LayoutOfFSID {
		ops = []v4.Operation{&v4.PutFH{Handle: gone[0].handle}, last}
	}
	if err := l.mds.do(ctx, ops...); err != nil {
		l.cfg.Logger.Debug("The server did not take the layouts back", "error", err)
	}
}

// forget drops devices that have changed or were deleted, and the layouts that use them.
func (l *layoutsV4) forget(changes []v4.DeviceChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes++
	gone := map[v4.DeviceID]bool{}
	for _, c := range changes {
		delete(l.devices, c.Device)
		gone[c.Device] = true
	}
	for _, f := range l.byFile {
		use := f.use.Load()
		if use != nil && slices.ContainsFunc(use.Segments(), func(g layout.Segment) bool {
			return gone[g.Body.Device]
		}) {
			f.drop()
			f.pause, f.skip = 0, 0
		}
	}
}

// loseAll forgets all layouts: the metadata server has lost them.
func (l *layoutsV4) loseAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.byFile {
		f.drop()
		f.id = v4.StateID{}
		f.recalls++
		f.pause, f.skip = 0, 0
	}
	l.devices, l.changes = map[v4.DeviceID]*deviceV4{}, l.changes+1
}

// list returns the data servers. Group g has index g-1.
func (l *layoutsV4) list() []*dataServer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.servers)
}

func (l *layoutsV4) stats() LayoutStats {
	return LayoutStats{
		Type: l.kind, Granted: l.granted.Load(), Recalled: l.recalled.Load(),
		Fallbacks: l.fallbacks.Load(), FallbackBytes: l.fallbackBytes.Load(),
	}
}
