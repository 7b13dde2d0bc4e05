package csi_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/nfsbench/nfsbench/test/lab/csi"
)

// TestAPluginWaitsForItsKubelet: without one, the start ends with the context and
// leaves no socket behind.
func TestAPluginWaitsForItsKubelet(t *testing.T) {
	folder := shortFolder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := csi.Start(ctx, csi.Options{Kubelet: folder, Node: "n"})
	if err == nil || !strings.Contains(err.Error(), "does not ask for the plug-in") {
		t.Fatalf("error %v", err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*", "*.sock"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// TestAKubeletIsToldWhereVolumesArePublished plays the kubelet's part.
func TestAKubeletIsToldWhereVolumesArePublished(t *testing.T) {
	folder := shortFolder(t)
	started := make(chan *csi.Plugin, 1)
	go func() {
		p, err := csi.Start(t.Context(), csi.Options{Kubelet: folder, Node: "n", Folder: func(string, string) (string, error) {
			return "", os.ErrNotExist
		}})
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	greeter := registration.NewRegistrationClient(dial(t, filepath.Join(folder, "plugins_registry", csi.Driver+"-reg.sock")))
	info, err := greeter.GetInfo(t.Context(), &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil || info.GetName() != csi.Driver || info.GetType() != registration.CSIPlugin {
		t.Fatalf("it says %v, %v", info, err)
	}
	if _, err := greeter.NotifyRegistrationStatus(t.Context(), &registration.RegistrationStatus{PluginRegistered: true}); err != nil {
		t.Fatal(err)
	}
	p := <-started
	defer func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}()
	node := spec.NewNodeClient(dial(t, info.GetEndpoint()))
	if who, err := node.NodeGetInfo(t.Context(), &spec.NodeGetInfoRequest{}); err != nil || who.GetNodeId() != "n" {
		t.Errorf("the node is %v, %v", who, err)
	}
	_, err = node.NodePublishVolume(t.Context(), &spec.NodePublishVolumeRequest{TargetPath: filepath.Join(folder, "target")})
	if err == nil || !strings.Contains(err.Error(), "not exist") {
		t.Errorf("an export that is not here: %v", err)
	}
}

// shortFolder is a folder whose path leaves room for the 108 bytes of a socket's.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "csi") //nolint:usetesting // the path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func dial(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
