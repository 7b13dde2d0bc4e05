package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// mounted is the result of mounting.
type mounted struct {
	root      FileHandle
	channel   Channel // used for mounting
	nfsPort   int
	mountPort int
}

// mountStagger is the delay before the next channel is tried concurrently: an
// address that answers at all answers sooner.
const mountStagger = 2 * time.Second

// mountExport mounts over the first channel that answers. A silent address does
// not delay the others. A refusal by the server is final.
func mountExport(ctx context.Context, cfg Config) (mounted, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		m   mounted
		err error
	}
	results := make(chan result, len(cfg.Channels))
	begun, ended := 0, 0
	var errs []error
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ended < len(cfg.Channels) {
		select {
		case <-timer.C:
			if begun < len(cfg.Channels) {
				ch := cfg.Channels[begun]
				begun++
				go func() {
					m, err := mountOver(ctx, cfg, ch)
					results <- result{m, err}
				}()
				timer.Reset(mountStagger)
			}
		case r := <-results:
			ended++
			if r.err == nil {
				return r.m, nil
			}
			if isRefusal(r.err) {
				return mounted{}, r.err
			}
			errs = append(errs, r.err)
			timer.Reset(0)
		}
	}
	return mounted{}, errors.Join(errs...)
}

// isRefusal reports whether err is a refusal, so that another path to the server cannot help.
func isRefusal(err error) bool {
	var s mount.Status
	return errors.As(err, &s) && s != mount.ErrIO && s != mount.ErrServerFault
}

func mountOver(ctx context.Context, cfg Config, ch Channel) (mounted, error) {
	m := mounted{channel: ch, nfsPort: cfg.NFSPort, mountPort: cfg.MountPort}
	portmapErr := m.findPorts(ctx, cfg)
	conn, err := dialRPC(ctx, ch, m.mountPort, cfg)
	if err != nil {
		return m, errors.Join(err, portmapErr)
	}
	defer func() { _ = conn.Close() }()
	res, err := mount.Mnt(ctx, conn, cfg.Credential.Auth(), cfg.Export)
	if err != nil {
		return m, explainMount(err, portmapErr, cfg, ch, conn.LocalAddr(), otherExports(ctx, conn, err, cfg.Export))
	}
	if len(res.Flavors) > 0 && !slices.Contains(res.Flavors, uint32(rpc.FlavorSys)) &&
		!slices.Contains(res.Flavors, uint32(rpc.FlavorNone)) {
		return m, fmt.Errorf("the export demands security flavors %v, this client has only sys (1)", res.Flavors)
	}
	if len(res.Handle) == 0 || len(res.Handle) > v3.MaxHandleBytes {
		return m, fmt.Errorf("the server at %s gives a root handle of %d bytes", ch.Path, len(res.Handle))
	}
	m.root = FileHandle(res.Handle)
	return m, nil
}

// findPorts asks the portmapper for the ports that the configuration leaves
// open. If the portmapper does not answer, findPorts returns its error and uses
// NFS's own port for both: servers without portmapper serve everything there.
func (m *mounted) findPorts(ctx context.Context, cfg Config) error {
	var err error
	if m.nfsPort == 0 || m.mountPort == 0 {
		err = m.askPortmap(ctx, cfg)
	}
	m.nfsPort = cmp.Or(m.nfsPort, Port)
	if m.mountPort == 0 {
		m.mountPort = m.nfsPort
	}
	return err
}

func (m *mounted) askPortmap(ctx context.Context, cfg Config) error {
	conn, err := dialRPC(ctx, m.channel, cfg.PortmapPort, cfg)
	if err != nil {
		return fmt.Errorf("the portmapper cannot be asked for the mount port: %w", err)
	}
	defer func() { _ = conn.Close() }()
	for _, q := range []struct {
		port             *int
		program, version uint32
	}{{&m.nfsPort, v3.Program, v3.Version}, {&m.mountPort, mount.Program, mount.Version}} {
		if *q.port != 0 {
			continue
		}
		if *q.port, err = mount.Getport(ctx, conn, q.program, q.version); err != nil {
			return err
		}
	}
	if m.mountPort == 0 {
		return errors.New("the portmapper knows no MOUNT version 3 over TCP")
	}
	return nil
}

func dialRPC(ctx context.Context, ch Channel, port int, cfg Config) (*rpc.Conn, error) {
	nc, err := dial(ctx, ch, port, cfg.DontRoute)
	if err != nil {
		return nil, err
	}
	return rpc.NewConn(nc, rpc.Options{}), nil
}

// explainMount explains a refused mount.
func explainMount(err, portmapErr error, cfg Config, ch Channel, local net.Addr, listed []string) error {
	client := local.String()
	if host, _, splitErr := net.SplitHostPort(client); splitErr == nil {
		client = host // as in export policies
	}
	refused := errors.Is(err, mount.ErrAcces) || errors.Is(err, mount.ErrPerm) || rpc.IsAuthError(err)
	absent := errors.Is(err, mount.ErrNoEnt)
	switch {
	case refused, absent && len(listed) > 0:
		err = &RefusedExportError{
			Export: cfg.Export, Listed: listed, Client: client, Err: fmt.Errorf("%w%s", err, portHint(local)),
		}
	case absent:
		err = fmt.Errorf("no such export %q on %s: %w", cfg.Export, ch.Path, err)
	default:
		err = fmt.Errorf("mount over path %s: %w", ch.Path, err)
	}
	if portmapErr != nil {
		return fmt.Errorf("%w (tried MOUNT on the NFS port because %w)", err, portmapErr)
	}
	return err
}

// RefusedExportError is a refused mount.
type RefusedExportError struct {
	Export string
	// Listed has the exports that the server lists, if the refused one is not among them. NFS-Ganesha, for example,
	// answers "access denied" for an export that does not exist.
	Listed []string
	Client string // address of this client, as in export policies
	Err    error  // the refusal
}

// Error implements error.
func (e *RefusedExportError) Error() string {
	return fmt.Sprintf("the server refuses export %q to address %s: %v", e.Export, e.Client, e.Err)
}

// Unwrap returns the refusal.
func (e *RefusedExportError) Unwrap() error { return e.Err }

// otherExports returns the exports that the server lists for this client, if the refused one is not among them and not
// below one of them. Many servers do not show their list.
func otherExports(ctx context.Context, conn *rpc.Conn, refusal error, export string) (listed []string) {
	if _, ok := errors.AsType[mount.Status](refusal); !ok {
		return nil
	}
	exports, err := mount.Exports(ctx, conn)
	if err != nil {
		return nil
	}
	for _, e := range exports {
		if e.Path == export || strings.HasPrefix(export, strings.TrimSuffix(e.Path, "/")+"/") {
			return nil
		}
		listed = append(listed, e.Path)
	}
	return listed
}

func portHint(local net.Addr) string {
	if !isHighPort(local) {
		return ""
	}
	return fmt.Sprintf("; it came from %s, a port above 1023, which \"secure\" exports refuse", local)
}

func isHighPort(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.Port >= 1024
}

// unmount sends the unmount to the server.
func (m *mounted) unmount(ctx context.Context, cfg Config) error {
	conn, err := dialRPC(ctx, m.channel, m.mountPort, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return mount.Umnt(ctx, conn, cfg.Credential.Auth(), cfg.Export)
}
