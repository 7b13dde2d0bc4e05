package ganesha_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

func TestALoadOverIPv6UsesBothLinks(t *testing.T) {
	a := ganesha.Start(t, "six", []string{"10.239.1.0/24", "10.239.2.0/24"})
	if len(a.LIFs6) == 0 {
		t.Skip("this machine has no IPv6")
	}
	for _, version := range []bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41} {
		t.Run(string(version), func(t *testing.T) {
			overIPv6(t, runfile.Engine{NFSVersion: version, Export: a.Export, Channels: runfile.ChannelsTo(a.LIFs6...)})
		})
	}
	t.Run("the embedded server", func(t *testing.T) {
		port, hosts := serve(t, a.LIFs6)
		overIPv6(t, runfile.Engine{
			NFSVersion: bench.NFSv3, Export: "/export", Channels: runfile.ChannelsTo(hosts...), Ports: runfile.Ports{Portmap: port},
		})
	})
}

// overIPv6 reads over the two channels of an engine and looks at the result.
func overIPv6(t *testing.T, e runfile.Engine) {
	t.Helper()
	l := loadOver(t, e, bench.Workload{Raw: &bench.RawWorkload{
		Pattern: bench.PatternRandomRead, BlockSize: bench.Bytes(blockBytes), FileSize: *bench.Bytes(fileBytes), Jobs: 2, Depth: 8, Directory: "six",
	}}, runfile.Schedule{DurationSeconds: 2, Repetitions: 1})
	if l.Mount.NFSVersion != string(e.NFSVersion) || l.Mount.Source != "["+e.Channels[0].Path+"]:"+e.Export {
		t.Errorf("mounted %s with %s", l.Mount.Source, l.Mount.NFSVersion)
	}
	channels := l.Repetitions[0].Channels
	if len(channels) != 2 {
		t.Fatalf("channels %+v, want two", channels)
	}
	for i, c := range channels {
		if c.Path != e.Channels[i].Path || !strings.HasPrefix(c.Local, "fd00:10:239:") || c.BytesRead == 0 {
			t.Errorf("channel %+v moved nothing, or is not one to %s", c, e.Channels[i].Path)
		}
	}
}

// serve runs the embedded server on this machine's addresses of the links, on one port.
func serve(t *testing.T, lifs []string) (port int, hosts []string) {
	t.Helper()
	var listen []string
	for _, lif := range lifs {
		host := strings.TrimSuffix(lif, "2") + "1"
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		hosts, listen = append(hosts, host), append(listen, l.Addr().String())
	}
	s, err := server.New(server.Options{Dir: t.TempDir(), Listen: listen, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return port, hosts
}
