package nfs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

// Channel is one address pair of an oranfstab.
type Channel struct {
	// Local is the local address of the connection; empty = the routing table decides.
	Local string
	// Path is the server's address.
	Path string
	// HighPort uses a local port above 1023, even if this process may use a reserved one.
	HighPort bool
}

// Config configures a mount.
type Config struct {
	// Server is the server's address if there are no Channels, and its name in
	// messages.
	Server   string
	Channels []Channel
	Export   string
	// Version is NFSv3 if empty.
	Version bench.NFSVersion
	// DontRoute sets SO_DONTROUTE: connections use directly connected networks only.
	DontRoute bool

	// MountTimeout bounds the whole Dial; DefaultMountTimeout if 0.
	MountTimeout time.Duration
	// CallTimeout bounds a call with all its retries; DefaultCallTimeout if 0. A connection is replaced after half of it
	// without an answer to a call, or earlier if other connections have answers.
	CallTimeout time.Duration
	// LayoutRetry is the interval of requests for a layout that was lost or
	// refused; DefaultLayoutRetry if 0.
	LayoutRetry time.Duration
	// Sessions bounds the NFSv4.1 sessions of a Stream at a server whose single session has fewer slots than the Stream
	// has parts of I/Os; 1 if 0.
	Sessions int
	// TransferSize is the largest READ and WRITE in bytes, limited to the server's
	// maximum; 0 = the server's maximum.
	TransferSize uint32

	// NFSPort is the server's port; 0 asks the portmapper and falls back to 2049. NFSv4 uses 2049 without asking.
	NFSPort int
	// MountPort is the port of the mount daemon; 0 asks the portmapper.
	MountPort int
	// PortmapPort is the port of the portmapper; 111 if 0.
	PortmapPort int

	// Credential identifies the user to the server. An empty Machine is set to the
	// host name.
	Credential rpc.AuthSys
	// Now is the clock; required.
	Now func() time.Time
	// Logger logs each loss and reconnection of a channel; nil = no log.
	Logger *slog.Logger
}

// Defaults of Config.
const (
	DefaultMountTimeout = 30 * time.Second
	DefaultCallTimeout  = 10 * time.Minute
	DefaultLayoutRetry  = time.Second
	Port                = 2049 // of NFS
	maxChannels         = 64
)

// complete checks cfg and sets defaults.
func (cfg Config) complete() (Config, error) {
	if cfg.Now == nil {
		return cfg, errors.New("nfs: Config.Now is not set")
	}
	if !strings.HasPrefix(cfg.Export, "/") {
		return cfg, fmt.Errorf("nfs: export %q is not an absolute path", cfg.Export)
	}
	if err := cfg.completeChannels(); err != nil {
		return cfg, err
	}
	for _, port := range []int{cfg.NFSPort, cfg.MountPort, cfg.PortmapPort} {
		if port < 0 || port > math.MaxUint16 {
			return cfg, fmt.Errorf("nfs: %d is not a port", port)
		}
	}
	cfg.Version = cmp.Or(cfg.Version, bench.NFSv3)
	switch cfg.Version {
	case bench.NFSv3:
	case bench.NFSv40, bench.NFSv41, bench.PNFS:
		cfg.NFSPort = cmp.Or(cfg.NFSPort, Port)
	default:
		return cfg, fmt.Errorf("nfs: version %q is none of NFSv3, NFSv4.0, NFSv4.1, pNFS", cfg.Version)
	}
	cfg.MountTimeout = cmp.Or(cfg.MountTimeout, DefaultMountTimeout)
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, DefaultCallTimeout)
	cfg.LayoutRetry = cmp.Or(cfg.LayoutRetry, DefaultLayoutRetry)
	cfg.PortmapPort = cmp.Or(cfg.PortmapPort, mount.PortmapPort)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Credential.Machine == "" {
		// The credential works without a host name: servers only log it.
		cfg.Credential.Machine, _ = os.Hostname()
	}
	return cfg, nil
}

func (cfg *Config) completeChannels() error {
	if len(cfg.Channels) == 0 {
		if cfg.Server == "" {
			return errors.New("nfs: neither server nor channels are given")
		}
		cfg.Channels = []Channel{{Path: cfg.Server}}
	}
	if len(cfg.Channels) > maxChannels {
		return fmt.Errorf("nfs: %d channels are more than %d", len(cfg.Channels), maxChannels)
	}
	for _, ch := range cfg.Channels {
		if ch.Path == "" {
			return errors.New("nfs: a channel has no path")
		}
		if ch.Local != "" && net.ParseIP(ch.Local) == nil {
			return fmt.Errorf("nfs: local address %q is not an IP address", ch.Local)
		}
		if local, path := net.ParseIP(ch.Local), net.ParseIP(ch.Path); local != nil && path != nil &&
			(local.To4() == nil) != (path.To4() == nil) {
			return fmt.Errorf("nfs: local address %s and path %s are not of one IP version", ch.Local, ch.Path)
		}
	}
	return nil
}
