package nfs

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/session"
)

// ServerStats holds the counts and properties of one NFSv4 server; compare Oracle's v$dnfs_servers. Counts begin at
// Dial.
type ServerStats struct {
	// DataServer reports that a layout leads to the server, and not a path of Config.Channels.
	DataServer bool
	Version    bench.NFSVersion // NFSv40 or NFSv41
	Addresses  []string
	Owner      string // so_major_id of RFC 8881 section 2.10.4: any bytes, like Scope
	OwnerMinor uint64
	Scope      string
	Trunking   bench.Trunking // empty with one address
	Slots      int            // of each session
	SlotsAsked int            // requested by the client for each session
	Sessions   int
	Slot       session.Stats // for READs and WRITEs of streams
	Lease      time.Duration

	Recoveries   int64         // recoveries of lost state
	RecoveryTime time.Duration // how long I/O may have waited for recovery
	Callbacks    int64
	Layouts      LayoutStats
}

// LayoutStats counts the outcomes of layouts.
type LayoutStats struct {
	// Type is the file system's layout type: "files", or the name of one that this client does not support. Empty
	// without pNFS.
	Type string
	// Granted and Recalled count layouts.
	Granted, Recalled int64
	// Fallbacks and FallbackBytes count the READs and WRITEs that went to the metadata server although pNFS was
	// requested.
	Fallbacks, FallbackBytes int64
}

// Servers returns the statistics of each server; nil with NFSv3.
func (c *Client) Servers() []ServerStats {
	p, ok := c.proto.(*protoV4)
	if !ok {
		return nil
	}
	var all []ServerStats
	for i, at := range p.at {
		s := at.server.stats()
		switch {
		case i > 0:
			s.Trunking = trunking(p.at[0].server.who(), at.server.who())
		case at.server.minor > 0 && len(at.server.channels) > 1:
			s.Trunking = bench.TrunkingSession
		case len(p.at) > 1:
			s.Trunking = trunking(at.server.who(), p.at[1].server.who())
		}
		if i == 0 && p.layouts != nil {
			s.Layouts = p.layouts.stats()
		}
		all = append(all, s)
	}
	if p.layouts != nil {
		all = append(all, p.layouts.serverStats()...)
	}
	return all
}

func (l *layoutsV4) serverStats() (all []ServerStats) {
	for _, ds := range l.list() {
		s := ds.server.stats()
		s.DataServer = true
		if len(ds.server.channels) > 1 {
			s.Trunking = bench.TrunkingSession
		}
		all = append(all, s)
	}
	return all
}

func (s *serverV4) stats() ServerStats {
	out := ServerStats{
		Version: bench.NFSv40, Lease: time.Duration(s.lease.Load()),
		Recoveries: s.recoveries.Load(), RecoveryTime: time.Duration(s.recoveryTime.Load()),
		Callbacks: s.calledBack.Load(),
	}
	if began := s.recovering.Load(); began != 0 {
		out.RecoveryTime += time.Duration(s.cfg.Now().UnixNano() - began)
	}
	for _, ch := range s.channels {
		out.Addresses = append(out.Addresses, ch.addr.Path)
	}
	if s.minor == 0 {
		return out
	}
	out.Version = bench.NFSv41
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	out.Owner, out.OwnerMinor, out.Scope = s.identity.major, s.identity.minor, s.identity.scope
	out.Slot = s.ended
	for t := range s.tables {
		if t != s.control {
			out.Slot.Add(t.Stats())
		}
		ids, granted := t.IDs()
		out.Sessions += len(ids)
		if t != s.control || out.Slots == 0 {
			out.Slots, out.SlotsAsked = granted, min(t.Requests(), maxSlots)
		}
	}
	return out
}
