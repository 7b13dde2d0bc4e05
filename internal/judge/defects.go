package judge

import (
	"regexp"
	"strconv"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// defect is a published defect of Direct NFS.
type defect struct {
	numbers string // Oracle's bug numbers
	what    string
	// The affected release updates of each release: from and to, both included.
	updates map[int][2]int
	nfs4    bool // over NFSv4 only
	fixed   string
	source  string
	data    bool // data can be corrupted
}

// defects returns the public defects. Oracle's own list is MOS 1495104.1, which needs a login.
func defects() []defect {
	const netApp = "NetApp's documentation of Oracle databases"
	return []defect{
		{
			numbers: "32931941",
			what:    "blocks can be fractured after an interruption of the network, as in a move of a LIF",
			updates: map[int][2]int{18: {13, newest}, 19: {0, 13}, 21: {0, 4}},
			fixed:   "19.14 and 21.5", source: netApp + ", MOS 32931941.8", data: true,
		},
		{
			numbers: "33132050 and 33676296",
			what:    "the session hangs after a move or takeover, control files can be inconsistent, and writes lost",
			updates: map[int][2]int{19: {0, 10}}, nfs4: true,
			fixed: "patches for 19.11 and later", source: netApp, data: true,
		},
		{
			numbers: "33132050 and 33676296",
			what:    "without their patches the session hangs after a move or takeover, and writes can be lost",
			updates: map[int][2]int{19: {11, newest}}, nfs4: true,
			fixed: "patches for this release update", source: netApp,
		},
	}
}

const newest = 1 << 30 // any later release update

// releaseUpdate returns the release and update of a full version. V$INSTANCE has no update before 18; V$VERSION has
// it in BANNER_FULL.
func releaseUpdate(o runfile.Oracle) (release, update int, known bool) {
	m := regexp.MustCompile(`\bVersion (\d+)\.(\d+)\.`).FindStringSubmatch(o.Banner)
	if m == nil {
		return 0, 0, false
	}
	release, _ = strconv.Atoi(m[1])
	update, _ = strconv.Atoi(m[2])
	return release, update, true
}

// baseUpdate is the first public update of releases 18 to 21.
const baseUpdate = 3

// checkRelease looks for defects of Direct NFS, and for a release without any update.
func checkRelease(c *facts, found *findings) {
	const all = "Oracle lists all in MOS 1495104.1."
	d := c.Plan.Database
	for _, o := range c.Oracles {
		release, update, known := releaseUpdate(o)
		if !known {
			continue
		}
		if release >= 18 && release <= 21 && update == baseUpdate {
			found.info(UnpatchedRelease, "The database is %d.%d, the base release without later updates. Measure the "+
				"release update that you will use. "+all, release, update)
		}
		for _, x := range defects() {
			if !d.DirectNFS || !x.affects(release, update, c.Plan.Engine.NFSVersion) {
				continue
			}
			found.add(KnownDefect, warningIf(x.data),
				"Direct NFS of %d.%d has the published defect %s: %s. Fixed by %s (%s). If you have the patch, ignore this: the "+
					"finding looks at the release update only. %s", release, update, x.numbers, x.what, x.fixed, x.source, all)
		}
	}
}

func (x defect) affects(release, update int, version bench.NFSVersion) bool {
	updates, has := x.updates[release]
	return has && update >= updates[0] && update <= updates[1] && (!x.nfs4 || version != bench.NFSv3 && version != "")
}
