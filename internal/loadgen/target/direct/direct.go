// Package direct puts load on an export through the user-space client of
// package nfs, one connection for each channel of an oranfstab, as Oracle's own
// Direct NFS does.
//
// # Stability of writes
//
// Measured writes are FILE_SYNC: the reply means that the data would survive a crash of the server. A
// database writer needs this of every single write before it may forget the block, and Direct NFS has no page
// cache that could keep the data until a later COMMIT. For the same reason data files are opened with O_DSYNC
// when the kernel does the I/O. UNSTABLE writes with one COMMIT at the end would measure the memory of the
// server. Filling is not measured and uses UNSTABLE and COMMIT; data that a restart of the server lost in
// between are written again.
package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	// startingPatience is how long a server may refuse connections before it counts as not running: a server
	// that is starting, or a Service whose endpoints are just appearing, refuses for a moment.
	startingPatience = 10 * time.Second
	startingRetry    = 500 * time.Millisecond
)

// Options configures the mount.
type Options struct {
	Engine runfile.Engine
	Now    func() time.Time
	// HighPorts connects from ports above 1023, like processes without privilege.
	HighPorts bool
	Logger    *slog.Logger // gets a message for each channel that is lost or connected again; nil is silent
}

// Target is one mounted export.
type Target struct {
	client *nfs.Client
	where  string // for messages
	user   rpc.AuthSys
	facts  runfile.MountFacts
}

// Open mounts the export and connects all channels. One connected channel is enough.
func Open(ctx context.Context, opt Options) (target.Target, error) {
	if err := Check(opt.Engine); err != nil {
		return nil, err
	}
	var err error
	if opt.Engine.Channels, err = WithAddresses(opt.Engine.Channels); err != nil {
		return nil, err
	}
	cfg := config(opt)
	t := &Target{where: describe(cfg), user: cfg.Credential}
	t.client, err = dial(ctx, cfg)
	if err != nil {
		return nil, t.explainMount(cfg, err)
	}
	info := t.client.Info()
	t.facts = runfile.MountFacts{
		Source: runfile.MountSource(opt.Engine.Channels[0].Path, opt.Engine.Export), DirectIO: true,
		NFSVersion:    string(cmp.Or(cfg.Version, bench.NFSv3)),
		ReadSizeBytes: int64(info.TransferReadBytes), WriteSizeBytes: int64(info.TransferWriteBytes),
	}
	// A server may refuse FSSTAT; then the space is unknown.
	if space, err := t.client.FSStat(ctx); err == nil {
		t.facts.TotalBytes = clampInt64(space.TotalBytes)
		t.facts.FreeBytes = clampInt64(space.AvailableBytes)
	}
	return t, nil
}

// Check tests for paths that drop full-size segments: see target.Check. It must not run concurrently with
// other calls.
func (t *Target) Check(ctx context.Context) error {
	var lost []string
	for _, p := range t.client.ProbePaths(ctx) {
		t.facts.Paths = append(t.facts.Paths, runfile.PathFacts{
			Local: p.Channel.Local, Path: p.Channel.Path, LargeCall: string(p.LargeCall),
			MTUBytes: int32(min(p.MTUBytes, math.MaxInt32)), SegmentBytes: int32(min(p.SegmentBytes, math.MaxInt32)),
		})
		if p.LargeCall == nfs.LargeLost {
			lost = append(lost, fmt.Sprintf("%s (MTU %d bytes here)", p.Channel.Path, p.MTUBytes))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return target.Fail(runfile.FailureUnreachable, fmt.Sprintf(
		"full packets are lost on the way to %s, and small ones are not: give the interfaces of this client, the switches "+
			"and the server the same MTU", strings.Join(lost, ", ")), nil)
}

// dial mounts an export. It tries again while nothing listens; an answer of the server itself is final.
func dial(ctx context.Context, cfg nfs.Config) (*nfs.Client, error) {
	patience := startingPatience
	if cfg.MountTimeout > 0 {
		patience = min(patience, cfg.MountTimeout)
	}
	last := cfg.Now().Add(patience - startingRetry)
	for {
		c, err := nfs.Dial(ctx, cfg)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) || cfg.Now().After(last) {
			return c, err
		}
		if runloop.Wait(ctx, startingRetry) != nil {
			return nil, err
		}
	}
}

// WriteMaxBytes returns the largest write that the server offers (wtmax), even if the client uses less.
func (t *Target) WriteMaxBytes() int64 { return int64(t.client.Info().WriteMaxBytes) }

// clampInt64 bounds the values of file systems without limits.
func clampInt64(v uint64) int64 { return int64(min(v, 1<<62)) }

// Check returns the errors of an engine that are visible without a connection to its server.
func Check(e runfile.Engine) error {
	switch {
	case len(e.Channels) == 0:
		return target.Fail(runfile.FailureInvalidPlan,
			"engine.channels is empty; DirectNFS needs the address of the server in the path of at least one", nil)
	case e.Security != "" && e.Security != "sys":
		return target.Fail(runfile.FailureUnsupported, fmt.Sprintf(
			"export %q asks for security %s, and this client has sys only: use sys, or mount the export and use the Kernel "+
				"client", e.Export, e.Security), nil)
	}
	return nil
}

func config(opt Options) nfs.Config {
	e := opt.Engine
	cfg := nfs.Config{
		Server: e.Server, Export: e.Export, Version: e.NFSVersion, DontRoute: e.DontRoute,
		MountTimeout: time.Duration(e.MountTimeoutSeconds) * time.Second,
		CallTimeout:  time.Duration(e.CallTimeoutSeconds) * time.Second,
		TransferSize: uint32(e.TransferSizeBytes), Sessions: int(e.Sessions),
		NFSPort: e.Ports.NFS, MountPort: e.Ports.Mount, PortmapPort: e.Ports.Portmap,
		Credential: rpc.AuthSys{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())},
		Now:        opt.Now, Logger: opt.Logger,
	}
	if e.UserID != nil {
		cfg.Credential.UID = *e.UserID
	}
	if e.GroupID != nil {
		cfg.Credential.GID = *e.GroupID
	}
	for _, c := range e.Channels {
		cfg.Channels = append(cfg.Channels, nfs.Channel{Local: c.Local, Path: c.Path, HighPort: opt.HighPorts})
	}
	return cfg
}

// Facts implements target.Target.
func (t *Target) Facts() runfile.MountFacts { return t.facts }

// Channels implements target.Target.
func (t *Target) Channels() []runfile.Channel {
	all, servers := t.client.Channels(), t.client.Servers() != nil
	out := make([]runfile.Channel, len(all))
	for i, c := range all {
		out[i] = runfile.Channel{
			ID: int32(i), Local: withoutPort(c.Local), Path: c.Path, State: bench.PathDown,
			Sends: c.Sends, Receives: c.Receives, BytesRead: c.BytesRead, BytesWritten: c.BytesWritten,
			Reconnects: c.Reconnects, Retransmits: c.Retransmits, DownMilliseconds: c.Down.Milliseconds(),
			Losses: losses(c.Losses),
		}
		if c.State == nfs.ChannelUp {
			out[i].State = bench.PathUp
		}
		if servers {
			out[i].Server = int32(c.Server) + 1
		}
		if c.DataServer {
			out[i].Role = bench.PathDataServer
		}
	}
	return out
}

// losses returns the last losses, sorted by time.
func losses(all []rpc.Loss) []runfile.ChannelLoss {
	slices.SortFunc(all, func(a, b rpc.Loss) int { return cmp.Compare(a.Since, b.Since) })
	var out []runfile.ChannelLoss
	for _, l := range all[max(0, len(all)-runfile.MaxLosses):] {
		after := func(at int64) *int64 {
			if at == 0 {
				return nil
			}
			return new(max(0, at-l.Since) / int64(time.Millisecond))
		}
		out = append(out, runfile.ChannelLoss{
			Start: time.Unix(0, l.Since), NoticedMilliseconds: *after(l.Noticed),
			ConnectedMilliseconds: after(l.Connected), AnsweredMilliseconds: after(l.Answered),
		})
	}
	return out
}

// Servers implements target.Target.
func (t *Target) Servers() []runfile.NFSServer {
	var out []runfile.NFSServer
	for i, s := range t.client.Servers() {
		r := runfile.NFSServer{
			ID: int32(i) + 1, Role: bench.PathMetadata, NFSVersion: string(s.Version), Addresses: s.Addresses,
			Owner: serverName(s.Owner), Scope: serverName(s.Scope), Trunking: s.Trunking,
			Slots: int32(s.Slots), SlotsAsked: int32(s.SlotsAsked), Sessions: int32(s.Sessions),
			SlotsUsed: int32(s.Slot.Used), SlotsWanted: int32(s.Slot.Wanted), SlotRequests: s.Slot.Requests,
			SlotWaits: s.Slot.Waits, SlotWaitMilliseconds: s.Slot.Waited.Milliseconds(),
			LeaseSeconds: int32(s.Lease.Seconds()),
			LayoutType:   s.Layouts.Type, Recoveries: s.Recoveries, RecoveryMilliseconds: s.RecoveryTime.Milliseconds(),
			Callbacks: s.Callbacks, LayoutsGranted: s.Layouts.Granted, LayoutsRecalled: s.Layouts.Recalled,
			LayoutFallbacks: s.Layouts.Fallbacks, LayoutFallbackBytes: s.Layouts.FallbackBytes,
		}
		if s.Owner != "" {
			r.OwnerMinor = strconv.FormatUint(s.OwnerMinor, 10)
		}
		if s.Layouts.Type == layout.TypeName(v4.LayoutFiles) {
			r.LayoutType = runfile.LayoutTypeFiles
		}
		if s.DataServer {
			r.Role = bench.PathDataServer
		}
		out = append(out, r)
	}
	return out
}

// serverName returns the text of an owner or a scope. Servers end it with the zero byte of a C string.
func serverName(opaque string) string {
	return runfile.ServerName([]byte(strings.TrimRight(opaque, "\x00")))
}

func withoutPort(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// Close implements target.Target.
func (t *Target) Close() error { return t.client.Close() }

// closeTimeout bounds the closing of a file at a server that does not answer.
const closeTimeout = 5 * time.Second

const (
	directoryMode = 0o755
	fileMode      = 0o644
)

// Directory implements target.Target.
func (t *Target) Directory(ctx context.Context, name string, create bool) (target.Directory, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fh, err := t.client.Lookup(ctx, t.client.Root(), name)
	if nfs.IsNotExist(err) && create {
		fh, err = t.client.Mkdir(ctx, t.client.Root(), name, directoryMode)
		if nfs.IsExist(err) { // another client was faster
			fh, err = t.client.Lookup(ctx, t.client.Root(), name)
		}
	}
	if err != nil {
		return nil, t.explain(err)
	}
	if err := t.expect(ctx, fh, name, nfs.TypeDirectory, "a directory"); err != nil {
		return nil, err
	}
	return &directory{t: t, fh: fh}, nil
}

// expect returns an error if fh is not a file of type kind, because others may replace an entry that has our name.
func (t *Target) expect(ctx context.Context, fh nfs.FileHandle, name string, kind nfs.FileType, text string) error {
	attr, err := t.client.Getattr(ctx, fh)
	if err != nil {
		return t.explain(err)
	}
	switch {
	case attr.Type != kind:
		return target.Fail(runfile.FailureForeignFiles,
			fmt.Sprintf("%q on %s is not %s, so it is not ours; choose another directory", name, t.where, text), nil)
	case kind == nfs.TypeRegular && attr.Links > 1:
		return target.Fail(runfile.FailureForeignFiles, fmt.Sprintf("%q on %s has %d names (hard links), and another one "+
			"may be that of a file of others; remove this one, or choose another directory", name, t.where, attr.Links), nil)
	}
	return nil
}

// RemoveDirectory implements target.Target.
func (t *Target) RemoveDirectory(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.explain(t.client.Rmdir(ctx, t.client.Root(), name))
}

type directory struct {
	t  *Target
	fh nfs.FileHandle
}

func (d *directory) List(ctx context.Context) ([]string, error) {
	names, err := d.t.client.ReadDir(ctx, d.fh)
	return names, d.t.explain(err)
}

func (d *directory) Open(ctx context.Context, name string, opt target.OpenOptions) (target.File, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	opened, err := d.open(ctx, name, opt.Create)
	if err != nil {
		return nil, err
	}
	f := &file{t: d.t, f: opened, stability: nfs.Unstable}
	if opt.Stable {
		f.stability = nfs.FileSync
	}
	return f, nil
}

func (d *directory) open(ctx context.Context, name string, create bool) (*nfs.File, error) {
	fh, err := d.t.client.Lookup(ctx, d.fh, name)
	switch {
	case create && err == nil:
		// An exclusive CREATE alone is not enough: a server may take a repeated one for a retransmission and accept
		// it.
		return nil, fmt.Errorf("create %q: %w", name, fs.ErrExist)
	case create && nfs.IsNotExist(err):
		f, err := d.t.client.Create(ctx, d.fh, name, fileMode, true)
		return f, d.t.explain(err)
	case err != nil:
		return nil, d.t.explain(err)
	}
	if err := d.t.expect(ctx, fh, name, nfs.TypeRegular, "a regular file"); err != nil {
		return nil, err
	}
	f, err := d.t.client.Open(ctx, d.fh, name)
	if err != nil || f.Handle() == fh {
		return f, d.t.explain(err)
	}
	// Another file may have this name now.
	if err := d.t.expect(ctx, f.Handle(), name, nfs.TypeRegular, "a regular file"); err != nil {
		return nil, errors.Join(err, f.Close(ctx))
	}
	return f, nil
}

func (d *directory) Rename(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.t.explain(d.t.client.Rename(ctx, d.fh, from, to))
}

func (d *directory) Remove(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.t.explain(d.t.client.Remove(ctx, d.fh, name))
}

type file struct {
	t         *Target
	f         *nfs.File
	stability nfs.Stability
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n, err := f.f.ReadAt(ctx, p, off)
	return n, f.t.explain(err)
}

func (f *file) WriteAt(ctx context.Context, p []byte, off int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, err := f.f.WriteAt(ctx, p, off, f.stability)
	return f.t.explain(err)
}

func (f *file) Commit(ctx context.Context) (lost []target.Span, err error) {
	spans, err := f.f.Commit(ctx)
	for _, s := range spans {
		lost = append(lost, target.Span(s))
	}
	return lost, f.t.explain(err)
}

func (f *file) Size(ctx context.Context) (int64, error) {
	attr, err := f.t.client.Getattr(ctx, f.f.Handle())
	return clampInt64(attr.SizeBytes), f.t.explain(err)
}

func (f *file) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return f.t.explain(f.f.Close(ctx))
}
