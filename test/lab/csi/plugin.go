// Package csi is a stand-in for the node plug-in of csi-driver-nfs, for machines
// whose kernel has no NFS client: what the kubelet asks it to mount is the folder
// behind the export, on the machine that also serves it. Pods then see the very
// files that NFS clients see, and nothing of it goes over NFS.
//
// It registers with a real kubelet as any plug-in does.
package csi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Driver is the name of csi-driver-nfs, whose volumes nfsbench understands.
const Driver = "nfs.csi.k8s.io"

// Options are what a Plugin needs. All members are required.
type Options struct {
	Kubelet string // its --root-dir
	Node    string
	// Folder is where the export of a server is on this machine.
	Folder func(server, share string) (string, error)
}

// Plugin answers a kubelet until Stop. Its methods are safe for several
// goroutines.
type Plugin struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer

	options Options
	servers []*grpc.Server
	serving sync.WaitGroup
	said    chan error // what the kubelet answered to the registration

	mu      sync.Mutex
	mounted map[string]bool // by target
}

// Start registers the plug-in and returns when the kubelet has taken it, or the
// context ends.
func Start(ctx context.Context, o Options) (*Plugin, error) {
	p := &Plugin{options: o, said: make(chan error, 1), mounted: map[string]bool{}}
	node := grpc.NewServer()
	csi.RegisterIdentityServer(node, p)
	csi.RegisterNodeServer(node, p)
	greeter := grpc.NewServer()
	registration.RegisterRegistrationServer(greeter, p)
	if err := errors.Join(p.serve(node, p.socket()), p.serve(greeter, p.greeting())); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	select {
	case err := <-p.said:
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the kubelet refuses the plug-in: %w", err), p.Stop())
		}
		return p, nil
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("the kubelet at %s does not ask for the plug-in: %w", o.Kubelet, ctx.Err()), p.Stop())
	}
}

func (p *Plugin) socket() string {
	return filepath.Join(p.options.Kubelet, "plugins", Driver, "csi.sock")
}

func (p *Plugin) greeting() string {
	return filepath.Join(p.options.Kubelet, "plugins_registry", Driver+"-reg.sock")
}

func (p *Plugin) serve(s *grpc.Server, socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket) //nolint:usetesting // not a test; the server outlives the start
	if err != nil {
		return err
	}
	p.servers = append(p.servers, s)
	p.serving.Go(func() { _ = s.Serve(listener) }) // ends with Stop
	return nil
}

// Stop takes the plug-in away and unmounts what is left.
func (p *Plugin) Stop() error {
	for _, s := range p.servers {
		s.Stop()
	}
	p.serving.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var all error
	for target := range p.mounted {
		if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			all = errors.Join(all, fmt.Errorf("unmount %s: %w", target, err))
		}
	}
	for _, socket := range []string{p.socket(), p.greeting()} {
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// GetInfo tells a kubelet that found the socket who is there.
func (p *Plugin) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: Driver, Endpoint: p.socket(), SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus gets the answer of the kubelet.
func (p *Plugin) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	var err error
	if !s.GetPluginRegistered() {
		err = errors.New(s.GetError())
	}
	select {
	case p.said <- err:
	default: // said already: a kubelet that was restarted
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// GetPluginInfo is of the CSI identity service.
func (p *Plugin) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Driver, VendorVersion: "stand-in"}, nil
}

// GetPluginCapabilities are none.
func (p *Plugin) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe says that it is ready.
func (p *Plugin) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// NodeGetInfo names the node.
func (p *Plugin) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: p.options.Node}, nil
}

// NodeGetCapabilities are none: volumes are not staged.
func (p *Plugin) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume shows the folder behind the export at the target.
func (p *Plugin) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	context := r.GetVolumeContext()
	folder, err := p.options.Folder(context["server"], filepath.Join(context["share"], context["subdir"]))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	target := r.GetTargetPath()
	if p.mounted[target] {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := os.MkdirAll(target, 0o750); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := syscall.Mount(folder, target, "", syscall.MS_BIND, ""); err != nil {
		return nil, status.Errorf(codes.Internal, "show %s: %v", folder, err)
	}
	p.mounted[target] = true
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume takes it away.
func (p *Plugin) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	target := r.GetTargetPath()
	if p.mounted[target] {
		if err := syscall.Unmount(target, 0); err != nil {
			return nil, status.Errorf(codes.Internal, "unmount %s: %v", target, err)
		}
		delete(p.mounted, target)
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
