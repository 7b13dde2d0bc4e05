package run

import (
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	allocations "github.com/nfsbench/nfsbench/test/kit/memory" // there is a type memory here
)

const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0901A8C0:0384 0101A8C0:0801 01 00000000:00000000 00:00000000 00000000 54321        0 2 1 0
   2: 0902A8C0:0385 0102A8C0:4E21 01 00000000:00000000 00:00000000 00000000 54321        0 3 1 0
   3: 0901A8C0:0386 0101A8C0:0801 06 00000000:00000000 00:00000000 00000000 54321        0 4 1 0
   4: 0901A8C0:0387 0803A8C0:01BB 01 00000000:00000000 00:00000000 00000000 54321        0 5 1 0
`

const tcp6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: B80D01200000000000000000090000FF:0388 B80D01200000000000000000010000FF:0801 01 00000000:00000000 00:00000000 00000000 54321 0 6 1 0
   1: 0000000000000000FFFF00000901A8C0:0389 0000000000000000FFFF00000101A8C0:0801 01 00000000:00000000 00:00000000 00000000 54321 0 7 1 0
`

const mountinfo = `100 1 0:50 / / rw - ext4 /dev/vda1 rw
101 100 0:51 / /opt/oracle/oradata ro,relatime - nfs4 192.168.1.1:/vol rw,vers=4.1,rsize=262144,wsize=65536,hard,proto=tcp
`

func hostRoot() fstest.MapFS {
	return fstest.MapFS{
		"proc/net/tcp": {Data: []byte(tcp)}, "proc/net/tcp6": {Data: []byte(tcp6)}, "proc/self/mountinfo": {Data: []byte(mountinfo)},
	}
}

func TestConnectionsToServersAreThoseOfThePathsAndThePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := keepPlan()
		plan.Engine.Client, plan.Database.DirectNFS = bench.ClientDirectNFS, true
		plan.Engine.Server, plan.Engine.Export = "nas", "/vol"
		plan.Engine.Channels = runfile.ChannelsTo("192.168.1.1", "192.168.2.1")
		load, _ := runOn(t.Context(), t, newDatabase(), plan, func(o *Options) { o.Root = hostRoot() })
		wantSuccess(t, load)
		want := []runfile.Connection{
			{Local: "192.168.1.9:900", Remote: "192.168.1.1:2049"},
			{Local: "192.168.1.9:905", Remote: "192.168.1.1:2049"}, // over an IPv6 socket
			{Local: "192.168.2.9:901", Remote: "192.168.2.1:20001"},
			{Local: "[2001:db8::ff00:9]:904", Remote: "[2001:db8::ff00:1]:2049"},
		}
		if diff := cmp.Diff(want, load.Repetitions[0].Oracle.Connections); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheMountOfTheDataIsWrittenDown(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(*runfile.Plan, *database)
		direct bool
	}{
		"kernel": {"without an option Oracle uses the page cache", func(*runfile.Plan, *database) {}, false},
		"setall": {"with it, it does not", func(_ *runfile.Plan, d *database) { d.parameters["filesystemio_options"] = "setall" }, true},
		"setall by the plan": {"the run sets it and restarts", func(p *runfile.Plan, _ *database) {
			p.Database.Parameters = map[string]string{"filesystemio_options": "SETALL"}
		}, true},
		"Direct NFS": {"which knows no page cache", func(p *runfile.Plan, _ *database) { p.Database.DirectNFS = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), keepPlan()
				c.change(&plan, d)
				load, _ := runOn(t.Context(), t, d, plan, func(o *Options) {
					o.Root = hostRoot()
					if o.Plan.Database.DirectNFS {
						o.Plan.Engine.Client, o.Plan.Engine.Server, o.Plan.Engine.Export = bench.ClientDirectNFS, "nas", "/vol"
						o.Plan.Engine.Channels = runfile.ChannelsTo("192.168.1.1")
					}
				})
				wantSuccess(t, load)
				want := &runfile.MountFacts{
					FilesystemType: "nfs4", Source: "192.168.1.1:/vol", NFSVersion: "NFSv4.1", ReadSizeBytes: 262144, WriteSizeBytes: 65536,
					Options: load.Mount.Options, DirectIO: c.direct,
				}
				if diff := cmp.Diff(want, load.Mount); diff != "" || len(load.Mount.Options) < 6 {
					t.Errorf("%s: %s", c.reason, diff)
				}
			})
		})
	}
}

func TestDataThatIsNotOnNFSIsRefusedWhereItMustBe(t *testing.T) {
	for _, required := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			root := hostRoot()
			root["proc/self/mountinfo"].Data = []byte("100 1 0:50 / / rw - ext4 /dev/vda1 rw\n")
			plan := keepPlan()
			plan.Engine.RequireNFS = required
			load, _ := runOn(t.Context(), t, newDatabase(), plan, func(o *Options) { o.Root = root })
			if !required {
				wantSuccess(t, load)
				return
			}
			wantFailure(t, load, runfile.FailureNotNFS, "/opt/oracle/oradata is on /dev/vda1 (ext4)")
		})
	}
}

func TestWhatIsNoTableOfConnectionsIsAnError(t *testing.T) {
	for _, text := range []string{"title\n0: 0100007F:1F90\n", "title\n0: 0100007:1F90 0100007F:0801 01\n", "title\n0: 0100007F:1F90 01:0801 01\n", "title\n0: 0100007F:1F90 0100007F:XX 01\n"} {
		if found, err := parseConnections(text); err == nil {
			t.Errorf("%q gives %v", text, found)
		}
	}
	plan := keepPlan()
	var warned strings.Builder
	r := &runner{plan: &plan, opt: Options{Root: fstest.MapFS{}, Log: slog.New(slog.NewTextHandler(&warned, nil))}}
	if found := r.seeConnections(); found != nil {
		t.Errorf("without a file there is %v", found)
	}
	if !strings.Contains(warned.String(), "open proc/net/tcp:") || strings.Contains(warned.String(), "tcp6") {
		t.Errorf("a missing file is one of IPv4 only, and was told as %s", &warned)
	}
}

func FuzzParseConnections(f *testing.F) {
	f.Add(tcp)
	f.Add(tcp6)
	f.Fuzz(func(t *testing.T, text string) {
		var found []ends
		var err error
		allocations.Bound(t, 64*len(text), func() { found, err = parseConnections(text) })
		if err != nil {
			return
		}
		for _, c := range found {
			if !c.local.IsValid() || !c.remote.IsValid() {
				t.Errorf("%v", c)
			}
		}
	})
}
