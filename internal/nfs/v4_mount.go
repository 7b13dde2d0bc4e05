package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/session"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// mountV4 connects the channels, groups them by server, and walks to the export.
func (c *Client) mountV4(ctx context.Context) (err error) {
	p := &protoV4{cfg: &c.cfg, began: c.cfg.Now()}
	if c.channels, err = connectChannels(ctx, c.cfg, c.cfg.NFSPort); err != nil {
		return p.explained(ctx, nil, err)
	}
	p.channels = c.channels
	for _, ch := range c.channels {
		if conn := ch.live(); conn != nil {
			p.local = append(p.local, conn.LocalAddr())
		}
	}
	if err := p.connect(ctx); err != nil {
		for _, ch := range c.channels {
			if conn := ch.live(); conn != nil {
				_ = conn.Close()
			}
		}
		return p.explained(ctx, nil, err)
	}
	if err := p.mount(ctx); err != nil {
		p.abandon(ctx)
		return err
	}
	c.proto, c.transport, c.root = p, p.at[0].server.transport, p.at[0].root
	return nil
}

// explained returns err with an explanation of the failed mount. Without a client ID, server is nil.
func (p *protoV4) explained(ctx context.Context, server *serverV4, err error) error {
	q := inquiry{
		cfg: p.cfg, server: server, names: p.names(), local: p.local, waited: p.cfg.Now().Sub(p.began), err: err,
	}
	return q.explained(ctx)
}

// abandon closes after a failed mount, even if the time of the mount is over.
func (p *protoV4) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := p.close(ctx); err != nil {
		p.cfg.Logger.Debug("The server did not take the good-bye", "error", err)
	}
}

// placeV4 is one server, or one address of it, at the end of some channels.
type placeV4 struct {
	server *serverV4
	root   FileHandle
	attrs  v4.Attrs // of the root: limits and layout types
	// opens is the index in the opens of a file: addresses with one client ID share an open.
	opens int
}

// connect creates the servers behind the channels.
func (p *protoV4) connect(ctx context.Context) error {
	minor, use := uint32(0), uint32(0)
	switch p.cfg.Version {
	case bench.NFSv3, bench.NFSv40, bench.NFSv42: // the last is refused
	case bench.NFSv41:
		minor, use = 1, v4.ExchangeUseNonPNFS
	case bench.PNFS:
		minor, use = 1, v4.ExchangeUseNonPNFS|v4.ExchangeUsePNFSMDS
	}
	first := newServerV4(p.cfg, minor, use, nil)
	groups, ids, err := p.group(ctx, first)
	if err != nil {
		return err
	}
	separate := 0
	for g, channels := range groups {
		s := newServerV4(p.cfg, minor, use, channels)
		place := &placeV4{server: s}
		s.owner, s.verifier, s.ids = first.owner, first.verifier, first.ids
		if g > 0 && trunking(ids[0], ids[g]) == bench.TrunkingClientID {
			s.shares = true
		} else if g > 0 {
			separate++
			place.opens = separate
		}
		if err := s.start(ctx); err != nil {
			p.abandon(ctx)
			if statusOf(err) == v4.OK {
				err = tooFewSessions(err)
			}
			return fmt.Errorf("path %s: %w", s.describe(), err)
		}
		p.at = append(p.at, place)
		for _, ch := range channels {
			p.byChannel[ch] = g
		}
	}
	if separate > 0 {
		p.warnServers(groups)
	}
	return nil
}

// group groups the channels by server. Channels that are down join the first group.
func (p *protoV4) group(ctx context.Context, s *serverV4) (groups [][]*channel, ids []identity, err error) {
	p.byChannel = map[*channel]int{}
	var down []*channel
	var lost error
	for _, ch := range p.channels {
		conn := ch.live()
		if conn == nil {
			down = append(down, ch)
			continue
		}
		id, err := s.ask(ctx, ch, conn, len(ids))
		if rpc.IsLost(err) {
			down, lost = append(down, ch), errors.Join(lost, fmt.Errorf("path %s: %w", ch.addr.Path, err))
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("path %s: %w", ch.addr.Path, err)
		}
		g := slices.IndexFunc(ids, func(other identity) bool { return trunking(other, id) == bench.TrunkingSession })
		if g < 0 {
			g, groups, ids = len(ids), append(groups, nil), append(ids, id)
		}
		groups[g] = append(groups[g], ch)
	}
	if len(groups) == 0 {
		return nil, nil, cmp.Or(lost, errors.New("no path is connected"))
	}
	groups[0] = append(groups[0], down...)
	return groups, ids, nil
}

// ask identifies a server. It retries while the server asks for a delay, and once if the connection is lost.
func (s *serverV4) ask(ctx context.Context, ch *channel, conn *rpc.Conn, known int) (id identity, err error) {
	again := true
	for wait := stream.DelayFirst; ; wait = min(2*wait, stream.DelayMax) {
		switch id, err = s.identify(ctx, conn, known); {
		case errors.Is(err, v4.ErrDelay):
			if !sleep(ctx, wait) {
				return id, err
			}
		case again && rpc.IsLost(err) && ch.connect(ctx) == nil:
			conn, again = ch.conn.Load(), false
		default:
			return id, err
		}
	}
}

// identify returns the identity of a server. NFSv4.0 has no operation for that: a server that knows the client ID of
// the first path counts as the same server.
func (s *serverV4) identify(ctx context.Context, conn *rpc.Conn, known int) (identity, error) {
	if s.minor > 0 {
		x := v4.ExchangeID{Verifier: s.verifier, Owner: s.owner, Flags: s.use}
		err := s.over(ctx, conn, &x)
		return identityOf(&x), err
	}
	if known == 0 {
		return identity{}, s.setClientIDOver(ctx, conn)
	}
	err := s.over(ctx, conn, &v4.Renew{ClientID: s.clientID.Load()})
	if errors.Is(err, v4.ErrStaleClientID) || errors.Is(err, v4.ErrExpired) {
		return identity{major: fmt.Sprintf("server %d", known)}, nil
	}
	return identity{}, err
}

// trunking returns how two servers are related. It does not compare client IDs: servers that trunk return different
// ones for different connections.
func trunking(a, b identity) bench.Trunking {
	switch {
	case a.major != b.major || a.scope != b.scope:
		return bench.TrunkingSeparate
	case a.minor != b.minor:
		return bench.TrunkingClientID
	default:
		return bench.TrunkingSession
	}
}

// prepare implements protocol: each stream has sessions of its own at each server.
func (p *protoV4) prepare(
	ctx context.Context, cfg *stream.Config, threads []*channel, connections int,
) (_ []*channel, release func(), err error) {
	servers := p.dataServers()
	if len(servers) > 0 {
		p.layouts.cut(cfg)
		cfg.Groups = make([]int, len(threads))
	}
	tables := make([]*session.Table, len(p.at))
	var of []*serverV4
	for _, at := range p.at {
		of = append(of, at.server)
	}
	release = func() { dropTables(of, tables) }
	for i, at := range p.at {
		if tables[i], err = at.server.newTable(ctx, cfg.Parts()); err != nil {
			release()
			return nil, nil, tooFewSessions(fmt.Errorf("path %s: %w", at.server.describe(), err))
		}
	}
	data := &dataV4{layouts: p.layouts}
	for _, ch := range threads {
		g := p.byChannel[ch]
		data.threads = append(data.threads, threadV4{server: p.at[g].server, table: tables[g], opens: p.at[g].opens})
	}
	for i, t := range addTables(ctx, servers, cfg.Parts()) {
		ds := servers[i]
		p.warnDataServer(ds)
		tables, of = slices.Concat(tables, []*session.Table{t}), append(of, ds.server)
		for range connections {
			for _, ch := range ds.server.channels {
				threads, cfg.Groups = append(threads, ch), append(cfg.Groups, i+1)
				data.threads = append(data.threads, threadV4{server: ds.server, table: t, group: i + 1, ds: ds})
			}
		}
	}
	cfg.Describe = func(thread int) string { return threads[thread].describe() }
	cfg.Dial = func(ctx context.Context, thread int) (net.Conn, error) {
		return p.dialThread(ctx, threads[thread], &data.threads[thread])
	}
	cfg.Protocol, cfg.Patience = data, p.at[0].server.patience()
	return threads, release, nil
}

// dialThread connects a thread of a stream over a channel.
func (p *protoV4) dialThread(ctx context.Context, ch *channel, to *threadV4) (net.Conn, error) {
	if to.ds != nil {
		if err := p.layouts.start(ctx, to.ds); err != nil {
			return nil, err
		}
	}
	nc, err := dial(ctx, ch.addr, ch.port, ch.dontRoute)
	if err != nil {
		return nil, err
	}
	if err := to.server.bind(ctx, nc, to.table); err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	return nc, nil
}

// cut allows a cut of I/Os at each stripe, but with pieces large enough that the parts stay within maxParts.
func (l *layoutsV4) cut(cfg *stream.Config) {
	cfg.PieceBytes = l.smallest.Load()
	for cfg.Parts() > maxParts && cfg.PieceBytes < cfg.BlockBytes {
		cfg.PieceBytes *= 2
	}
}

// addTables gives a stream sessions at all data servers concurrently, so a dead server delays no other.
func addTables(ctx context.Context, servers []*dataServer, requests int) []*session.Table {
	tables := make([]*session.Table, len(servers))
	var wg sync.WaitGroup
	for i, ds := range servers {
		wg.Go(func() { tables[i] = ds.server.addTable(ctx, requests) })
	}
	wg.Wait()
	return tables
}

// dropTables is the counterpart of newTable and of addTables.
func dropTables(of []*serverV4, tables []*session.Table) {
	var wg sync.WaitGroup
	for i, t := range tables {
		wg.Go(func() { of[i].dropTable(t) })
	}
	wg.Wait()
}

// bind binds a connection to the sessions of a table, in the fore direction: callbacks use the connections without
// measured I/O.
func (s *serverV4) bind(ctx context.Context, nc net.Conn, t *session.Table) error {
	if t == nil {
		return nil
	}
	over := func(o v4.Operation) error {
		c := v4.Compound{Minor: s.minor, Ops: []v4.Operation{o}}
		results, err := rpc.Exchange(ctx, nc, c.Append(slices.Clone(s.head)))
		if err != nil {
			return err
		}
		return decodeCompound(&c, results)
	}
	ids, _ := t.IDs()
	for _, id := range ids {
		err := over(&v4.BindConnToSession{Session: id, Dir: v4.DirFore})
		if isLost(err) || bindsAtFirstUse(err) {
			return s.isOurs(nil, over) // the first I/O triggers the recovery of a lost session
		}
		if err != nil {
			return fmt.Errorf("bind the connection to the session: %w", err)
		}
	}
	return nil
}
