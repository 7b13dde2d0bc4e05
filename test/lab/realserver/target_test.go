package realserver

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// realServer has the options for the server that testServer names.
func realServer(tb testing.TB, version bench.NFSVersion) direct.Options {
	tb.Helper()
	spec := os.Getenv(testServer)
	if spec == "" {
		tb.Skipf("%s is not set: no real NFS server to test against", testServer)
	}
	addresses, export, ok := strings.Cut(spec, ":/")
	if !ok {
		tb.Fatalf("%s=%q is not addr[,addr]:/export", testServer, spec)
	}
	return direct.Options{Now: time.Now, Engine: runfile.Engine{
		Client: bench.ClientDirectNFS, NFSVersion: version, Server: "real", Export: "/" + export,
		Channels: runfile.ChannelsTo(strings.Split(addresses, ",")...), MountTimeoutSeconds: 60,
	}}
}

func TestRealServersPassTheSuite(t *testing.T) {
	for _, version := range []bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41, bench.PNFS} {
		t.Run(string(version), func(t *testing.T) {
			opt := realServer(t, version)
			targettest.Run(t, func(tb testing.TB) target.Target {
				tb.Helper()
				tgt, err := direct.Open(t.Context(), opt)
				if err != nil {
					tb.Fatal(err)
				}
				return tgt
			})
			tgt, err := direct.Open(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tgt.Close() }()
			checkServers(t, tgt.Servers(), version, opt.Engine.Channels)
		})
	}
}

// checkServers wants one server over all addresses, with what the version shows of a server.
func checkServers(t *testing.T, servers []runfile.NFSServer, version bench.NFSVersion, channels []bench.ResolvedPath) {
	t.Helper()
	if version == bench.NFSv3 {
		if servers != nil {
			t.Errorf("NFSv3 has the servers %+v", servers)
		}
		return
	}
	speaks, addresses := string(version), []string{}
	if version == bench.PNFS {
		speaks = string(bench.NFSv41)
	}
	for _, c := range channels {
		addresses = append(addresses, c.Path)
	}
	if len(servers) != 1 {
		t.Fatalf("the addresses %v lead to the servers %+v, want one", addresses, servers)
	}
	s := servers[0]
	t.Logf("%+v", s)
	if s.Role != bench.PathMetadata || s.NFSVersion != speaks || !slices.Equal(s.Addresses, addresses) || s.LeaseSeconds == 0 {
		t.Errorf("server %+v, want %s over %v", s, speaks, addresses)
	}
	if s.Recoveries != 0 || s.LayoutType == runfile.LayoutTypeFiles {
		t.Errorf("server %+v recovered state or offers files layouts", s)
	}
	if version != bench.NFSv40 && (s.Owner == "" || s.Slots == 0 || len(channels) > 1 && s.Trunking != bench.TrunkingSession) {
		t.Errorf("server %+v, want an owner, slots, and one session over all addresses", s)
	}
}
