package direct

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Options say what to mount.
type Options struct {
	Engine runfile.Engine
	Now    func() time.Time
	Logger *slog.Logger // hears about channels that come and go; nil is silent
}

// Target is one mounted export.
type Target struct {
	client *nfs.Client
	where  string // for messages
	user   rpc.AuthSys
	facts  runfile.MountFacts
}

// Open reads the oranfstab, mounts the export and connects all channels. One
// channel that connects is enough.
func Open(ctx context.Context, opt Options) (*Target, error) {
	server, export, err := choose(opt.Engine)
	if err != nil {
		return nil, err
	}
	cfg := config(opt, server, export)
	t := &Target{where: describe(cfg, server.Name), user: cfg.Credential}
	t.client, err = dial(ctx, cfg)
	if err != nil {
		return nil, t.explainMount(cfg, err)
	}
	info := t.client.Info()
	t.facts = runfile.MountFacts{
		Source: server.Paths[0].Path + ":" + export.Path, NFSVersion: "NFSv3", DirectIO: true,
		ReadSizeBytes: int64(info.TransferReadBytes), WriteSizeBytes: int64(info.TransferWriteBytes),
	}
	// Servers may refuse to tell; then the space is not known.
	if space, err := t.client.FSStat(ctx); err == nil {
		t.facts.TotalBytes = clampInt64(space.TotalBytes)
		t.facts.FreeBytes = clampInt64(space.AvailableBytes)
	}
	return t, nil
}

// clampInt64 bounds what file systems without limits report.
func clampInt64(v uint64) int64 { return int64(min(v, 1<<62)) }

// Check says what is wrong with an engine without reaching its server.
func Check(e runfile.Engine) error {
	_, _, err := choose(e)
	return err
}

// choose finds the server block and the export that the plan means.
func choose(e runfile.Engine) (oranfstab.Server, oranfstab.Export, error) {
	var none oranfstab.Export
	file, err := oranfstab.Parse([]byte(e.Oranfstab))
	if err != nil {
		return oranfstab.Server{}, none, target.Fail(runfile.FailureInvalidPlan, "the oranfstab cannot be used; try nfsbench oranfstab lint", err)
	}
	server, err := pick("server", e.Server, file.Servers, func(s oranfstab.Server) string { return s.Name })
	if err != nil {
		return server, none, err
	}
	export, err := pick("export", e.Export, server.Exports, func(x oranfstab.Export) string { return x.Path })
	if err != nil {
		return server, export, err
	}
	if v := server.EffectiveVersion(); v != oranfstab.NFSv3 {
		return server, export, target.Fail(runfile.FailureUnsupported, fmt.Sprintf(
			"server %q asks for %s, and this client speaks NFSv3 only: set nfs_version: nfsv3, or mount the export and use the Kernel client", server.Name, v), nil)
	}
	if s := server.EffectiveSecurity(export); s != oranfstab.SecuritySys {
		return server, export, target.Fail(runfile.FailureUnsupported, fmt.Sprintf(
			"export %q asks for security %s, and this client has sys only: use sys, or mount the export and use the Kernel client", export.Path, s), nil)
	}
	return server, export, nil
}

// pick finds the item with a name, or the only one when no name is given.
func pick[T any](what, name string, items []T, nameOf func(T) string) (T, error) {
	var names []string
	for _, item := range items {
		if nameOf(item) == name || (name == "" && len(items) == 1) {
			return item, nil
		}
		names = append(names, nameOf(item))
	}
	var none T
	problem := fmt.Sprintf("the oranfstab has no %s %q", what, name)
	if name == "" {
		problem = fmt.Sprintf("the oranfstab has several %ss, and the plan names none", what)
	}
	return none, target.Fail(runfile.FailureInvalidPlan, fmt.Sprintf("%s; choose one of %s", problem, strings.Join(names, ", ")), nil)
}

func config(opt Options, server oranfstab.Server, export oranfstab.Export) nfs.Config {
	e := opt.Engine
	cfg := nfs.Config{
		Server: server.Name, Export: export.Path, DontRoute: server.DontRoute,
		MountTimeout: time.Duration(e.MountTimeoutSeconds) * time.Second,
		CallTimeout:  time.Duration(e.CallTimeoutSeconds) * time.Second,
		TransferSize: uint32(e.TransferSizeBytes),
		NFSPort:      e.Ports.NFS, MountPort: e.Ports.Mount, PortmapPort: e.Ports.Portmap,
		Credential: rpc.AuthSys{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())},
		Now:        opt.Now, Logger: opt.Logger,
	}
	if e.UserID != nil {
		cfg.Credential.UID = *e.UserID
	}
	if e.GroupID != nil {
		cfg.Credential.GID = *e.GroupID
	}
	for _, p := range server.Paths {
		cfg.Channels = append(cfg.Channels, nfs.Channel{Local: p.Local, Path: p.Path})
	}
	return cfg
}

// Facts implements target.Target.
func (t *Target) Facts() runfile.MountFacts { return t.facts }

// Channels implements target.Target.
func (t *Target) Channels() []runfile.Channel {
	all := t.client.Channels()
	out := make([]runfile.Channel, len(all))
	for i, c := range all {
		out[i] = runfile.Channel{
			ID: int32(i), Local: withoutPort(c.Local), Path: c.Path, State: "Down",
			Sends: c.Sends, Receives: c.Receives, BytesRead: c.BytesRead, BytesWritten: c.BytesWritten,
			Reconnects: c.Reconnects, Retransmits: c.Retransmits, DownMilliseconds: c.Down.Milliseconds(),
		}
		if c.State == nfs.ChannelUp {
			out[i].State = "Up"
		}
	}
	return out
}

func withoutPort(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// Close implements target.Target.
func (t *Target) Close() error { return t.client.Close() }
