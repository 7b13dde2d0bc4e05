package faults

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// narrow is a server behind a switch whose ports take frames of 1500 bytes, while this machine and
// the server are set to 9000. The switch drops longer frames and says nothing, as switches do.
func narrow(t *testing.T, switchMTU, subnet string) site {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	middle, far, link := "nfsbench-mtu-"+switchMTU+"-switch", "nfsbench-mtu-"+switchMTU+"-server", "nb-mtu-"+switchMTU
	address := subnet + ".2"
	steps := func(commands ...string) {
		for _, c := range commands {
			words := strings.Fields(c)
			if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", c, err, out)
			}
		}
	}
	t.Cleanup(func() {
		for _, name := range []string{middle, far} { // with their links
			if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	steps("ip netns add "+middle, "ip netns add "+far,
		"ip link add "+link+" type veth peer name near netns "+middle,
		"ip -n "+far+" link add eth0 type veth peer name far netns "+middle,
		"ip -n "+middle+" link add br0 type bridge",
		"ip addr add "+subnet+".1/24 dev "+link, "ip -n "+far+" addr add "+address+"/24 dev eth0",
		"ip link set "+link+" mtu 9000 up", "ip -n "+far+" link set eth0 mtu 9000 up", "ip -n "+far+" link set lo up")
	for _, port := range []string{"near", "far"} {
		steps("ip -n " + middle + " link set " + port + " mtu " + switchMTU + " master br0 up")
	}
	// One segment is one frame, as on a cable.
	steps("ip -n "+middle+" link set br0 up", "ethtool -K "+link+" tso off gso off",
		"ip netns exec "+far+" ethtool -K eth0 tso off gso off")
	return site{paths: []string{address}, port: serveIn(t, far, address)}
}

// serveIn runs a server in a network namespace.
func serveIn(t *testing.T, netns, address string) (port int) {
	t.Helper()
	const fixed = 20049
	var s *server.Server
	made := make(chan error, 1)
	go func() { // a socket stays in the namespace of the thread that made it
		runtime.LockOSThread() // the thread ends with the goroutine
		fd, err := unix.Open(filepath.Join("/run/netns", netns), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		if err == nil {
			s, err = server.New(server.Options{Dir: t.TempDir(), Listen: []string{address + ":20049"}, Now: time.Now})
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return fixed
}

func TestAPathThatLosesFullPacketsIsFoundBeforeTheRun(t *testing.T) {
	at := narrow(t, "1500", "10.246.1")
	r := start(t, plan(at, 5))
	r.awaitEnd()
	l := r.finish()
	wantFailure(t, l, runfile.FailureUnreachable, "full packets are lost on the way to "+at.paths[0], "MTU 9000", "the same MTU")
	took(t, "until it is found", r.began, 20*time.Second)
	// Small calls arrive, so what a run left there can be removed.
	tgt, err := loadgen.OpenTarget(t.Context(), plan(at, 5).Engine, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	if _, err := fileset.Clean(t.Context(), tgt, "faults"); err != nil {
		t.Error(err)
	}
}

func TestAPathOfOneMTUIsTaken(t *testing.T) {
	l := start(t, plan(narrow(t, "9000", "10.246.2"), 2)).finish()
	wantClean(t, l)
	p := l.Mount.Paths
	if len(p) != 1 || p[0].LargeCall != "Acknowledged" || p[0].MTUBytes != 9000 || p[0].SegmentBytes < 8900 {
		t.Errorf("the paths are %+v", p)
	}
}
