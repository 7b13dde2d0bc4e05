package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	opt         server.Options
	http        string
	size        cli.Size
	maxTransfer cli.Size
}

// newServeCommand returns the serve command, which serves a directory over NFSv3 for the demo and the self-test.
func newServeCommand(a *app) *cobra.Command {
	f := serveFlags{maxTransfer: 1 << 20}
	cmd := &cobra.Command{
		Use:   "serve --dir DIR",
		Short: "Serve a directory over NFSv3, to try nfsbench without storage",
		Long: `Run a small NFSv3 server for demonstrations and self-tests. It needs no
privileges: each --listen address serves NFS, MOUNT and portmap on one port.
Several addresses are several paths to the same data, counted apart.

Everybody who reaches the port may read and write the directory, as the user
who runs the server. Clients can neither leave the directory nor store more
than --size.

With --http it answers GET /counters (JSON), /metrics (Prometheus), /healthz
and /readyz.`,
		Example: `  nfsbench serve --dir /tmp/export --listen 127.0.0.1:12049 --listen 127.0.0.2:12049 \
    --http 127.0.0.1:8080 --size 10Gi
  nfsbench load --server 127.0.0.1:12049,127.0.0.2:12049 --export /export --pattern read

  # Behind a Kubernetes Service that maps 2049 and 111
  nfsbench serve --dir /data --listen :12049 --portmap :10111 --advertise-port 2049`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.opt.Dir, "dir", "", "directory to serve (required)")
	flags.StringVar(&f.opt.Export, "export", "/export", "path that clients mount")
	flags.StringArrayVar(&f.opt.Listen, "listen", []string{":12049"},
		"address that serves NFS, MOUNT and portmap; may be repeated")
	flags.StringArrayVar(&f.opt.Portmap, "portmap", nil, "further address that serves portmap only; may be repeated")
	flags.IntVar(&f.opt.AdvertisePort, "advertise-port", 0,
		"NFS port that portmap answers (default: the port that was asked)")
	flags.StringVar(&f.http, "http", "", "address that serves the counters over HTTP (default: none)")
	flags.Var(&f.size, "size", "most that clients may store, as the sum of file sizes; 0 is no limit but the disk")
	flags.Var(&f.maxTransfer, "max-transfer", "largest READ and WRITE: rtmax and wtmax")
	_ = cmd.MarkFlagRequired("dir") // fails for an unknown flag only
	return cmd
}

func (f *serveFlags) serve(ctx context.Context, a *app) error {
	f.opt.Files.QuotaBytes = int64(f.size)
	f.opt.MaxTransferBytes = int(min(f.maxTransfer, 1<<30))
	f.opt.Now, f.opt.Log = a.now, a.log
	if name, err := os.Hostname(); err == nil {
		f.opt.Name = name
	}
	s, err := server.New(f.opt)
	if err != nil {
		return cli.BadInput(err)
	}
	var web net.Listener
	counters := ""
	if f.http != "" {
		if web, err = net.Listen("tcp", f.http); err != nil {
			return errors.Join(cli.BadInputf("listen on %q: %w", f.http, err), s.Close())
		}
		counters = "http://" + web.Addr().String() + "/counters"
	}
	a.log.Info("Serving NFSv3", "dir", f.opt.Dir, "export", f.opt.Export, "addresses", s.Addrs(), "counters", counters,
		"size", f.size.String())
	a.log.Info("Try it with: " + loadExample(s.Addrs(), f.opt.Export))
	if web == nil {
		return s.Serve(ctx)
	}
	return serveWithCounters(ctx, s, web)
}

// serveWithCounters serves NFS and the counters until one of them ends, and then ends the other.
func serveWithCounters(ctx context.Context, s *server.Server, web net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	counters := &http.Server{Handler: s.Counters().Handler(), ReadHeaderTimeout: 5 * time.Second}
	done := make(chan error, 1)
	go func() {
		err := counters.Serve(web)
		cancel()
		done <- err
	}()
	err := s.Serve(ctx)
	// Close the counters last, so that they can be read until the end.
	err = errors.Join(err, counters.Close())
	if ended := <-done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve counters: %w", ended))
	}
	return err
}

// loadExample returns a command that loads the server, for users to copy. It replaces an unspecified host by 127.0.0.1.
func loadExample(addrs []string, export string) string {
	servers := make([]string, 0, len(addrs))
	for _, a := range addrs {
		host, port, err := net.SplitHostPort(a)
		if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
			a = net.JoinHostPort("127.0.0.1", port)
		}
		servers = append(servers, a)
	}
	return fmt.Sprintf("nfsbench load --server %s --export %s --pattern read", strings.Join(servers, ","), export)
}
