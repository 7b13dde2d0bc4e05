package array

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/test/array/control"
	"github.com/nfsbench/nfsbench/test/ontap"
)

var _ ontap.Truth = (*Array)(nil)

// askTime bounds the questions to an N-blade.
const askTime = 2 * time.Second

// highWater keeps the counters of a node from falling when one of its processes
// has ended.
type highWater struct {
	mu   sync.Mutex
	busy time.Duration
}

// Node counts the processor time of all processes of a node, user and system,
// since they started, in steps of 10 ms. Its base is the time since the start of
// the array for each of the processors that the node may use: both nodes together
// can be busy for no longer than that if they share them. See the package for what is not
// in it. The counters of an unknown node are zero.
func (a *Array) Node(name string) ontap.NodeCounters {
	n, err := a.node(name)
	if err != nil {
		return ontap.NodeCounters{}
	}
	var busy time.Duration
	for _, p := range []*process{n.rpcbind, n.ganesha, n.nblade} {
		if st, err := readStat(p.id.PID); err == nil && st.began == p.id.Began {
			busy += st.cpu
		}
	}
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	n.seen.busy = max(n.seen.busy, busy)
	base := a.options.Now().Sub(a.began) * time.Duration(len(n.cpus))
	return ontap.NodeCounters{BusyMicros: uint64(n.seen.busy.Microseconds()), BaseMicros: uint64(base.Microseconds())}
}

// LIF counts the bytes of an address with all headers, as its interface does:
// this end of the link receives what the LIF sends. One packet of the kernel may
// be 64 KiB, with its headers counted once.
func (a *Array) LIF(address string) ontap.LIFCounters {
	for _, l := range a.LIFs() {
		if l.Address == address {
			dir := filepath.Join("/sys/class/net", hostLink(a.options.Name, l.index), "statistics")
			return ontap.LIFCounters{
				SentBytes:     readCounter(filepath.Join(dir, "rx_bytes")),
				ReceivedBytes: readCounter(filepath.Join(dir, "tx_bytes")),
			}
		}
	}
	return ontap.LIFCounters{}
}

func readCounter(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// Volume counts what the N-blades saw of a volume. Latency is from the call to
// its reply at the N-blade: for a client of the wrong LIF it holds the way over
// the cluster link, and never the network of the client.
func (a *Array) Volume(name string) ontap.VolumeCounters {
	var sum ontap.VolumeCounters
	for _, c := range a.counts() {
		v := c.Volumes[name]
		add(&sum.Read, v.Read)
		add(&sum.Write, v.Write)
		add(&sum.Other, v.Other)
	}
	return sum
}

func add(to *ontap.OpCounters, c control.OpCounts) {
	to.Ops += c.Ops
	to.Bytes += c.Bytes
	to.LatencyMicros += c.Micros
}

// Clients are the addresses of clients that have called, with the calls that
// entered at the owner of the volume and those that went over the cluster link.
func (a *Array) Clients() []ontap.Client {
	var clients []ontap.Client
	for _, c := range a.counts() {
		for _, k := range c.Clients {
			clients = append(clients, ontap.Client{
				ClientIP: k.ClientIP, ServerIP: k.ServerIP, Volume: k.Volume, Protocol: k.Protocol,
				LocalRequests: k.Local, RemoteRequests: k.Remote,
			})
		}
	}
	return clients
}

// counts asks both N-blades. One that does not answer has died, which Wait tells.
func (a *Array) counts() []control.Counts {
	ctx, cancel := context.WithTimeout(context.Background(), askTime) //nolint:usetesting // not a test
	defer cancel()
	var all []control.Counts
	for _, n := range a.nodes {
		if c, err := n.blade.Counts(ctx); err == nil {
			all = append(all, c)
		}
	}
	return all
}
