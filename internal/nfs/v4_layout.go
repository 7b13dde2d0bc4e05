package nfs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

const (
	// layoutBytes is how much of a layout or of a device is asked for.
	layoutBytes = 64 << 10
	// layoutRetry is how long after a loss a layout is asked for again.
	layoutRetry = time.Second
	// layoutTimeout bounds the wait for one layout: I/O goes on through the metadata server.
	layoutTimeout = 5 * time.Second
	// maxDataServers bounds how many data servers a client connects to.
	maxDataServers = 64
)

// layoutsV4 are the files layouts of a client and the data servers that they lead to (RFC
// 8881 chapters 12 and 13).
type layoutsV4 struct {
	cfg    *Config
	mds    *serverV4
	wanted bool   // the file system offers files layouts
	kind   string // the layout type that it offers, in words

	mu      sync.Mutex
	byFile  map[string]*layoutV4 // by file handle
	servers []*dataServer
	devices map[v4.DeviceID]*deviceV4

	stop context.CancelFunc
	done chan struct{}

	granted, recalled, fallbacks, fallbackBytes atomic.Int64
}

// layoutV4 is the layout of one file. Files with the same handle share it, as they do at
// the server.
type layoutV4 struct {
	all    *layoutsV4
	handle []byte
	users  int // open Files; mu of all guards it, like what follows
	open   *openV4
	id     v4.StateID // of the layout; zero before the first
	onExit bool       // the server takes it back when the file is closed

	use     atomic.Pointer[striped] // nil: go through the metadata server
	flight  atomic.Int64            // requests at data servers without answer
	written atomic.Int64            // the end of what was written through it
}

// striped is a layout with the data servers that it leads to. It does not change.
type striped struct {
	*layout.Layout
	groups [][]int // by segment and data server: the group of lanes
}

// deviceV4 is a device with its data servers.
type deviceV4 struct {
	layout.Device
	groups []int
}

// dataServer is one data server. Its group of lanes is its place in layoutsV4.servers and
// one: group 0 is the metadata server.
type dataServer struct {
	server *serverV4
	key    string

	mu      sync.Mutex // held while it is started
	started atomic.Bool
}

// newLayouts reads what the file system offers and starts to keep layouts.
func newLayouts(cfg *Config, mds *serverV4, offered []uint32) *layoutsV4 {
	l := &layoutsV4{
		cfg: cfg, mds: mds, wanted: slices.Contains(offered, v4.LayoutFiles),
		byFile: map[string]*layoutV4{}, devices: map[v4.DeviceID]*deviceV4{}, done: make(chan struct{}),
	}
	if l.wanted {
		offered = []uint32{v4.LayoutFiles}
	}
	var names []string
	for _, kind := range offered {
		names = append(names, layout.Type(kind).String())
	}
	l.kind = strings.Join(names, ", ")
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	mds.recallLayouts, mds.changeDevices, mds.loseLayouts = l.recall, l.forget, l.loseAll
	go l.keep(ctx)
	return l
}

// keep asks again for the layouts that were lost, recalled or refused.
func (l *layoutsV4) keep(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(layoutRetry)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var missing []*layoutV4
		l.mu.Lock()
		for _, f := range l.byFile {
			if f.use.Load() == nil && l.wanted {
				missing = append(missing, f)
			}
		}
		l.mu.Unlock()
		for _, f := range missing {
			if err := l.get(ctx, f); err != nil {
				l.cfg.Logger.Debug("No layout yet", "error", err)
			}
		}
	}
}

// close returns all layouts and ends the connections to data servers. The metadata server is
// still there.
func (l *layoutsV4) close(ctx context.Context) error {
	l.stop()
	<-l.done
	l.mu.Lock()
	files, servers := l.byFile, l.servers
	l.byFile = map[string]*layoutV4{}
	l.mu.Unlock()
	var errs []error
	for _, f := range files {
		errs = append(errs, l.giveBack(ctx, f))
	}
	for _, ds := range servers {
		if ds.started.Load() {
			errs = append(errs, ds.server.close(ctx))
		}
	}
	return errors.Join(errs...)
}

// attach gives an open file its layout, if it can be had now. Without one, I/O goes through
// the metadata server until there is one.
func (l *layoutsV4) attach(ctx context.Context, o *openV4) *layoutV4 {
	l.mu.Lock()
	f := l.byFile[string(o.handle)]
	if f == nil {
		f = &layoutV4{all: l, handle: o.handle, open: o}
		l.byFile[string(o.handle)] = f
	}
	f.users++
	l.mu.Unlock()
	if !l.wanted || f.use.Load() != nil {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, layoutTimeout)
	defer cancel()
	if err := l.get(ctx, f); err != nil {
		l.cfg.Logger.Warn("A file has no layout: its data go through the metadata server", "error", err)
	}
	return f
}

// detach is the counterpart of attach. The file is closed after it.
func (l *layoutsV4) detach(ctx context.Context, f *layoutV4) error {
	l.mu.Lock()
	f.users--
	last := f.users == 0
	if last {
		delete(l.byFile, string(f.handle))
	}
	l.mu.Unlock()
	if !last {
		return nil
	}
	return l.giveBack(ctx, f)
}

// giveBack commits what was written through a layout and returns it.
func (l *layoutsV4) giveBack(ctx context.Context, f *layoutV4) error {
	use := f.use.Swap(nil)
	if use == nil {
		return nil
	}
	l.mu.Lock()
	id, onExit := f.id, f.onExit
	f.id = v4.StateID{}
	l.mu.Unlock()
	err := l.commit(ctx, f, id)
	if onExit {
		return err
	}
	return errors.Join(err, l.mds.do(ctx, &v4.PutFH{Handle: f.handle}, &v4.LayoutReturn{
		Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfFile, Length: v4.ToEnd, StateID: id,
	}))
}

// commit tells the metadata server how far the file was written at data servers (RFC 8881
// section 18.42).
func (l *layoutsV4) commit(ctx context.Context, f *layoutV4, id v4.StateID) error {
	end := f.written.Swap(0)
	if end == 0 {
		return nil
	}
	return l.mds.do(ctx, &v4.PutFH{Handle: f.handle}, &v4.LayoutCommit{
		Length: uint64(end), StateID: id, HasLastWrite: true, LastWrite: uint64(end - 1), Type: v4.LayoutFiles,
	})
}

// get asks for the layout of a file: of all of it, for reading and writing.
func (l *layoutsV4) get(ctx context.Context, f *layoutV4) error {
	l.mu.Lock()
	ask := v4.LayoutGet{
		Type: v4.LayoutFiles, IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, MinLength: 1,
		StateID: f.id, MaxCount: layoutBytes,
	}
	open := f.open
	l.mu.Unlock()
	c := &callV4{ops: []v4.Operation{&v4.PutFH{Handle: f.handle}, &ask}, before: func() error {
		if ask.StateID == (v4.StateID{}) || ask.StateID.Seq == 0 {
			id := open.state.Load()
			if id == nil {
				return errNotOpen
			}
			ask.StateID = *id
		}
		return nil
	}}
	if _, err := l.mds.call(ctx, c); err != nil {
		l.mu.Lock()
		f.id = v4.StateID{} // it may have been that: begin with the open next time
		l.mu.Unlock()
		return fmt.Errorf("ask for a layout: %w", err)
	}
	use, err := l.stripe(ctx, ask.Segments)
	l.mu.Lock()
	f.id, f.onExit = ask.Granted, ask.ReturnOnClose
	l.mu.Unlock()
	if err != nil {
		return err
	}
	l.granted.Add(1)
	f.use.Store(use)
	return nil
}

var errNotOpen = errors.New("the file is not open at the metadata server now")

// stripe makes a layout of what LAYOUTGET gave.
func (l *layoutsV4) stripe(ctx context.Context, segments []v4.Segment) (*striped, error) {
	out := &striped{}
	var all []layout.Segment
	for i := range segments {
		g := &segments[i]
		if g.Type != v4.LayoutFiles {
			return nil, fmt.Errorf("the server gives a layout of type %s, which this client does not speak", layout.Type(g.Type))
		}
		var body layout.Body
		d := xdr.NewDecoder(slices.Clone(g.Body))
		if xdr.Decode(&d, &body); d.Err() != nil {
			return nil, violation("layout: %w", d.Err())
		}
		device, err := l.device(ctx, v4.DeviceID(body.Device))
		if err != nil {
			return nil, err
		}
		all = append(all, layout.Segment{
			IOMode: layout.IOMode(g.IOMode), Offset: g.Offset, Length: g.Length, Body: body, Device: &device.Device,
		})
		out.groups = append(out.groups, device.groups)
	}
	var err error
	if out.Layout, err = layout.New(all); err != nil {
		return nil, violation("%w", err)
	}
	return out, nil
}

// device asks for the addresses of a device, once.
func (l *layoutsV4) device(ctx context.Context, id v4.DeviceID) (*deviceV4, error) {
	l.mu.Lock()
	known := l.devices[id]
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
	for _, addresses := range device.Servers {
		g, err := l.dataServer(ctx, addresses)
		if err != nil {
			return nil, err
		}
		device.groups = append(device.groups, g)
	}
	l.mu.Lock()
	l.devices[id] = device
	l.mu.Unlock()
	return device, nil
}

func layoutTypeError(kind uint32) error {
	if kind == v4.LayoutFiles {
		return nil
	}
	return fmt.Errorf("they are of layout type %s", layout.Type(kind))
}

// dataServer returns the group of the data server with these addresses, and connects to it if
// it is new. One that does not answer is tried again by the streams.
func (l *layoutsV4) dataServer(ctx context.Context, addresses []layout.NetAddr) (group int, err error) {
	var reach []netip.AddrPort
	var errs []error
	for _, a := range addresses {
		ap, err := a.AddrPort()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		reach = append(reach, ap)
	}
	if len(reach) == 0 {
		return 0, fmt.Errorf("a data server has no address that this client can use: %w", errors.Join(errs...))
	}
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

func (l *layoutsV4) newDataServer(key string, reach []netip.AddrPort) *dataServer {
	var channels []*channel
	for _, ap := range reach {
		channels = append(channels, &channel{
			addr: Channel{Path: ap.Addr().String()}, port: int(ap.Port()), now: l.cfg.Now, logger: l.cfg.Logger,
			dontRoute: l.cfg.DontRoute, data: true,
		})
	}
	s := newServerV4(l.cfg, 1, v4.ExchangeUsePNFSDS, channels)
	s.lease.Store(l.mds.lease.Load())
	// The same client in the eyes of both, because the stateids are those of the metadata
	// server (RFC 8881 section 13.1).
	s.owner, s.verifier, s.ids = l.mds.owner, l.mds.verifier, l.mds.ids
	return &dataServer{server: s, key: key}
}

// start connects and makes client ID and sessions, unless that has been done.
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
	// One program may be both servers.
	ds.server.shares = ds.server.clientID.Load() == l.mds.clientID.Load() && ds.server.who() == l.mds.who()
	ds.started.Store(true)
	return nil
}

// drop stops the use of a layout: new I/O goes through the metadata server until there is
// another.
func (f *layoutV4) drop() { f.use.Store(nil) }

// recall takes layouts back because the metadata server asks for them. What is in flight ends
// first, because a data server may refuse it afterwards.
func (l *layoutsV4) recall(call *v4.CBLayoutRecall) v4.Status {
	var gone []*layoutV4
	l.mu.Lock()
	for _, f := range l.byFile {
		if f.use.Load() != nil && (call.Extent != v4.LayoutOfFile || string(call.Handle) == string(f.handle)) {
			gone = append(gone, f)
			if call.Extent == v4.LayoutOfFile {
				f.id = call.StateID
			}
		}
	}
	l.mu.Unlock()
	if len(gone) == 0 {
		return v4.ErrNoMatchingLayout
	}
	l.recalled.Add(int64(len(gone)))
	for _, f := range gone {
		f.drop()
	}
	go l.returnRecalled(gone, call)
	return v4.OK
}

func (l *layoutsV4) returnRecalled(gone []*layoutV4, call *v4.CBLayoutRecall) {
	lease := time.Duration(l.mds.lease.Load())
	ctx, cancel := context.WithTimeout(context.Background(), lease)
	defer cancel()
	for _, f := range gone {
		for f.flight.Load() > 0 && sleep(ctx, time.Millisecond) {
		}
		l.mu.Lock()
		id := f.id
		f.id = v4.StateID{}
		l.mu.Unlock()
		err := errors.Join(l.commit(ctx, f, id), l.mds.do(ctx, &v4.PutFH{Handle: f.handle}, &v4.LayoutReturn{
			Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: v4.LayoutOfFile, Length: v4.ToEnd, StateID: id,
		}))
		if err != nil {
			l.cfg.Logger.Debug("The server did not take a layout back", "error", err)
		}
	}
	if call.Extent == v4.LayoutOfFile {
		return
	}
	// One more return says that all is done (RFC 8881 section 18.44.3).
	last := &v4.LayoutReturn{Type: v4.LayoutFiles, IOMode: v4.IOModeAny, Extent: call.Extent}
	ops := []v4.Operation{last}
	if call.Extent == v4.LayoutOfFSID {
		ops = []v4.Operation{&v4.PutFH{Handle: gone[0].handle}, last}
	}
	if err := l.mds.do(ctx, ops...); err != nil {
		l.cfg.Logger.Debug("The server did not take the layouts back", "error", err)
	}
}

// forget drops devices that have changed or are gone, and the layouts with them.
func (l *layoutsV4) forget(changes []v4.DeviceChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		delete(l.devices, c.Device)
	}
	for _, f := range l.byFile {
		f.drop()
	}
}

// loseAll forgets all layouts: the metadata server does not know them any more.
func (l *layoutsV4) loseAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.byFile {
		f.drop()
		f.id = v4.StateID{}
	}
}

// smallestStripe returns the smallest stripe unit of the layouts in use, or 0.
func (l *layoutsV4) smallestStripe() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	smallest := int64(0)
	for _, f := range l.byFile {
		use := f.use.Load()
		if use == nil {
			continue
		}
		for _, g := range use.Segments() {
			if unit := int64(g.Body.StripeUnit); smallest == 0 || unit < smallest {
				smallest = unit
			}
		}
	}
	return smallest
}

// list returns the data servers, of which group g is at place g-1.
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
