package oracle

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// channelOf is a row of GV$DNFS_CHANNELS: what was counted since the last look.
func channelOf(instance, pnum int, path string, sends, receives, port int) row {
	return row{
		"INST_ID": instance, "PNUM": pnum, "SVRNAME": "filer", "PATH": path, "LOCAL": "10.0.0." + path[len(path)-1:], "CH_ID": 0,
		"SENDS": sends, "RECVS": receives, "SPRECO": 1, "DPRECO": 2, "CLIENTPORT": port,
	}
}

func statsOf(instance, pnum int, reads, writes, readBytes, writeBytes int) row {
	return row{"INST_ID": instance, "PNUM": pnum, "NFS_READ": reads, "NFS_WRITE": writes, "NFS_READBYTES": readBytes, "NFS_WRITEBYTES": writeBytes}
}

// looking is a database whose rows a test changes between looks.
func looking(t *testing.T) (*Watch, *fake) {
	t.Helper()
	a, f := admin(t, sqltext.Release12c2, map[string][]row{
		"dnfs_servers": {{"INST_ID": 1, "ID": 1, "SVRNAME": "filer", "DIRNAME": "/vol/data", "NFSVERSION": "NFSv3.0", "WTMAX": 65536, "RTMAX": 131072}},
		"dnfs_files":   {{"FILENAME": "/opt/oracle/oradata/system01.dbf", "SVR_ID": 1}},
	})
	return a.Watch(), f
}

func look(t *testing.T, w *Watch, f *fake, channels, stats []row) {
	t.Helper()
	f.rows["dnfs_channels"], f.rows["dnfs_stats"] = channels, stats
	if err := w.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLooksAreAddedUpFromTheSecondOn(t *testing.T) {
	w, f := looking(t)
	look(t, w, f, []row{channelOf(1, 30, "192.168.1.1", 9999, 9999, 700), channelOf(1, 30, "192.168.2.2", 9999, 9999, 701)},
		[]row{statsOf(1, 30, 1000, 100, 8192000, 819200), statsOf(1, 31, 50, 5, 500, 50)})
	look(t, w, f, []row{channelOf(1, 30, "192.168.1.1", 10, 11, 700), channelOf(1, 30, "192.168.2.2", 20, 21, 701)},
		[]row{statsOf(1, 30, 1500, 150, 9192000, 919200), statsOf(1, 31, 60, 6, 600, 60)})
	// Process 31 ends, 32 begins, and 30 comes from another port now.
	look(t, w, f, []row{channelOf(1, 30, "192.168.1.1", 100, 110, 40000), channelOf(1, 32, "192.168.1.1", 5, 6, 1024), channelOf(2, 30, "192.168.1.1", 3, 4, 0)},
		[]row{statsOf(1, 30, 2000, 300, 10192000, 1019200), statsOf(1, 32, 7, 7, 7, 7)})
	ops := func(n int64) *int64 { return &n }
	want := runfile.DirectNFS{
		Servers: []runfile.DNFSServer{{Instance: 1, Server: "filer", Export: "/vol/data", Version: "NFSv3.0", WriteMaxBytes: 65536, ReadMaxBytes: 131072}},
		Files:   []runfile.DNFSFile{{Name: "/opt/oracle/oradata/system01.dbf", Server: 1}},
		Channels: []runfile.DNFSChannel{
			{Instance: 1, Server: "filer", Path: "192.168.1.1", Local: "10.0.0.1", Processes: 2, Sends: 115, Receives: 127, Reconnects: 9, LowPorts: 1},
			{Instance: 1, Server: "filer", Path: "192.168.2.2", Local: "10.0.0.2", Processes: 1, Sends: 20, Receives: 21, Reconnects: 3, LowPorts: 1},
			{Instance: 2, Server: "filer", Path: "192.168.1.1", Local: "10.0.0.1", Processes: 1, Sends: 3, Receives: 4, Reconnects: 3},
		},
		ReadOps: ops(1017), WriteOps: ops(208), ReadBytes: ops(2000107), WriteBytes: ops(200017),
	}
	if diff := cmp.Diff(want, w.Result()); diff != "" {
		t.Error(diff)
	}
}

func TestANewProcessCountsFromZero(t *testing.T) {
	first := []row{statsOf(1, 30, 100, 10, 1000, 100)}
	for name, c := range map[string]struct {
		looks [][]row
		want  operations
	}{
		"the same process":       {[][]row{first, {statsOf(1, 30, 101, 12, 1003, 104)}}, operations{1, 2, 3, 4}},
		"fewer reads":            {[][]row{first, {statsOf(1, 30, 99, 20, 2000, 200)}}, operations{99, 20, 2000, 200}},
		"fewer bytes":            {[][]row{first, {statsOf(1, 30, 200, 20, 999, 200)}}, operations{200, 20, 999, 200}},
		"fewer bytes out":        {[][]row{first, {statsOf(1, 30, 200, 20, 2000, 99)}}, operations{200, 20, 2000, 99}},
		"fewer writes":           {[][]row{first, {statsOf(1, 30, 200, 9, 2000, 200)}}, operations{200, 9, 2000, 200}},
		"not seen for a while":   {[][]row{first, nil, {statsOf(1, 30, 200, 20, 2000, 200)}}, operations{100, 10, 1000, 100}},
		"back, and then forward": {[][]row{first, {statsOf(1, 30, 1, 2, 3, 4)}, {statsOf(1, 30, 11, 12, 13, 14)}}, operations{11, 12, 13, 14}},
		"other instance":         {[][]row{first, {statsOf(2, 30, 200, 20, 2000, 200)}}, operations{200, 20, 2000, 200}},
		"not there at first":     {[][]row{nil, {statsOf(1, 30, 100, 10, 1000, 100)}}, operations{100, 10, 1000, 100}},
		"ended":                  {[][]row{first, {statsOf(1, 30, 101, 12, 1003, 104)}, nil}, operations{1, 2, 3, 4}},
	} {
		w, f := looking(t)
		for _, stats := range c.looks {
			look(t, w, f, nil, stats)
		}
		r := w.Result()
		if r.ReadOps == nil || c.want != (operations{*r.ReadOps, *r.WriteOps, *r.ReadBytes, *r.WriteBytes}) {
			t.Errorf("%s: %v, want %v", name, r, c.want)
		}
	}
}

func TestWithoutAProcessNoOperationIsKnown(t *testing.T) {
	w, f := looking(t)
	look(t, w, f, nil, nil)
	look(t, w, f, nil, nil)
	if r := w.Result(); r.ReadOps != nil || r.WriteOps != nil || r.ReadBytes != nil || r.WriteBytes != nil {
		t.Errorf("%d reads are made up", *r.ReadOps)
	}
}

func TestWhatWasCountedBeforeTheWindowIsNotInIt(t *testing.T) {
	w, f := looking(t)
	look(t, w, f, []row{channelOf(1, 30, "192.168.1.1", 10, 10, 700)}, []row{statsOf(1, 30, 100, 100, 100, 100)})
	if r := w.Result(); len(r.Channels) != 1 || r.Channels[0].Sends != 0 || r.Channels[0].Processes != 1 || *r.ReadOps != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAResultDoesNotChangeAnyMore(t *testing.T) {
	w, f := looking(t)
	look(t, w, f, nil, []row{statsOf(1, 30, 1, 1, 1, 1)})
	r := w.Result()
	r.Servers[0].Server, r.Files[0].Name = "changed", "changed"
	if again := w.Result(); again.Servers[0].Server != "filer" || again.Files[0].Name == "changed" {
		t.Errorf("%+v", again)
	}
	look(t, w, f, nil, []row{statsOf(1, 30, 9, 9, 9, 9)})
	if *r.ReadOps != 0 || w.Result().Servers[0].Server != "filer" {
		t.Errorf("%+v", r)
	}
}

func TestALookThatFailsBeginsNoWindow(t *testing.T) {
	for _, name := range []string{"dnfs_servers", "dnfs_files", "dnfs_stats", "dnfs_channels"} {
		w, f := looking(t)
		f.errs[name] = errors.New("ORA-03113: end-of-file on communication channel")
		if err := w.Look(t.Context()); CodeOf(err) != runfile.FailureDatabaseEnded {
			t.Errorf("%s: %v", name, err)
		}
		delete(f.errs, name)
		look(t, w, f, []row{channelOf(1, 30, "192.168.1.1", 10, 10, 700)}, nil)
		if r := w.Result(); r.Channels[0].Sends != 0 {
			t.Errorf("%s: %+v", name, r.Channels)
		}
	}
}

// The counters are set to zero by reading, so they are read when nothing else can
// fail any more.
func TestChannelsAreReadLast(t *testing.T) {
	w, f := looking(t)
	look(t, w, f, nil, nil)
	if diff := cmp.Diff([]string{"dnfs_servers", "dnfs_files", "dnfs_stats", "dnfs_channels"}, f.asked); diff != "" {
		t.Error(diff)
	}
}
