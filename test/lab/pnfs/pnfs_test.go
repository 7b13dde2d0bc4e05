package pnfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/test/lab/command"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// shared is one array for all tests that need nothing special of it.
var shared struct {
	array *Array
	err   error
	once  sync.Once
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.array != nil {
		if err := errors.Join(Down(""), left(shared.array)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func usual(t *testing.T) *Array {
	t.Helper()
	Need(t)
	shared.once.Do(func() { shared.array, shared.err = Up(Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.array
}

// left says what is left of an array.
func left(a *Array) error {
	var errs []error
	links, err := command.Output("ip", "-o", "link", "show", "type", "veth")
	if errs = append(errs, err); bytes.Contains(links, []byte(" np-"+a.Name+"-")) {
		errs = append(errs, fmt.Errorf("links are left: %s", links))
	}
	files := []string{a.Folder}
	for _, n := range a.Nodes {
		files = append(files, "/run/netns/"+n.Netns)
	}
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			errs = append(errs, fmt.Errorf("%s is left", f))
		}
	}
	// The folder of the array is in the command line of all its processes but
	// rpcbind and glusterd, and in all its mounts.
	processes, err := os.ReadDir("/proc")
	errs = append(errs, err)
	for _, p := range processes {
		for _, f := range []string{"cmdline", "mountinfo"} {
			text, err := os.ReadFile("/proc/" + p.Name() + "/" + f)
			if err == nil && p.Name() != "self" && bytes.Contains(text, []byte("nfsbench/pnfs/"+a.Name+"/")) {
				errs = append(errs, fmt.Errorf("process %s is left: its %s names the array", p.Name(), f))
			}
		}
	}
	return errors.Join(errs...)
}

// one is an array for the time of one test.
func one() Options {
	return Options{Name: "pnfsone", Subnets: []string{"10.240.5.0/24", "10.240.6.0/24"}}
}

func TestAnArrayStartsAgainAfterACrashAndLeavesNothing(t *testing.T) {
	o := one()
	o.Plain = true
	first := Start(t, o)
	for i, n := range first.Nodes {
		s := connect(t, n.Address, 0)
		if types := s.layoutTypes(t); len(types) != 0 {
			t.Errorf("node %d of an array without layouts offers the layout types %v", i, types)
		}
	}
	// What a machine that crashed leaves behind depends on when it did; here, the
	// knowledge of everything is lost, and one node is half gone.
	first.Nodes[0].Crash(t)
	if err := os.RemoveAll(first.Folder); err != nil {
		t.Fatal(err)
	}
	o = one()
	o.GraceSeconds = 7
	second, err := Up(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range second.Nodes {
		s := connect(t, n.Address, 0)
		if types := s.layoutTypes(t); !slices.Equal(types, []uint32{v4.LayoutFiles}) {
			t.Errorf("node %d offers the layout types %v", i, types)
		}
	}
	stateSurvivesARestart(t, second.Nodes[1], o.GraceSeconds)
	if err := errors.Join(Down(one().Name), left(second), Down(one().Name)); err != nil {
		t.Error(err)
	}
}

// stateSurvivesARestart opens a file, and opens it again when the server has been killed
// and is in its grace period.
func stateSurvivesARestart(t *testing.T, n *Node, grace int) {
	t.Helper()
	s := connect(t, n.Address, v4.ExchangeUsePNFSMDS)
	lease := v4.GetAttr{Request: v4.Bits(v4.AttrLeaseTime)}
	if s.do(t, root(&lease)...); int(lease.Attrs.LeaseSeconds) != grace {
		t.Errorf("the lease is %d s, want %d", lease.Attrs.LeaseSeconds, grace)
	}
	f := s.create(t, "reclaimed")
	n.Crash(t)
	n.Revive(t)
	conn := dial(t, n.Address)
	if err := compound(t, conn, 1, &v4.Sequence{Session: s.id, Seq: s.seq + 1}); !errors.Is(err, v4.ErrBadSession) {
		t.Errorf("a session from before the restart: %v", err)
	}
	again := open(t, conn, v4.ExchangeUsePNFSMDS)
	reclaim := v4.Open{
		Access: v4.ShareBoth | v4.WantNoDeleg, ClientID: again.owner.ClientID, Owner: []byte("1"), Claim: v4.ClaimPrevious,
	}
	again.do(t, &v4.PutFH{Handle: f.handle}, &reclaim)
	again.do(t, &v4.ReclaimComplete{})
	w := nfs4wire.Write{StateID: reclaim.StateID, Stable: v4.FileSync, Data: []byte("kept")}
	again.do(t, &v4.PutFH{Handle: f.handle}, &w)
}

func TestASubnetThatIsInUseIsRefused(t *testing.T) {
	a := usual(t)
	o := one()
	o.Subnets[0] = strings.TrimSuffix(a.Nodes[0].Address, "2") + "0/24"
	t.Cleanup(func() {
		if err := Down(o.Name); err != nil {
			t.Error(err)
		}
	})
	if _, err := Up(o); err == nil || !strings.Contains(err.Error(), "is in use on this machine") {
		t.Errorf("Up with the subnet of another array: %v", err)
	}
}

func TestBothNodesSpeakEveryVersionAndAreTwoServers(t *testing.T) {
	a := usual(t)
	var owners []v4.ExchangeID
	for _, n := range a.Nodes {
		conn := dial(t, n.Address)
		call(t, conn, 3, 0, nil)
		for minor := range uint32(3) {
			var fh v4.GetFH
			if err := compound(t, conn, minor, &v4.PutRootFH{}, &v4.Lookup{Name: "pv"}, &fh); minor == 0 && (err != nil || len(fh.Handle) == 0) {
				t.Errorf("node %s, NFSv4.0: handle %x, %v", n.Name, fh.Handle, err)
			} else if minor != 0 && !errors.Is(err, v4.ErrOpNotInSession) {
				t.Errorf("node %s, NFSv4.%d without a session: %v", n.Name, minor, err)
			}
		}
		x := exchange(t, conn, v4.ExchangeUsePNFSMDS)
		if x.Granted&v4.ExchangeUsePNFSMDS == 0 {
			t.Errorf("node %s grants the roles %#x", n.Name, x.Granted)
		}
		owners = append(owners, x)
	}
	if bytes.Equal(owners[0].ServerMajor, owners[1].ServerMajor) {
		t.Errorf("both nodes are the server %q", owners[0].ServerMajor)
	}
}

func TestOneServerOfTheLabHasOneOwnerOverTwoAddresses(t *testing.T) {
	Need(t)
	array := ganesha.Start(t, "pnfslab", []string{"10.240.7.0/24", "10.240.8.0/24"})
	var owners []v4.ExchangeID
	for _, lif := range array.LIFs {
		conn := dial(t, lif)
		var fh v4.GetFH
		if err := compound(t, conn, 0, &v4.PutRootFH{}, &v4.Lookup{Name: "export"}, &v4.Lookup{Name: "data"}, &fh); err != nil {
			t.Errorf("NFSv4.0 over %s: %v", lif, err)
		}
		owners = append(owners, exchange(t, conn, v4.ExchangeUseNonPNFS))
	}
	if x, y := owners[0], owners[1]; !bytes.Equal(x.ServerMajor, y.ServerMajor) || x.ServerMinor != y.ServerMinor ||
		!bytes.Equal(x.ServerScope, y.ServerScope) || len(x.ServerMajor) == 0 {
		t.Errorf("the server is %q %d %q over one address and %q %d %q over the other",
			x.ServerMajor, x.ServerMinor, x.ServerScope, y.ServerMajor, y.ServerMinor, y.ServerScope)
	}
}

const mib = 1 << 20

// createOnEach creates files through node 0 until each node has one.
func createOnEach(t *testing.T, a *Array, s *session) [2]file {
	t.Helper()
	var found [2]file
	for i := range 64 {
		f := s.create(t, fmt.Sprintf("%s-%d", t.Name(), i))
		if found[a.Owner(t, f.name)] = f; found[0].name != "" && found[1].name != "" {
			return found
		}
	}
	t.Fatal("64 files lie on one node")
	return found
}

// counters are those of both nodes.
type counters struct{ in, out, cluster [2]int64 }

func count(t *testing.T, a *Array) (c counters) {
	t.Helper()
	for i, n := range a.Nodes {
		c.in[i], c.out[i], c.cluster[i] = n.BytesIn(t), n.BytesOut(t), n.ClusterBytesOut(t)
	}
	return c
}

func (c counters) since(o counters) counters {
	for i := range c.in {
		c.in[i], c.out[i], c.cluster[i] = c.in[i]-o.in[i], c.out[i]-o.out[i], c.cluster[i]-o.cluster[i]
	}
	return c
}

func TestDataServersTakeAndGiveTheBytesOfTheirFiles(t *testing.T) {
	a := usual(t)
	mds := connect(t, a.Nodes[0].Address, v4.ExchangeUsePNFSMDS)
	for owner, f := range createOnEach(t, a, mds) {
		l := mds.layout(t, f)
		if want := (v4.Address{NetID: "tcp", Universal: a.Nodes[owner].Address + ".8.1"}); l.address != want || !l.dense || l.unit != mib {
			t.Fatalf("the file of node %d has the layout %+v, want the data server %v", owner, l, want)
		}
		ds := connect(t, a.Nodes[owner].Address, v4.ExchangeUsePNFSDS)
		before := count(t, a)
		content := bytes.Repeat([]byte(f.name), mib/len(f.name)+1)[:mib]
		const blocks = 8
		for i := range uint64(blocks) {
			w := nfs4wire.Write{StateID: f.state, Offset: i * mib, Stable: v4.Unstable, Data: content}
			ds.do(t, &v4.PutFH{Handle: l.handle}, &w)
			if w.Count != mib {
				t.Fatalf("WRITE of %d bytes at a data server took %d", mib, w.Count)
			}
		}
		ds.do(t, &v4.PutFH{Handle: l.handle}, &v4.Commit{})
		written := count(t, a).since(before)
		if written.in[owner] < blocks*mib || written.in[1-owner] > mib || written.cluster[0]+written.cluster[1] > mib {
			t.Errorf("%d bytes were written at node %d, and the links say %+v", blocks*mib, owner, written)
		}
		mds.do(t, &v4.PutFH{Handle: f.handle},
			&v4.LayoutCommit{Length: v4.ToEnd, StateID: l.state, HasLastWrite: true, LastWrite: blocks*mib - 1, Type: v4.LayoutFiles})

		before = count(t, a)
		state := f.state
		state.Seq = 0
		for i := range uint64(blocks) {
			r := nfs4wire.Read{StateID: state, Offset: i * mib, Count: mib}
			if ds.do(t, &v4.PutFH{Handle: l.handle}, &r); !bytes.Equal(r.Data, content) {
				t.Fatalf("READ at a data server returned %d bytes that are not what was written", len(r.Data))
			}
		}
		read := count(t, a).since(before)
		if read.out[owner] < blocks*mib || read.out[1-owner] > mib || read.cluster[0]+read.cluster[1] > mib {
			t.Errorf("%d bytes were read at node %d, and the links say %+v", blocks*mib, owner, read)
		}

		// The server that was mounted has them as well, and the size. What lies on the other
		// node takes the way over the cluster link.
		before = count(t, a)
		size := v4.GetAttr{Request: v4.Bits(v4.AttrSize)}
		r := nfs4wire.Read{StateID: f.state, Offset: (blocks - 1) * mib, Count: mib}
		mds.do(t, &v4.PutFH{Handle: f.handle}, &size, &r)
		if size.Attrs.Size != blocks*mib || !bytes.Equal(r.Data, content) {
			t.Errorf("the metadata server says %d bytes, and READ returned %d bytes", size.Attrs.Size, len(r.Data))
		}
		indirect := count(t, a).since(before)
		if over := indirect.cluster[1] >= mib; over != (owner == 1) || indirect.out[0] < mib {
			t.Errorf("a file of node %d was read through node 0, and the links say %+v", owner, indirect)
		}
		mds.do(t, &v4.PutFH{Handle: f.handle}, &v4.Close{StateID: f.state})
	}
	for _, n := range a.Nodes {
		if n.CPU(t) == 0 {
			t.Errorf("node %s has used no processor time", n.Name)
		}
	}
}

func TestANodeComesBackAndItsLinkCanBeShaped(t *testing.T) {
	a := Start(t, one()) // the bricks of another node need a while to find this one again
	n := a.Nodes[1]
	n.Shape(t, 50_000_000)
	for _, c := range [][]string{{"dev", "np-" + a.Name + "-2"}, {"-n", n.Netns, "dev", n.LIF}} {
		args := append(slices.Clone(c[:len(c)-2]), "qdisc", "show")
		out, err := command.Output("tc", append(args, c[len(c)-2:]...)...)
		if err != nil || !strings.Contains(string(out), "rate 50Mbit") {
			t.Errorf("%v is not shaped: %v: %s", c, err, out)
		}
	}
	n.Shape(t, 0)
	n.Crash(t)
	n.Revive(t)
	n.Kill(t)
	n.Start(t)
	call(t, dial(t, n.Address), v4.Version, v4.ProcNull, nil)
	n.Cut(t)
	n.Heal(t)
	call(t, dial(t, n.Address), v4.Version, v4.ProcNull, nil)
}
