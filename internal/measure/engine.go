package measure

import (
	"regexp"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The engines.
const (
	EngineNative = "Native" // our own I/O
	EngineOracle = "Oracle" // SQL in a database
)

// engine holds what the facts need to know about the program that made the load. Of sets it.
type engine struct {
	name string
	// cores returns the number of cores that the load can use at most; 0 = unknown, or all cores of its machine.
	cores func(*Facts) float64
	// paths adds up the channels of each path, over the clients.
	paths func(*pathTable, []part) []PathShare
	// database summarizes the views of a database; nil without one.
	database func(*Facts) *DatabaseSummary
	// statements is true if sessions run SQL. A search for capacity then counts statements, and the number of outstanding
	// I/Os is unknown, because a session waits for reads only part of its time.
	statements bool
}

// engineOf returns the engine of a plan.
func engineOf(p runfile.Plan) engine {
	if p.Database == nil {
		return engine{
			name:     EngineNative,
			cores:    func(*Facts) float64 { return 0 },
			paths:    loaderPaths,
			database: func(*Facts) *DatabaseSummary { return nil },
		}
	}
	return engine{
		name: EngineOracle, cores: databaseCores, paths: databasePaths, database: databaseSummary, statements: true,
	}
}

// Engine returns the program that made the load: EngineNative or EngineOracle.
func (c *Facts) Engine() string { return c.engine.name }

// databaseCores returns the limit of the database's container, or the two cores that some editions use at most (Oracle
// Database Licensing Information).
func databaseCores(c *Facts) float64 {
	if m := c.Plan.Database.CPUMillis; m > 0 {
		return float64(m) / 1000
	}
	limited := regexp.MustCompile(`(?i)\bfree\b|express edition`)
	if slices.ContainsFunc(c.Oracles, func(o runfile.Oracle) bool { return limited.MatchString(o.Banner) }) {
		return 2
	}
	return 0
}

// loaderPaths takes the counters of the loader's own client.
func loaderPaths(t *pathTable, parts []part) []PathShare {
	for _, p := range parts {
		for _, ch := range p.rep.Channels {
			t.row(PathPair{Local: ch.Local, Path: ch.Path}, ch.Role).add(ch, p.seconds)
		}
	}
	if len(ByLayout(t.shares)) > 0 {
		for i, p := range t.shares {
			if l := t.Survey.LIF(p.Path); l != nil {
				t.shares[i].LIF, t.shares[i].Node = l.Name, l.Node
			}
		}
	}
	return t.shared(PathShare.Bytes)
}

// databasePaths takes V$DNFS_CHANNELS, which counts calls and no bytes. Without a row nothing is known about the paths,
// not even whether they are missing.
func databasePaths(t *pathTable, parts []part) []PathShare {
	seen := false
	for _, p := range parts {
		for _, ch := range t.OwnChannels(bench.OrZero(p.rep.Oracle).DirectNFS.Channels) {
			seen = true
			share := t.row(PathPair{Local: ch.Local, Path: ch.Path}, "")
			share.State = bench.PathUp
			share.Calls += ch.Sends + ch.Receives
			share.Reconnects += ch.Reconnects
		}
	}
	if !seen {
		return nil
	}
	return t.shared(func(p PathShare) int64 { return p.Calls })
}
