package oraclesql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/lab/oraclesql/catalog"
)

// Page is a page of Oracle's reference, or of another of its books, that was read, and
// what it lists of the columns that our texts use, or of the arguments.
type Page struct {
	Release string // one of PageReleases
	Title   string
	Address string
	Lists   string // "all" of what our texts use, or the names
}

// PageReleases are the releases whose reference was looked at, in order. The texts
// are held against the last four; the older ones only help to say since when
// something is there.
//
// The release of a page is that in its address. Where the address has the part
// number of a translated book instead, it is the release whose pages have the same
// sections: F19136 is 19c, F32587 is 21c, F82042 and G11854 are 23ai. G47991 is
// 26ai, for its pages say Oracle AI Database.
func PageReleases() []string {
	return []string{"10.1", "12.1", "12.2", "18", "19", "21", "23ai", "26ai"}
}

// Supported are those that users run, and that each name should be confirmed for.
func Supported() []string { return PageReleases()[4:] }

// Pages are those that were read, by view or procedure. The text of a page may have
// been cut behind what it lists here.
func Pages() map[string][]Page {
	const (
		english  = "https://docs.oracle.com/en/database/oracle/oracle-database/"
		r122     = "https://docs.oracle.com/database/122/REFRN/"
		r121     = "https://docs.oracle.com/cd/E57425_01/121/REFRN/GUID-"
		r121en   = "https://docs.oracle.com/database/121/REFRN/GUID-"
		r18      = "https://docs.oracle.com/cd/E96517_01/refrn/"
		r19      = "https://docs.oracle.com/cd/F19136_01/refrn/"
		r21      = "https://docs.oracle.com/cd/F32587_01/refrn/"
		r23early = "https://docs.oracle.com/cd/F82042_01/refrn/"
		r23      = "https://docs.oracle.com/cd/G11854_01/refrn/"
		r26      = "https://docs.oracle.com/cd/G47991_01/refrn/"
		all      = "all"
		// A page of the upgrade guides that names the columns with FORCE LOGGING.
		upgrading      = "Upgrade Guide: Recovering After the NOLOGGING Clause Is Specified"
		afterNologging = "recovering-after-nologging-clause-specified-data-guard.html"
	)
	return map[string][]Page{
		"V$DNFS_SERVERS": {
			{"12.1", "7.159 V$DNFS_SERVERS", r121 + "CAD92C6E-9800-4387-B873-CE756C302ED8.htm", all},
			{"12.2", "7.185 V$DNFS_SERVERS", r122 + "V-DNFS_SERVERS.htm", all},
		},
		"V$DNFS_FILES": {
			{"12.1", "7.158 V$DNFS_FILES", r121 + "100A7A9A-790C-40F9-A7FC-8B3527E145CD.htm", all},
			{"12.2", "7.184 V$DNFS_FILES", r122 + "V-DNFS_FILES.htm", all},
			{"26ai", "8.197 V$DNFS_FILES", r26 + "V-DNFS_FILES.html", all},
		},
		"V$DNFS_CHANNELS": {
			{"12.1", "7.157 V$DNFS_CHANNELS", r121 + "9B97315F-F498-41D2-9204-B81CE614982D.htm", all},
			{"21", "8.190 V$DNFS_CHANNELS", r21 + "V-DNFS_CHANNELS.html", all},
			{
				"23ai", "8.195 V$DNFS_CHANNELS", english + "23/refrn/V-DNFS_CHANNELS.html",
				"PNUM SVRNAME PATH LOCAL CH_ID SENDS RECVS SPRECO DPRECO",
			},
		},
		"V$DNFS_STATS": {{"18", "7.190 V$DNFS_STATS", english + "18/refrn/V-DNFS_STATS.html", all}},
		"V$IOSTAT_FILE": {
			{"12.1", "8.15 V$IOSTAT_FILE", r121 + "47CE2D60-B821-4778-8DD4-311AF65EB6B6.htm", all},
			{"23ai", "9.19 V$IOSTAT_FILE", r23 + "V-IOSTAT_FILE.html", all},
		},
		"V$SYSSTAT": {
			{"12.2", "9.98 V$SYSSTAT", r122 + "V-SYSSTAT.htm", all},
			{"21", "10.97 V$SYSSTAT", r21 + "V-SYSSTAT.html", all},
		},
		"V$SESSTAT": {
			{"18", "9.30 V$SESSTAT", english + "18/refrn/V-SESSTAT.html", all},
			{"21", "10.30 V$SESSTAT", r21 + "V-SESSTAT.html", all},
		},
		"V$STATNAME": {
			{"10.1", "V$STATNAME", "https://docs.oracle.com/cd/B13789_01/server.101/b10755/dynviews_2117.htm", all},
			{"23ai", "10.101 V$STATNAME", english + "23/refrn/V-STATNAME.html", all},
			{"26ai", "10.101 V$STATNAME", r26 + "V-STATNAME.html", all},
		},
		"V$SYS_TIME_MODEL": {
			{"12.2", "9.93 V$SYS_TIME_MODEL", r122 + "V-SYS_TIME_MODEL.htm", all},
			{"18", "9.94 V$SYS_TIME_MODEL", english + "18/refrn/V-SYS_TIME_MODEL.html", all},
			{"23ai", "10.108 V$SYS_TIME_MODEL", r23early + "V-SYS_TIME_MODEL.html", all},
		},
		"V$OSSTAT": {{"12.2", "8.104 V$OSSTAT", r122 + "V-OSSTAT.htm", all}},
		"V$SYSTEM_EVENT": {
			{"12.1", "9.98 V$SYSTEM_EVENT", r121 + "65909323-09BD-48D1-B573-FF64BFA82C9A.htm", all},
			{"23ai", "10.118 V$SYSTEM_EVENT", r23 + "V-SYSTEM_EVENT.html", all},
		},
		"V$EVENT_HISTOGRAM_MICRO": {
			{"19", "7.209 V$EVENT_HISTOGRAM_MICRO", r19 + "V-EVENT_HISTOGRAM_MICRO.html", all},
			{"23ai", "8.224 V$EVENT_HISTOGRAM_MICRO", english + "23/refrn/V-EVENT_HISTOGRAM_MICRO.html", all},
		},
		"V$IO_CALIBRATION_STATUS": {
			{"12.1", "8.10 V$IO_CALIBRATION_STATUS", r121 + "E7D2C4C2-7EE6-4A7F-A4EE-01686C6CF576.htm", all},
			{"21", "9.12 V$IO_CALIBRATION_STATUS", english + "21/refrn/V-IO_CALIBRATION_STATUS.html", all},
			{"23ai", "9.13 V$IO_CALIBRATION_STATUS", r23early + "V-IO_CALIBRATION_STATUS.html", all},
		},
		"DBA_RSRC_IO_CALIBRATE": {
			{
				"12.1", "5.269 DBA_RSRC_IO_CALIBRATE", r121 + "A833CB61-D035-4786-B971-F5AB67C499ED.htm",
				"START_TIME END_TIME MAX_IOPS MAX_MBPS MAX_PMBPS LATENCY NUM_PHYSICAL_DISKS",
			},
			{"18", "5.302 DBA_RSRC_IO_CALIBRATE", r18 + "DBA_RSRC_IO_CALIBRATE.html", all}, // ADDITIONAL_INFO since 18c
			{"23ai", "6.348 DBA_RSRC_IO_CALIBRATE", english + "23/refrn/DBA_RSRC_IO_CALIBRATE.html", all},
		},
		"V$VERSION": {
			{"18", "9.129 V$VERSION", english + "18/refrn/V-VERSION.html", all}, // BANNER_FULL since 18c
			{"26ai", "10.155 V$VERSION", r26 + "V-VERSION.html", all},
		},
		"V$INSTANCE": {
			{"12.1", "8.6 V$INSTANCE", r121 + "6A0C9B51-1714-4223-B166-9D54C4E65D67.htm", all},
			{"23ai", "9.11 V$INSTANCE", english + "23/refrn/V-INSTANCE.html", all},
		},
		"V$DATABASE": {
			{"12.2", "7.149 V$DATABASE", r122 + "V-DATABASE.htm", "DBID LOG_MODE"},
			{"19", "7.156 V$DATABASE", english + "19/refrn/V-DATABASE.html", "LOG_MODE"},
			{"21", "8.153 V$DATABASE", english + "21/refrn/V-DATABASE.html", "LOG_MODE"},
			{"23ai", upgrading, english + "23/upgrd/" + afterNologging, "FORCE_LOGGING"},
			{"26ai", upgrading, english + "26/upgrd/" + afterNologging, "FORCE_LOGGING"},
		},
		"V$LOG": {
			{"12.2", "8.44 V$LOG", r122 + "V-LOG.htm", all},
			{"19", "8.45 V$LOG", r19 + "V-LOG.html", all},
		},
		"V$LOGFILE": {
			{"12.2", "8.46 V$LOGFILE", r122 + "V-LOGFILE.htm", all},
			{"23ai", "9.49 V$LOGFILE", r23 + "V-LOGFILE.html", all},
		},
		"DBA_PDBS": {
			{"12.1", "5.207 DBA_PDBS", r121 + "439126EA-A6B6-45B8-AAFA-37EE4356BBEF.htm", all},
			{"19", "5.239 DBA_PDBS", r19 + "DBA_PDBS.html", all},
			{"23ai", "6.271 DBA_PDBS", english + "23/refrn/DBA_PDBS.html", "PDB_NAME"},
			{"26ai", upgrading, english + "26/upgrd/" + afterNologging, "FORCE_LOGGING"},
		},
		"SESSION_PRIVS": {
			{"12.1", "6.227 SESSION_PRIVS", r121 + "A9837068-CDDA-4D94-BBC6-B167CE5C1FA6.htm", all},
			{"23ai", "7.262 SESSION_PRIVS", english + "23/refrn/SESSION_PRIVS.html", all},
		},
		"SESSION_ROLES": {
			{"12.1", "SESSION_ROLES", r121en + "49F3E4FA-CF54-4A07-A5E8-F030A4343104.htm", all},
			{"26ai", "SESSION_ROLES", english + "26/refrn/SESSION_ROLES.html", all},
		},
		"V$PARAMETER": {
			{"21", "9.108 V$PARAMETER", english + "21/refrn/V-PARAMETER.html", all},
			{"23ai", "9.110 V$PARAMETER", r23early + "V-PARAMETER.html", all},
		},
		"V$DATAFILE": {{"12.2", "7.153 V$DATAFILE", r122 + "V-DATAFILE.htm", "FILE#"}},
		"V$TEMPFILE": {{"12.2", "9.110 V$TEMPFILE", r122 + "V-TEMPFILE.htm", all}},
		"V$SESSION": {
			{"12.2", "9.17 V$SESSION", r122 + "V-SESSION.htm", "SID USERNAME"},
			{"26ai", "10.20 V$SESSION", english + "26/refrn/V-SESSION.html", "SID USERNAME"},
		},
		"DBA_USERS": {
			{"18", "6.106 DBA_USERS", english + "18/refrn/DBA_USERS.html", all},
			{"23ai", "7.107 DBA_USERS", english + "23/refrn/DBA_USERS.html", all},
		},
		"DBA_SEGMENTS": {{"18", "5.347 DBA_SEGMENTS", english + "18/refrn/DBA_SEGMENTS.html", all}},
		"DBA_TABLESPACES": {
			{"19", "6.49 DBA_TABLESPACES", english + "19/refrn/DBA_TABLESPACES.html", all},
			{"26ai", "7.53 DBA_TABLESPACES", r26 + "DBA_TABLESPACES.html", all},
		},
		"DBA_DATA_FILES": {
			{"18", "4.196 DBA_DATA_FILES", english + "18/refrn/DBA_DATA_FILES.html", all},
			{"21", "5.200 DBA_DATA_FILES", r21 + "DBA_DATA_FILES.html", all},
		},
		"DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT": {
			{"10.1", "106 DBMS_WORKLOAD_REPOSITORY", "https://docs.oracle.com/cd/B13789_01/appdev.101/b10802/d_wkrpos.htm", all},
		},
	}
}

// Confirmation says how far pages confirm a name for a release.
type Confirmation string

// What pages say about a name.
const (
	Listed      Confirmation = "listed"      // on a page of the release
	Between     Confirmation = "between"     // on pages of an older and of a newer release
	Older       Confirmation = "older"       // on pages of older releases only
	Unconfirmed Confirmation = "unconfirmed" // on no page that was read
)

// Confirm says what the pages of a view or procedure say about one of its names in
// a release; without a name, about itself.
func Confirm(view, name, release string) Confirmation {
	at := slices.Index(PageReleases(), release)
	older, newer := false, false
	for _, p := range Pages()[view] {
		if p.Lists != "all" && !slices.Contains(strings.Fields(p.Lists), name) && name != "" {
			continue
		}
		switch have := slices.Index(PageReleases(), p.Release); {
		case have == at:
			return Listed
		case have < at:
			older = true
		default:
			newer = true
		}
	}
	switch {
	case older && newer:
		return Between
	case older:
		return Older
	default:
		return Unconfirmed
	}
}

// Report is a document of what the pages say about all names that texts use, by
// view or procedure.
func Report(used map[string][]string) string {
	var out strings.Builder
	out.WriteString(reportHead)
	for _, view := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&out, "\n## %s\n\nUsed: %s\n\n", view, orNone(strings.Join(used[view], ", ")))
		for _, p := range Pages()[view] {
			fmt.Fprintf(&out, "- %s: [%s](%s), lists %s\n", p.Release, p.Title, p.Address, orNone(p.Lists))
		}
		for _, line := range doubts(view, used[view]) {
			fmt.Fprintf(&out, "- **not confirmed** for %s\n", line)
		}
	}
	return out.String()
}

// doubts are the names that no page confirms, each list of names once with all
// releases that it is of.
func doubts(view string, names []string) []string {
	releases := map[string][]string{}
	var order []string
	for _, release := range Supported() {
		var open []string
		for _, name := range append([]string{""}, names...) {
			if c := Confirm(view, name, release); c == Older || c == Unconfirmed {
				open = append(open, name)
			}
		}
		if len(open) == 0 {
			continue
		}
		list := strings.TrimPrefix(strings.Join(open, ", "), ", ")
		if list == "" {
			list = "that it exists"
		}
		if releases[list] == nil {
			order = append(order, list)
		}
		releases[list] = append(releases[list], release)
	}
	for i, list := range order {
		order[i] = strings.Join(releases[list], ", ") + ": " + list
	}
	return order
}

const reportHead = `# What Oracle's documentation says about the names in our SQL

Written by ` + "`go test -C test/lab ./oraclesql -update`" + ` from the pages in pages_test.go and the texts in
internal/oracle/sqltext. A name is confirmed for a release if a page of that release lists it, or
if pages of an older and of a newer release do. What is *not confirmed* is on older pages only,
or on no page that was read; it is not known to be wrong. INST_ID of the GV$ views is not
listed on these pages. Where a page lists only some names, its text was cut behind them.
`

func orNone(list string) string {
	if list == "" {
		return "none of its names"
	}
	return list
}

func TestConfirmations(t *testing.T) {
	for _, c := range []struct {
		view, name, release string
		want                Confirmation
	}{
		{"V$DNFS_CHANNELS", "SENDS", "23ai", Listed},
		{"V$DNFS_CHANNELS", "CLIENTPORT", "21", Listed},
		{"V$DNFS_CHANNELS", "CLIENTPORT", "19", Between},
		{"V$DNFS_CHANNELS", "CLIENTPORT", "23ai", Older},
		{"V$PARAMETER", "NAME", "19", Unconfirmed},
		{"V$NONE", "NAME", "19", Unconfirmed},
	} {
		if got := Confirm(c.view, c.name, c.release); got != c.want {
			t.Errorf("%s.%s in %s: %s, want %s", c.view, c.name, c.release, got, c.want)
		}
	}
}

func TestPagesAreOfOracleAndInOrder(t *testing.T) {
	for view, pages := range Pages() {
		at := -1
		for _, p := range pages {
			next := slices.Index(PageReleases(), p.Release)
			if next <= at || !strings.HasPrefix(p.Address, "https://docs.oracle.com/") || p.Title == "" {
				t.Errorf("%s: %+v", view, p)
			}
			at = next
			call := catalog.Check("BEGIN "+view+"(); END;", sqltext.Release23)
			if len(catalog.Columns(view, sqltext.Release23)) == 0 && call != nil {
				t.Errorf("%s is neither a view nor a procedure of the catalogue", view)
			}
		}
	}
}
