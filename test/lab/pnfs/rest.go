package pnfs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/command"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// RESTOptions say how the array is told of.
type RESTOptions struct {
	// SVM is a name; default "svm1".
	SVM string
	// Grid is how often statistics move; 0 = 15 s, as with ONTAP.
	Grid time.Duration
}

// REST is the REST interface of an array while it serves.
type REST struct {
	URL     string
	CA      []byte // PEM
	SVM     string
	Volume  string
	Account ontap.Account
	Standin *ontap.Standin
}

// StartREST serves the REST interface until the end of the test, as ServeREST does.
func (a *Array) StartREST(tb testing.TB, o RESTOptions) *REST {
	tb.Helper()
	r, err := a.ServeREST(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Standin.Close)
	return r
}

// ServeREST serves the REST interface of ONTAP (package ontap) for this array over TLS until its
// Standin is closed, at an address of this machine that every pod can reach. The volume is a
// FlexVol of the node with the files, or a FlexGroup of both nodes.
func (a *Array) ServeREST(o RESTOptions) (*REST, error) {
	if o.SVM == "" {
		o.SVM = "svm1"
	}
	r := &REST{SVM: o.SVM, Volume: "pv", Account: ontap.ReadOnly("nfsbench", rand.Text())}
	r.Standin = ontap.New(ontap.Options{Truth: a.Truth(), Model: a.model(r), Grid: o.Grid})
	l, err := net.Listen("tcp", net.JoinHostPort(a.Nodes[0].Host, "0"))
	if err != nil {
		return nil, fmt.Errorf("serve the REST interface: %w", err)
	}
	if r.URL, r.CA, err = r.Standin.StartTLS(l); err != nil {
		r.Standin.Close()
		return nil, errors.Join(err, l.Close())
	}
	return r, nil
}

func (a *Array) model(r *REST) ontap.Model {
	volume := ontap.Volume{Name: r.Volume, Junction: a.Export, ExportPolicy: "default", SizeBytes: 1 << 40}
	m := ontap.Model{
		Cluster: a.Name, SVM: r.SVM, Accounts: []ontap.Account{r.Account},
		NFS: ontap.NFSService{Enabled: true, V3: true, V40: true, V41: true, PNFS: !a.plain, TransferSizeBytes: 1 << 20},
		Policies: []ontap.ExportPolicy{{Name: "default", Rules: []ontap.Rule{{
			Index: 1, Clients: []string{"0.0.0.0/0"}, Protocols: []string{"any"},
			ReadOnly: []string{"any"}, ReadWrite: []string{"any"}, SuperUser: []string{"any"},
		}}}},
	}
	for i, n := range a.Nodes {
		aggregate := "aggr_" + n.Name[len(n.Name)-1:]
		m.Nodes = append(m.Nodes, ontap.Node{Name: n.Name, Model: "network namespace"})
		m.Aggregates = append(m.Aggregates, ontap.Aggregate{Name: aggregate, Node: n.Name})
		m.LIFs = append(m.LIFs, ontap.LIF{
			Name: n.LIF, Address: n.Address, Prefix: 24, HomeNode: n.Name, Services: []string{"data_nfs"},
		})
		if i == 0 || !a.oneBrick {
			volume.Aggregates = append(volume.Aggregates, aggregate)
		}
	}
	m.Volumes = []ontap.Volume{volume}
	return m
}

// Truth counts what really happens in an array. See its methods for what is counted
// where. It begins to count processor time when it is made.
func (a *Array) Truth() ontap.Truth {
	return &truth{array: a, began: time.Now(), busy: map[string]map[process]time.Duration{}, volume: map[string]ontap.VolumeCounters{}, held: map[string]time.Time{}}
}

type truth struct {
	array *Array
	began time.Time

	mu     sync.Mutex // guards what follows
	busy   map[string]map[process]time.Duration
	volume map[string]ontap.VolumeCounters // by node: what was read last
	held   map[string]time.Time            // by node: time when its counters were written
}

// process is a pid that no other process has taken over.
type process struct{ pid, began string }

// Node counts the processor time of all processes of a node: the NFS server, the brick,
// glusterd and rpcbind, user and system, in steps of 10 ms. Its base is the time of all
// processors of this machine, which the nodes share.
func (t *truth) Node(name string) ontap.NodeCounters {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.array.Nodes {
		if n.Name != name {
			continue
		}
		if t.busy[name] == nil {
			t.busy[name] = map[process]time.Duration{}
		}
		pids, _ := command.Output("ip", "netns", "pids", n.Netns)
		for pid := range strings.FieldsSeq(string(pids)) {
			if st, err := readStat(pid); err == nil { // else it has ended
				t.busy[name][process{pid, st.began}] = st.cpu
			}
		}
		var busy time.Duration
		for cpu := range maps.Values(t.busy[name]) { // those that have ended, too: it must not fall
			busy += cpu
		}
		base := time.Since(t.began) * time.Duration(runtime.NumCPU())
		return ontap.NodeCounters{BusyMicros: uint64(busy.Microseconds()), BaseMicros: uint64(base.Microseconds())}
	}
	return ontap.NodeCounters{}
}

// LIF counts the bytes of an address with all headers, as its interface does: this end of
// the link receives what the LIF sends.
func (t *truth) LIF(address string) ontap.LIFCounters {
	for i, n := range t.array.Nodes {
		if n.Address != address {
			continue
		}
		read := func(counter string) uint64 {
			link := fmt.Sprintf("np-%s-%d", t.array.Name, i+1)
			text, _ := os.ReadFile(filepath.Join("/sys/class/net", link, "statistics", counter))
			bytes, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
			return bytes
		}
		return ontap.LIFCounters{SentBytes: read("rx_bytes"), ReceivedBytes: read("tx_bytes")}
	}
	return ontap.LIFCounters{}
}

// Volume counts the I/O that the NFS servers of both nodes requested from GlusterFS, with any
// protocol. A latency includes the cluster link, but never the client's network. GlusterFS writes
// the counters once a second: see VolumeTime.
func (t *truth) Volume(string) ontap.VolumeCounters {
	t.mu.Lock()
	defer t.mu.Unlock()
	var sum ontap.VolumeCounters
	for _, n := range t.array.Nodes {
		file := filepath.Join(t.array.Folder, n.Name, "glusterd", "stats", "ganesha.nfsd_pv.dump")
		// A file that is being written is no JSON yet, and a server that has started
		// again counts from zero: the last counters stand until these are more.
		info, statErr := os.Stat(file)
		if c, err := readDump(file); errors.Join(err, statErr) == nil && ops(c) >= ops(t.volume[n.Name]) {
			t.volume[n.Name], t.held[n.Name] = c, info.ModTime()
		}
		v := t.volume[n.Name]
		sum = ontap.VolumeCounters{Read: sum.Read.Plus(v.Read), Write: sum.Write.Plus(v.Write), Other: sum.Other.Plus(v.Other)}
	}
	return sum
}

// VolumeTime returns the middle of the times when the two nodes wrote their counters.
func (t *truth) VolumeTime(string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, b := t.held[t.array.Nodes[0].Name], t.held[t.array.Nodes[1].Name]
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	return a.Add(b.Sub(a) / 2)
}

func ops(v ontap.VolumeCounters) uint64 { return v.Read.Ops + v.Write.Ops + v.Other.Ops }

// readDump reads what GlusterFS 10 writes of a volume: two JSON objects, the first of which
// counts since the start. It calls latencies usec, and they are nanoseconds.
func readDump(file string) (ontap.VolumeCounters, error) {
	f, err := os.Open(file)
	if err != nil {
		return ontap.VolumeCounters{}, err
	}
	defer func() { _ = f.Close() }()
	var all map[string]any
	if err := json.NewDecoder(f).Decode(&all); err != nil {
		return ontap.VolumeCounters{}, fmt.Errorf("read %s: %w", file, err)
	}
	const prefix = "gluster.pv.aggr."
	number := func(name string) uint64 { n, _ := all[prefix+name].(float64); return uint64(n) }
	kind := func(fop string) ontap.OpCounters {
		n := number("fop." + fop + ".count")
		return ontap.OpCounters{Ops: n, LatencyMicros: number("fop."+fop+".latency_ave_usec") * n / 1000}
	}
	c := ontap.VolumeCounters{Read: kind("read"), Write: kind("write")}
	c.Read.Bytes, c.Write.Bytes = number("bytes_read"), number("bytes_written")
	for name := range all {
		fop, ok := strings.CutPrefix(name, prefix+"fop.")
		if fop, counts := strings.CutSuffix(fop, ".count"); ok && counts && fop != "read" && fop != "write" {
			c.Other = c.Other.Plus(kind(fop))
		}
	}
	return c, nil
}

// Clients are not told: no server of this array counts them.
func (t *truth) Clients() []ontap.Client { return nil }

// Move is not possible: where a file lies is decided when it is made.
func (t *truth) Move(context.Context, string, string) error {
	return errors.New("a volume of the pNFS array can not be moved")
}

type stat struct {
	began string        // clock ticks since the machine started
	cpu   time.Duration // user and system time of all threads, in steps of 10 ms
}

func readStat(pid string) (stat, error) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return stat{}, err
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may hold anything
	fields := strings.Fields(after)
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("process %s: what the kernel tells is too short", pid)
	}
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("process %s: %w", pid, err)
		}
		ticks += n
	}
	return stat{began: fields[19], cpu: time.Duration(ticks) * 10 * time.Millisecond}, nil
}
