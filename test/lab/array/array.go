// Package array runs an NFS array of two nodes for tests: one that has no
// hardware, and yet a data path whose wrong way costs what it costs.
//
//	client ── LIF 1 ── N-blade a ─┬─ Ganesha a     node a, a network namespace
//	                       │      └─────────────┐
//	                       │ cluster link       ├─ Ganesha of NFSv4, a third one
//	                       │      ┌─────────────┘
//	client ── LIF 2 ── N-blade b ─┴─ Ganesha b     node b, another one
//
// It is built as ONTAP is. The N-blade (package nblade) ends the connections of
// the clients of its LIFs and sends each call to the node that owns the volume.
// There NFS-Ganesha answers it. A client that asks the LIF of the owner pays for
// one node; one that asks the other pays for an N-blade there, for the way over
// the cluster link, and for the N-blade of the owner, which takes it off the link.
// Nothing of this is scripted: what Node, LIF and Volume tell was counted where it
// happened.
//
// Both nodes run NFS-Ganesha over the same folder with the same exports, so that
// a file handle means the same on both, and none keeps attributes or names for
// itself. A volume moves by changing who answers: see Array.Move.
//
// NFSv4 has state: clients, sessions, open files. Two servers that know nothing of each
// other's cannot be one for a client, so one NFS-Ganesha answers all of NFSv4 for both
// nodes, over NFSv4.0 and 4.1, without pNFS. Both LIFs lead to it, and to one server
// owner: sessions can be trunked over them. It belongs to no node, and is reached through the
// owner of the volume only: the wrong LIF costs with NFSv4 what it costs with NFSv3. Its
// processor time is on the account of the nodes, see Array.Node. The state outlives a move
// of a volume, as with ONTAP.
//
// # What differs from an array
//
//   - The two have no disks of their own: the folder lies in the page cache of
//     this machine. A move copies nothing.
//   - The nodes share the processors of this machine with clients and everybody
//     else. Where it is busy, latencies are those of waiting for a processor.
//   - Processor time is that of the node's processes as the kernel accounts it,
//     in steps of 10 ms. What the kernel does for them outside of any process,
//     above all receiving packets in soft interrupts, is not in it or is on the
//     account of whoever ran just then.
//   - The server of NFSv4 is one process for both nodes. Its processor time is divided by
//     the calls for the volumes of each: exactly, as long as all of them go to the volumes
//     of one node, and otherwise as if all calls cost the same.
//   - NFS-Ganesha sees the N-blades as its clients: rules of exports for
//     addresses of clients can not be tested with it.
//
// It needs root, NFS-Ganesha, rpcbind and iproute2, all of which
// hack/lab/ganesha.sh installs.
package array

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

// Options say what to start. The zero Options start the array "twonode".
type Options struct {
	// Name of up to 8 lower-case letters and digits: several arrays may run at
	// once if their names and subnets differ.
	Name string
	// Subnets are one /24 per LIF. LIFs alternate between the nodes: the first is on node a, the
	// second on node b, a third on node a. In each subnet .1 is this machine and .2 the LIF. Two to
	// four; default 10.246.1.0/24 and 10.246.2.0/24.
	Subnets []string
	// Volumes exist from the beginning; default: one, "data" on node a, which
	// clients mount as /export/data.
	Volumes []Volume
	// DrainLimit bounds how long a move may hold calls back; default 2 minutes.
	DrainLimit time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Volume is one export.
type Volume struct {
	Name     string `json:"name"`
	Junction string `json:"junction"` // what clients mount
	Node     string `json:"node"`     // who owns the data now
	Folder   string `json:"folder"`   // where the data are on this machine; set by the array
	// SizeBytes is the size that the REST interface reports; 0 = the size of the file system. Nothing enforces it.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// ExportPolicy is what the REST interface reports; empty = default, which admits everybody. One of
	// another name has no rules. Nothing enforces it.
	ExportPolicy string `json:"exportPolicy,omitempty"`

	export uint16 // Export_Id, never used twice
}

// LIF is one data address.
type LIF struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Host    string `json:"host"` // this machine's address on the same network
	Node    string `json:"node"` // the node it is on

	index int // from 1
}

// Array is a running array. Its methods may be called from several goroutines.
type Array struct {
	options  Options
	dir      string
	launcher *launcher
	nodes    []*node
	began    time.Time
	died     chan error

	lifs []LIF // set by the start

	moving sync.Mutex // one change of volumes at a time; guards what follows too
	rest   *REST

	mu      sync.Mutex // guards what follows
	state   state
	volumes []Volume
	exports uint16 // the highest Export_Id so far

	nfs4 nfs4Server
}

type node struct {
	name, netns string
	cluster     string // address on the cluster link
	nfs4        string // address of the server of NFSv4 on the link of this node to it
	blade       control.Client
	rpcbind     *process
	ganesha     *process
	nblade      *process

	mu    sync.Mutex
	busy  time.Duration // highest count so far: it must not fall when a process ends
	work  []*process    // see Array.Work
	ended time.Duration // processor time of work that has ended
}

// Start starts an array. What a killed one of the same name left behind is removed
// first; one that still runs is an error. The context bounds the start only.
func Start(ctx context.Context, o Options) (*Array, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if err := Missing(); err != nil {
		return nil, err
	}
	if pid := owner(o.Name); pid != 0 {
		return nil, fmt.Errorf("array %s runs already, as process %d", o.Name, pid)
	}
	if err := Down(ctx, o.Name); err != nil {
		return nil, fmt.Errorf("remove what is left of array %s: %w", o.Name, err)
	}
	a := &Array{options: o, dir: folder(o.Name), died: make(chan error, 8), launcher: newLauncher()}
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(err, a.Stop())
	}
	return a, nil
}

func (o Options) complete() (Options, error) {
	o.Name = cmp.Or(o.Name, "twonode")
	if !regexp.MustCompile(`^[a-z0-9]{1,8}$`).MatchString(o.Name) {
		return o, fmt.Errorf("name %q: use up to 8 lower-case letters and digits", o.Name)
	}
	if len(o.Subnets) == 0 {
		o.Subnets = []string{"10.246.1.0/24", "10.246.2.0/24"}
	}
	for _, s := range o.Subnets {
		if p, err := netip.ParsePrefix(s); err != nil || p.Bits() != 24 || p.Masked() != p || !p.Addr().Is4() {
			return o, fmt.Errorf("subnet %q: use the form 10.246.1.0/24", s)
		}
	}
	if n := len(o.Subnets); n < 2 || n > 4 || len(slices.Compact(slices.Sorted(slices.Values(o.Subnets)))) != n {
		return o, fmt.Errorf("subnets %q: two to four different ones, of which the nodes have turns", o.Subnets)
	}
	names := []string{o.Name + "-a", o.Name + "-b"}
	if len(o.Volumes) == 0 {
		o.Volumes = []Volume{{Name: "data", Junction: "/export/data", Node: names[0]}}
	}
	o.Volumes = slices.Clone(o.Volumes)
	for i, v := range o.Volumes {
		if err := v.check(names); err != nil {
			return o, err
		}
		o.Volumes[i].Folder = filepath.Join(folder(o.Name), "data", v.Name)
		o.Volumes[i].export = uint16(i + 1)
	}
	o.DrainLimit = cmp.Or(o.DrainLimit, patience)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

func (v Volume) check(nodes []string) error {
	switch {
	case !regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`).MatchString(v.Name):
		return fmt.Errorf("volume %q: use letters, digits and _", v.Name)
	case !regexp.MustCompile(`^(/[A-Za-z0-9_-]{1,64}){1,4}$`).MatchString(v.Junction):
		return fmt.Errorf("volume %s: junction %q: use a path like /export/data", v.Name, v.Junction)
	case !slices.Contains(nodes, v.Node):
		return fmt.Errorf("volume %s: there is no node %q, but %q", v.Name, v.Node, nodes)
	}
	return nil
}

func (a *Array) start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(a.dir, "log"), 0o755); err != nil {
		return err
	}
	for i, letter := range []string{"a", "b"} {
		a.nodes = append(a.nodes, &node{
			name: a.options.Name + "-" + letter, netns: netnsOf(a.options.Name, letter),
			cluster: fmt.Sprintf("169.254.77.%d", i+1), nfs4: fmt.Sprintf("169.254.77.%d", 6+4*i),
		})
	}
	a.volumes, a.exports = a.options.Volumes, uint16(len(a.options.Volumes))
	st, err := readStat(os.Getpid())
	if err != nil {
		return err
	}
	a.state.Owner = identity{PID: os.Getpid(), Began: st.began}
	if err := a.state.write(a.dir); err != nil {
		return err
	}
	if err := a.makeNetwork(ctx); err != nil {
		return err
	}
	source, err := repository.Path("test/lab/array/nblade")
	if err != nil {
		return err
	}
	// -C: the process may run in a folder of another module.
	if err := run(ctx, "go", "build", "-C", source, "-o", a.bladePath()); err != nil {
		return err
	}
	return a.startNodes(ctx)
}

// startNodes starts both nodes and waits until they serve all volumes.
func (a *Array) startNodes(ctx context.Context) error {
	for _, v := range a.volumes {
		if err := makeFolder(v); err != nil {
			return err
		}
	}
	if err := a.startNFS4(); err != nil {
		return fmt.Errorf("start the server of NFSv4: %w", err)
	}
	for _, n := range a.nodes {
		if err := a.startNode(ctx, n); err != nil {
			return fmt.Errorf("start %s: %w; its logs are in %s", n.name, err, filepath.Join(a.dir, "log"))
		}
	}
	a.began = a.options.Now()
	for _, v := range a.volumes {
		if err := a.awaitMounts(ctx, v); err != nil {
			return fmt.Errorf("%w; the logs are in %s", err, filepath.Join(a.dir, "log"))
		}
	}
	return nil
}

// Stop ends all processes and removes everything, the data included.
func (a *Array) Stop() error {
	a.stopREST()
	//nolint:usetesting // not a test; it must also clean up after the context of one
	err := remove(context.Background(), a.options.Name)
	a.launcher.stop()
	return err
}

// Wait returns nil when the context ends, or what happened to the first process
// that ended before.
func (a *Array) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.died:
		return err
	}
}

// Nodes are the names of the two nodes.
func (a *Array) Nodes() []string { return []string{a.nodes[0].name, a.nodes[1].name} }

// Volumes returns the volumes and their current owners.
func (a *Array) Volumes() []Volume {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.volumes)
}

// LIFs returns the data addresses in the order of the subnets.
func (a *Array) LIFs() []LIF { return slices.Clone(a.lifs) }

func (a *Array) node(name string) (*node, error) {
	if i := slices.Index(a.Nodes(), name); i >= 0 {
		return a.nodes[i], nil
	}
	return nil, fmt.Errorf("array %s has no node %q, but %q", a.options.Name, name, a.Nodes())
}
