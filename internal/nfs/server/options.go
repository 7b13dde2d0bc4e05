package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/server/filetree"
)

// Options say what to serve and how much of the machine it may take.
type Options struct {
	// Dir is the directory behind the export. It must exist.
	Dir string
	// Export is the path that clients mount; default "/export".
	Export string
	// Listen are the TCP addresses that serve NFS, MOUNT and portmap, at least one.
	Listen []string
	// Portmap are further TCP addresses that serve portmap only.
	Portmap []string
	// AdvertisePort is what GETPORT answers; 0 = the port of the listener that was asked,
	// and on a Portmap listener that of the first Listen address.
	AdvertisePort int
	// Files bounds what clients may store.
	Files filetree.Options
	// MaxTransferBytes is rtmax and wtmax; default 1 MiB, from 4 KiB to 4 MiB.
	MaxTransferBytes int
	// MaxConnections is the limit of each listener; default 256.
	MaxConnections int
	// MaxInFlight is how many requests of one connection run at once; default 32.
	MaxInFlight int
	// MaxBuffers is how many requests, and again how many replies, larger than 16 KiB may be
	// in memory at once; default 64.
	MaxBuffers int
	// StallTimeout ends a connection whose client stops in the middle of a large record or
	// takes no replies; default 60 s.
	StallTimeout time.Duration
	// DrainTimeout is how long running requests may take after the context ended; default 5 s.
	DrainTimeout time.Duration
	// Name is whose counters these are; the host name, say.
	Name string
	// Now is the clock; it is required.
	Now func() time.Time
	// Log takes what went wrong; default: nowhere.
	Log *slog.Logger
}

const (
	minTransfer = 4 << 10
	maxTransfer = 4 << 20
	// callOverhead is more than everything in a WRITE call but the data: mark, header,
	// 400 bytes each of credential and verifier, handle.
	callOverhead = 2 << 10
)

func (o *Options) complete() error {
	setDefault(&o.Export, "/export")
	setDefault(&o.MaxTransferBytes, 1<<20)
	setDefault(&o.MaxConnections, 256)
	setDefault(&o.MaxInFlight, 32)
	setDefault(&o.MaxBuffers, 64)
	setDefault(&o.StallTimeout, time.Minute)
	setDefault(&o.DrainTimeout, 5*time.Second)
	setDefault(&o.Log, slog.New(slog.DiscardHandler))
	o.Export = path.Clean(o.Export)
	switch {
	case o.Now == nil:
		return errors.New("no clock")
	case len(o.Listen) == 0:
		return errors.New("no listening address")
	case !strings.HasPrefix(o.Export, "/"):
		return fmt.Errorf("export %q: must begin with a slash", o.Export)
	case o.MaxTransferBytes < minTransfer || o.MaxTransferBytes > maxTransfer:
		return fmt.Errorf("largest transfer %d: must be from %d to %d bytes", o.MaxTransferBytes, minTransfer, maxTransfer)
	case o.MaxTransferBytes%minTransfer != 0:
		return fmt.Errorf("largest transfer %d: must be a multiple of %d bytes", o.MaxTransferBytes, minTransfer)
	case o.AdvertisePort < 0 || o.AdvertisePort > math.MaxUint16:
		return fmt.Errorf("advertised port %d: must be from 0 to %d", o.AdvertisePort, math.MaxUint16)
	case min(o.MaxConnections, o.MaxInFlight, o.MaxBuffers) < 0:
		return errors.New("limits must not be negative")
	}
	return nil
}

func setDefault[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}
