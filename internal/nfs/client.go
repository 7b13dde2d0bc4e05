package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// Closing ends when the server has been silent for closeSilence, so that a dead server does not delay it. A
// server that answers gets closeTimeout, because it keeps state that it is not told to drop until the lease ends.
const (
	closeSilence = time.Second
	closeTimeout = 30 * time.Second
)

// Client is one mounted export. Its methods are safe for concurrent use.
type Client struct {
	cfg       Config
	transport *transport
	proto     protocol
	data      stream.Protocol // of proto
	channels  []*channel      // in the order of Config.Channels
	root      FileHandle
	info      FSInfo
	closing   sync.Once

	streamsMu sync.Mutex
	streams   []*Stream
}

// Dial mounts an export and connects its channels. One connected channel is
// enough; the others are retried in the background, see Channels.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.MountTimeout)
	defer cancel()
	c := &Client{cfg: cfg}
	if cfg.Version == bench.NFSv3 {
		err = c.mountV3(ctx)
	} else {
		err = c.mountV4(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", cfg.Export, err)
	}
	c.data = c.proto.data()
	if err := c.readInfo(ctx); err != nil {
		err = explainPort(err, c.channels)
		return nil, errors.Join(fmt.Errorf("mount %s: %w", cfg.Export, err), c.Close())
	}
	return c, nil
}

func (c *Client) mountV3(ctx context.Context) error {
	m, err := mountExport(ctx, c.cfg)
	if err != nil {
		return err
	}
	c.root = m.root
	if c.channels, err = connectChannels(ctx, c.cfg, m.nfsPort); err != nil {
		return err
	}
	c.transport = newTransport(c.channels, c.cfg.CallTimeout, c.cfg.Now)
	unmount := func(ctx context.Context) error { return m.unmount(ctx, c.cfg) }
	c.proto = newProtoV3(c.transport, c.cfg.Credential.Auth(), unmount)
	return nil
}

// connectChannels connects all channels concurrently.
func connectChannels(ctx context.Context, cfg Config, port int) ([]*channel, error) {
	var channels []*channel
	for _, addr := range cfg.Channels {
		channels = append(channels, &channel{
			addr: addr, port: port, now: cfg.Now, logger: cfg.Logger, dontRoute: cfg.DontRoute,
			twoWay: cfg.Version != bench.NFSv3,
		})
	}
	return channels, connectAll(ctx, channels)
}

// connectAll connects channels concurrently. One connected channel is enough.
func connectAll(ctx context.Context, channels []*channel) error {
	errs := make([]error, len(channels))
	var wg sync.WaitGroup
	for i, ch := range channels {
		wg.Go(func() { errs[i] = ch.connect(ctx) })
	}
	wg.Wait()
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(errs...)
}

// readInfo reads the limits of the server and determines the transfer sizes.
func (c *Client) readInfo(ctx context.Context) error {
	info, err := c.proto.info(ctx, c.root)
	if err != nil {
		return fmt.Errorf("ask for the limits of the file system: %w", err)
	}
	largest := min(v3.MaxDataBytes, cmp.Or(c.cfg.TransferSize, v3.MaxDataBytes))
	info.TransferReadBytes = min(info.TransferReadBytes, largest)
	info.TransferWriteBytes = min(info.TransferWriteBytes, largest)
	if info.TransferReadBytes == 0 || info.TransferWriteBytes == 0 {
		return fmt.Errorf("the server offers transfers of %d bytes for reads and %d for writes",
			info.TransferReadBytes, info.TransferWriteBytes)
	}
	c.info = info
	return nil
}

// Root returns the handle of the export's root directory.
func (c *Client) Root() FileHandle { return c.root }

// Info returns the server's limits and the transfer sizes in use.
func (c *Client) Info() FSInfo { return c.info }

// FSStat asks the server for the space of the file system.
func (c *Client) FSStat(ctx context.Context) (FSStat, error) {
	s, err := c.proto.statFS(ctx, c.root)
	return s, explain("ask for the space of the file system", "", err)
}

// Getattr returns the attributes of a file.
func (c *Client) Getattr(ctx context.Context, file FileHandle) (Attr, error) {
	a, err := c.proto.getAttr(ctx, file)
	return a, explain("get attributes", "", err)
}

// SetSize truncates or extends a file.
func (c *Client) SetSize(ctx context.Context, file FileHandle, sizeBytes uint64) error {
	return explain("set the size", "", c.proto.setSize(ctx, file, sizeBytes))
}

// Lookup returns the handle of a name in a directory.
func (c *Client) Lookup(ctx context.Context, dir FileHandle, name string) (FileHandle, error) {
	fh, err := c.proto.lookup(ctx, dir, name)
	return fh, explain("look up", name, err)
}

// Mkdir creates a directory.
func (c *Client) Mkdir(ctx context.Context, dir FileHandle, name string, mode uint32) (FileHandle, error) {
	fh, err := c.proto.mkdir(ctx, dir, name, mode)
	return fh, explain("make directory", name, err)
}

// Remove removes a file.
func (c *Client) Remove(ctx context.Context, dir FileHandle, name string) error {
	return explain("remove", name, c.proto.remove(ctx, dir, name, TypeRegular))
}

// Rename renames a file within a directory. It replaces an existing file of the new name.
func (c *Client) Rename(ctx context.Context, dir FileHandle, from, to string) error {
	return explain("rename", from, c.proto.rename(ctx, dir, from, to))
}

// Rmdir removes an empty directory.
func (c *Client) Rmdir(ctx context.Context, dir FileHandle, name string) error {
	return explain("remove directory", name, c.proto.remove(ctx, dir, name, TypeDirectory))
}

// ReadDir returns all names in a directory except "." and "..".
func (c *Client) ReadDir(ctx context.Context, dir FileHandle) ([]string, error) {
	names, err := c.proto.readDir(ctx, dir)
	return names, explain("read directory", "", err)
}

// Channels returns a snapshot of each channel, in the order of Config.Channels, followed by the channels to pNFS data
// servers, whose number never decreases.
func (c *Client) Channels() []ChannelStats {
	var all []ChannelStats
	add := func(server int, channels []*channel) {
		for _, ch := range channels {
			s := c.withStreams(ch, ch.stats())
			s.Server, s.DataServer = server, ch.data
			all = append(all, s)
		}
	}
	p, ok := c.proto.(*protoV4)
	if !ok {
		add(0, c.channels)
		return all
	}
	for _, ch := range c.channels {
		add(p.byChannel[ch], []*channel{ch})
	}
	for i, ds := range p.dataServers() {
		add(len(p.at)+i, ds.server.channels)
	}
	return all
}

// Close unmounts and ends all connections. Calls under way fail with
// rpc.ErrClosed. A failed unmount is only logged: the server keeps no important
// state.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.streamsMu.Lock()
		open := slices.Clone(c.streams)
		c.streamsMu.Unlock()
		for _, s := range open {
			_ = s.Close() // nobody can act on an error of closing a socket
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := c.proto.close(ctx); err != nil {
			c.cfg.Logger.Debug("The server did not take the good-bye", "error", err)
		}
	})
	return nil
}

func explain(what, name string, err error) error {
	if err == nil {
		return nil
	}
	if name != "" {
		return fmt.Errorf("%s %q: %w", what, name, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// explainPort adds the most common reason why a server accepts the mount but refuses I/O.
func explainPort(err error, channels []*channel) error {
	if !rpc.IsAuthError(err) && !IsPermission(err) {
		return err
	}
	for _, ch := range channels {
		if conn := ch.live(); conn != nil && isHighPort(conn.LocalAddr()) {
			return fmt.Errorf("%w (this client uses %s, a port above 1023: "+
				"export with \"insecure\", or nfs-rootonly disabled, or run as root)", err, conn.LocalAddr())
		}
	}
	return err
}

// IsNoSpace reports whether err says that the storage or the quota is full.
func IsNoSpace(err error) bool { return isStatus(err, v3.ErrNoSpc, v3.ErrDQuot) }

// IsStale reports whether err says that the file of a handle no longer exists.
func IsStale(err error) bool {
	return isStatus(err, v3.ErrStale, v3.ErrBadHandle) || errors.Is(err, v4.ErrFHExpired)
}

// IsNotExist reports whether err says that a name does not exist.
func IsNotExist(err error) bool { return isStatus(err, v3.ErrNoEnt) }

// IsExist reports whether err says that a name exists already.
func IsExist(err error) bool { return isStatus(err, v3.ErrExist) }

// IsNotEmpty reports whether err says that a directory has entries.
func IsNotEmpty(err error) bool { return isStatus(err, v3.ErrNotEmpty) }

// IsPermission reports whether err says that the user lacks permission.
func IsPermission(err error) bool { return isStatus(err, v3.ErrPerm, v3.ErrAcces, v3.ErrROFS) }

// isStatus looks for an NFSv3 or NFSv4 status. Both versions use the same number for a common status (RFC 1813
// section 2.6, RFC 7530 section 13.1).
func isStatus(err error, anyOf ...v3.Status) bool {
	if s, ok := errors.AsType[v4.Status](err); ok {
		return slices.Contains(anyOf, v3.Status(s))
	}
	s, ok := errors.AsType[v3.Status](err)
	return ok && slices.Contains(anyOf, s)
}
