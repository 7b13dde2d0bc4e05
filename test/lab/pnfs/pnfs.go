// Package pnfs runs a real pNFS array of two nodes for tests.
//
//	client ── LIF 1 ── Ganesha, brick     Nodes[0], a network namespace
//	                        │ cluster link
//	client ── LIF 2 ── Ganesha, brick     Nodes[1], another one
//
// Both nodes serve one GlusterFS volume under one path, by NFSv3 and NFSv4.0 to 4.2.
// Each file lies on one of them, which its name decides (see Array.Owner), unless
// Options.OneBrick keeps all on the first. With
// NFSv4.1, either node grants a layout of the type files that names the LIF of the owner
// as the only data server. A client without layouts gets the file from the node that it
// asks, which gets it over the cluster link. What Node tells was counted by the kernel
// where it happened.
//
// The nodes share the processors of this machine with clients and everybody else. They
// grant dense layouts with one data server for a file; they recall none; and their write
// verifier at a data server is always zero.
//
// hack/lab/pnfs.sh makes and removes the array. It needs root, so tests that use it run
// only when NFSBENCH_PNFS is set.
package pnfs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/command"
)

// Options say what to start. The zero Options start the array "pnfstest" with layouts.
type Options struct {
	// Name of up to 8 lower-case letters and digits. Several arrays may run at once if
	// their names and subnets differ.
	Name string
	// Subnets are two, each with a /24 mask, one for the LIF of each node. Default
	// 10.240.3.0/24 and 10.240.4.0/24.
	Subnets []string
	// Plain arrays grant no layouts.
	Plain bool
	// BitsPerSecond shapes both LIFs in both directions; 0 = not at all. Node.Shape
	// changes it later.
	BitsPerSecond int64
	// ClusterBitsPerSecond shapes the link between the nodes in both directions; 0 = not
	// at all.
	ClusterBitsPerSecond int64
	// OneBrick lets all files lie on Nodes[0], as if that node owned the volume.
	OneBrick bool
	// NoOffload lets no packet on a LIF be larger than the MTU.
	NoOffload bool
	// GraceSeconds are the lease and the grace period of NFSv4. With 0 the lease is 60 s
	// and there is no grace period: a client can reclaim nothing after a restart.
	GraceSeconds int
}

// Array is an array that runs.
type Array struct {
	Name   string  `json:"name"`
	Export string  `json:"export"` // what clients mount, from any node
	Folder string  `json:"folder"` // with the logs, in log/
	Nodes  []*Node `json:"nodes"`

	plain, oneBrick bool
}

// Node is one of the two nodes.
type Node struct {
	Name    string `json:"name"`    // the host name in its UTS namespace
	Address string `json:"address"` // of its LIF
	Host    string `json:"host"`    // this machine's address on the same network
	Netns   string `json:"netns"`
	LIF     string `json:"lif"`   // the interface with Address in Netns
	Brick   string `json:"brick"` // the folder with the files that lie on this node

	PIDFile string `json:"pidFile"` // of the NFS server
	array   string
	number  string // from 1, as pnfs.sh counts
}

// Need skips the test where no array may be started.
func Need(tb testing.TB) {
	tb.Helper()
	if os.Getenv("NFSBENCH_PNFS") == "" {
		tb.Skip("set NFSBENCH_PNFS=1 to run this against NFS-Ganesha over GlusterFS; needs root")
	}
}

// Start runs an array until the end of the test, as Up does.
func Start(tb testing.TB, o Options) *Array {
	tb.Helper()
	Need(tb)
	tb.Cleanup(func() {
		if err := Down(o.Name); err != nil {
			tb.Error(err)
		}
	})
	a, err := Up(o)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// Up runs an array until Down, for example for all tests of a package. What runs under the
// same name, or was left behind by one that was killed, is removed first.
func Up(o Options) (*Array, error) {
	if err := Down(o.Name); err != nil {
		return nil, err
	}
	out, err := script(o.args()...)
	if err != nil {
		return nil, err
	}
	var a Array
	if err := json.Unmarshal(out, &a); err != nil {
		return nil, fmt.Errorf("read what pnfs.sh printed: %w", err)
	}
	a.plain, a.oneBrick = o.Plain, o.OneBrick
	for i, n := range a.Nodes {
		n.array, n.number = a.Name, strconv.Itoa(i+1)
	}
	return &a, nil
}

func (o Options) args() []string {
	subnets := o.Subnets
	if len(subnets) == 0 {
		subnets = []string{"10.240.3.0/24", "10.240.4.0/24"}
	}
	args := []string{"up", "--json", "--name", nameOr(o.Name), "--subnet", strings.Join(subnets, ",")}
	if o.Plain {
		args = append(args, "--no-pnfs")
	}
	if o.ClusterBitsPerSecond != 0 {
		args = append(args, "--cluster-rate", rate(o.ClusterBitsPerSecond))
	}
	if o.OneBrick {
		args = append(args, "--bricks", "1")
	}
	if o.NoOffload {
		args = append(args, "--no-offload")
	}
	if o.BitsPerSecond != 0 {
		args = append(args, "--rate", rate(o.BitsPerSecond))
	}
	if o.GraceSeconds != 0 {
		args = append(args, "--grace", strconv.Itoa(o.GraceSeconds))
	}
	return args
}

func nameOr(name string) string { return cmp.Or(name, "pnfstest") }

// Down removes everything of an array, of the one without a name if name is empty. One
// that does not run is no error.
func Down(name string) error {
	_, err := script("down", "--name", nameOr(name))
	return err
}

// Owner returns the index of the node where a file lies. The path is relative to the
// export.
func (a *Array) Owner(tb testing.TB, path string) int {
	tb.Helper()
	i := a.Find(path)
	if i < 0 {
		tb.Fatalf("file %s is on no node of array %s", path, a.Name)
	}
	return i
}

// Find returns the index of the node that stores a file, or -1.
func (a *Array) Find(path string) int {
	return slices.IndexFunc(a.Nodes, func(n *Node) bool {
		info, err := os.Lstat(filepath.Join(n.Brick, path))
		// A file may have a pointer on the other node: empty, with nothing but the
		// sticky bit.
		return err == nil && info.Mode() != fs.ModeSticky
	})
}

// BytesOut returns how many bytes have left the node by its LIF, with all headers.
func (n *Node) BytesOut(tb testing.TB) int64 { tb.Helper(); return n.traffic(tb, n.LIF).TX.Bytes }

// BytesIn returns how many bytes have come in by its LIF.
func (n *Node) BytesIn(tb testing.TB) int64 { tb.Helper(); return n.traffic(tb, n.LIF).RX.Bytes }

// ClusterBytesOut returns how many bytes have left the node by the cluster link. They have
// come in at the other node.
func (n *Node) ClusterBytesOut(tb testing.TB) int64 {
	tb.Helper()
	return n.traffic(tb, "clu0").TX.Bytes
}

type direction struct {
	Bytes int64 `json:"bytes"`
}

type traffic struct {
	RX direction `json:"rx"`
	TX direction `json:"tx"`
}

func (n *Node) traffic(tb testing.TB, link string) traffic {
	tb.Helper()
	out, err := command.Output("ip", "-n", n.Netns, "-json", "-stats", "link", "show", "dev", link)
	if err != nil {
		tb.Fatal(err)
	}
	var links []struct {
		Stats traffic `json:"stats64"`
	}
	if err := json.Unmarshal(out, &links); err != nil || len(links) != 1 {
		tb.Fatalf("counters of %s of node %s: %v: %s", link, n.Name, err, out)
	}
	return links[0].Stats
}

// CPU returns the processor time of the node's NFS server, in steps of 10 ms. It restarts with the
// server. It does not include the brick, a separate process that reads and writes the files.
func (n *Node) CPU(tb testing.TB) time.Duration {
	tb.Helper()
	text, err := os.ReadFile(n.PIDFile)
	if err != nil {
		tb.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(text), " ")
	st, err := readStat(pid)
	if err != nil {
		tb.Fatal(err)
	}
	return st.cpu
}

// Shape limits the LIF in both directions; 0 = not at all.
func (n *Node) Shape(tb testing.TB, bitsPerSecond int64) {
	tb.Helper()
	if bitsPerSecond == 0 {
		n.run(tb, "shape", "off")
		return
	}
	n.run(tb, "shape", rate(bitsPerSecond))
}

func rate(bitsPerSecond int64) string { return strconv.FormatInt(bitsPerSecond, 10) + "bit" }

// Cut makes the LIF drop all packets; Heal brings it back. The cluster link stays.
func (n *Node) Cut(tb testing.TB) { tb.Helper(); n.run(tb, "cut") }

// Heal undoes Cut.
func (n *Node) Heal(tb testing.TB) { tb.Helper(); n.run(tb, "heal") }

// Crash kills the NFS server of the node without warning.
func (n *Node) Crash(tb testing.TB) { tb.Helper(); n.run(tb, "crash") }

// Revive undoes Crash and returns when the server answers.
func (n *Node) Revive(tb testing.TB) { tb.Helper(); n.run(tb, "revive") }

// Stop ends all processes of the node in good order; nothing there answers, and its files
// can not be reached by the other node.
func (n *Node) Stop(tb testing.TB) { tb.Helper(); n.run(tb, "stop") }

// Kill is Stop without warning. The addresses refuse connections from then on; to make
// them silent, Cut the LIF before.
func (n *Node) Kill(tb testing.TB) { tb.Helper(); n.run(tb, "kill") }

// Start undoes Stop and Kill, and returns when the server answers and the volume is whole
// again. The NFS server of the other node connects to the brick a few seconds later.
func (n *Node) Start(tb testing.TB) { tb.Helper(); n.run(tb, "start") }

func (n *Node) run(tb testing.TB, verb string, more ...string) {
	tb.Helper()
	if err := n.Do(verb, more...); err != nil {
		tb.Fatal(err)
	}
}

// Do calls pnfs.sh for this node, for programs other than tests.
func (n *Node) Do(verb string, more ...string) error {
	args := append([]string{verb, n.number}, more...)
	_, err := script(append(args, "--name", n.array)...)
	return err
}

func script(args ...string) ([]byte, error) { return command.Script("hack/lab/pnfs.sh", args...) }
