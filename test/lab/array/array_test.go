package array

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

const (
	blockBytes = 8192
	fileBlocks = 256
)

// counters is everything that the array counts at one time.
type counters struct {
	nodes  [2]ontap.NodeCounters
	lifs   [2]ontap.LIFCounters
	volume ontap.VolumeCounters
	link   uint64 // bytes that node a sent over the cluster link
}

func countersOf(t *testing.T, a *Array) counters {
	t.Helper()
	var c counters
	for i, n := range a.Nodes() {
		c.nodes[i] = a.Node(n)
		c.lifs[i] = a.LIF(a.LIFs()[i].Address)
	}
	c.volume = a.Volume("data")
	out, err := exec.CommandContext(t.Context(), "ip", "-n", a.nodes[0].netns, "-j", "-s", "link", "show", "clu0").Output()
	var links []struct {
		Stats64 struct{ TX struct{ Bytes uint64 } }
	}
	if err == nil {
		err = json.Unmarshal(out, &links)
	}
	if err != nil || len(links) != 1 {
		t.Fatalf("read the counters of the cluster link: %v in %s", err, out)
	}
	c.link = links[0].Stats64.TX.Bytes
	return c
}

// readAll reads the blocks of a file over and over from 8 goroutines.
func readAll(t *testing.T, f *nfs.File, times int) {
	t.Helper()
	readBlocks(t, times, func(_ int, p []byte, off int64) error {
		_, err := f.ReadAt(t.Context(), p, off)
		return err
	})
}

// readBlocks reads the blocks of a file over and over from 8 goroutines, each of which
// tells its number.
func readBlocks(t *testing.T, times int, read func(g int, p []byte, off int64) error) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			p := make([]byte, blockBytes)
			for i := range times {
				off := int64((i*8+g)%fileBlocks) * blockBytes
				if err := read(g, p, off); err != nil {
					t.Errorf("read at %d: %v", off, err)
					return
				}
				if _, ok := check(p, off); !ok {
					t.Errorf("the block at %d is wrong", off)
					return
				}
			}
		})
	}
	wg.Wait()
}

func writeAll(t *testing.T, f *nfs.File) {
	t.Helper()
	p := make([]byte, blockBytes)
	for i := range fileBlocks {
		off := int64(i) * blockBytes
		block(p, off, 1)
		if _, err := f.WriteAt(t.Context(), p, off, nfs.Unstable); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheWrongPathGoesThroughBothNodes reads the same over either LIF; everything is counted
// where it happens.
func TestTheWrongPathGoesThroughBothNodes(t *testing.T) {
	a := usual(t)
	local := create(t, client(t, a, 0), "file")
	writeAll(t, local)
	remote := client(t, a, 1).OpenFile(local.Handle())
	theWrongPathGoesThroughBothNodes(t, a, func(path, times int) {
		readAll(t, []*nfs.File{local, remote}[path], times)
	})
}

// theWrongPathGoesThroughBothNodes compares what is counted of reads over either LIF, and records
// what they cost; it reads as many blocks as times from 8 goroutines.
func theWrongPathGoesThroughBothNodes(t *testing.T, a *Array, read func(path, times int)) {
	t.Helper()
	const times = 1000
	const ops, bytes = 8 * times, 8 * times * blockBytes

	var busy [2][2]time.Duration // by path and node
	for path := range 2 {
		before := countersOf(t, a)
		read(path, times)
		after := countersOf(t, a)
		if got := after.volume.Read.Ops - before.volume.Read.Ops; got != ops {
			t.Errorf("path %d: the volume counted %d reads, not %d", path, got, ops)
		}
		if got := after.volume.Read.Bytes - before.volume.Read.Bytes; got != bytes {
			t.Errorf("path %d: the volume counted %d bytes read, not %d", path, got, bytes)
		}
		if after.volume.Read.LatencyMicros == before.volume.Read.LatencyMicros {
			t.Errorf("path %d: the reads took no time", path)
		}
		if over := after.link - before.link; path == 0 && over > bytes/100 || path == 1 && (over < bytes || over > bytes+bytes/10) {
			t.Errorf("path %d: %d bytes of %d read went over the cluster link", path, over, bytes)
		}
		for lif := range 2 {
			sent := after.lifs[lif].SentBytes - before.lifs[lif].SentBytes
			if own := lif == path; own && (sent < bytes || sent > bytes+bytes/10) || !own && sent > bytes/100 {
				t.Errorf("path %d: LIF %d sent %d bytes of %d read", path, lif, sent, bytes)
			}
		}
		for n := range 2 {
			busy[path][n] = time.Duration(after.nodes[n].BusyMicros-before.nodes[n].BusyMicros) * time.Microsecond
			if base := after.nodes[n].BaseMicros - before.nodes[n].BaseMicros; base == 0 {
				t.Errorf("path %d: node %d has no base", path, n)
			}
		}
	}
	micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / ops }
	const each = "µs of CPU for a read of 8 KiB"
	measure.Record(t, "node a, right path", each, micros(busy[0][0]))
	measure.Expect(t, "node b, right path", each, measure.AtMost(micros(busy[0][0])/5), micros(busy[0][1]))
	measure.Record(t, "node a, wrong path", each, micros(busy[1][0]))
	measure.Expect(t, "node b, wrong path", each, measure.AtLeast(max(micros(busy[1][0])/5, 5*micros(busy[0][1]))), micros(busy[1][1]))
}

func TestWritesAndOtherOperationsAreCountedByClient(t *testing.T) {
	a := usual(t)
	before, clients := a.Volume("data"), clientsOf(a, "nfs3")
	writeAll(t, create(t, client(t, a, 0), "one"))
	writeAll(t, create(t, client(t, a, 1), "two"))
	v := a.Volume("data")
	if v.Write.Ops-before.Write.Ops != 2*fileBlocks || v.Write.Bytes-before.Write.Bytes != 2*fileBlocks*blockBytes {
		t.Errorf("writes: %+v, then %+v", before.Write, v.Write)
	}
	if v.Write.LatencyMicros == before.Write.LatencyMicros {
		t.Error("the writes took no time")
	}
	if v.Read != before.Read || v.Other.Ops == before.Other.Ops || v.Other.Bytes != 0 {
		t.Errorf("reads %+v, others %+v; then %+v, %+v", before.Read, before.Other, v.Read, v.Other)
	}
	for i, l := range a.LIFs() {
		was, is := clients[l.Address], clientsOf(a, "nfs3")[l.Address]
		if is.ClientIP != l.Host || is.Protocol != "nfs3" {
			t.Errorf("the client of LIF %s is %+v", l.Address, is)
		}
		local, remote := is.LocalRequests-was.LocalRequests, is.RemoteRequests-was.RemoteRequests
		if i == 1 {
			local, remote = remote, local
		}
		if local < fileBlocks || remote != 0 {
			t.Errorf("LIF %d: %d calls on the way that is its own, %d on the other", i, local, remote)
		}
	}
}

// clientsOf returns the client of each LIF that uses the volume data with a protocol. Other
// tests leave clients of other volumes and protocols, and move LIFs: both nodes then have
// counted one.
func clientsOf(a *Array, protocol string) map[string]ontap.Client {
	clients := map[string]ontap.Client{}
	for _, c := range a.Clients() {
		if c.Volume != "data" || c.Protocol != protocol {
			continue
		}
		before := clients[c.ServerIP]
		c.LocalRequests += before.LocalRequests
		c.RemoteRequests += before.RemoteRequests
		clients[c.ServerIP] = c
	}
	return clients
}

// TestMeasureDetour compares the quickest of many reads, because the machine is busy at
// times and then every way is long.
func TestMeasureDetour(t *testing.T) {
	a := usual(t)
	local := create(t, client(t, a, 0), "file")
	writeAll(t, local)
	remote := client(t, a, 1).OpenFile(local.Handle())
	p := make([]byte, blockBytes)
	var right, wrong []float64 // microseconds, by round
	for range 3 {
		quickest := map[*nfs.File]time.Duration{local: time.Hour, remote: time.Hour}
		for range 15 { // in turns
			for _, f := range []*nfs.File{local, remote} {
				for i := range 50 {
					began := time.Now()
					if _, err := f.ReadAt(t.Context(), p, int64(i)*blockBytes); err != nil {
						t.Fatal(err)
					}
					quickest[f] = min(quickest[f], time.Since(began))
				}
			}
		}
		right = append(right, float64(quickest[local].Microseconds()))
		wrong = append(wrong, float64(quickest[remote].Microseconds()))
	}
	measure.Record(t, "the quickest read, right path", "µs", right...)
	measure.Record(t, "the quickest read, wrong path", "µs", wrong...)
	measure.Ratio(t, "the quickest read, wrong path", "the right path", measure.AtLeast(1), wrong, right)
}

func TestSeveralVolumesHaveOwnersOfTheirOwn(t *testing.T) {
	a := begin(t, Options{Volumes: []Volume{
		{Name: "one", Junction: "/one", Node: "arrown-a"},
		{Name: "two", Junction: "/vol/two", Node: "arrown-b"},
	}})
	if err := a.CreateVolume(t.Context(), Volume{Name: "three", Junction: "/three", Node: "arrown-b"}); err != nil {
		t.Fatal(err)
	}
	lif := a.LIFs()[0].Address
	for i, v := range a.Volumes() {
		f := create(t, mounted(t, a, lif, v.Junction), v.Name)
		block0 := make([]byte, blockBytes)
		block(block0, 0, uint64(i))
		before := a.Volume(v.Name)
		if _, err := f.WriteAt(t.Context(), block0, 0, nfs.FileSync); err != nil {
			t.Fatal(err)
		}
		if n := a.Volume(v.Name).Write.Ops - before.Write.Ops; n != 1 {
			t.Errorf("volume %s counted %d writes", v.Name, n)
		}
		text, err := os.ReadFile(filepath.Join(v.Folder, v.Name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(block0, text); diff != "" {
			t.Errorf("volume %s holds something else", v.Name)
		}
		for _, c := range a.Clients() {
			if local := v.Node == "arrown-a"; c.Volume == v.Name && c.ServerIP == lif && (c.RemoteRequests > 3) == local {
				t.Errorf("volume %s of %s: %+v", v.Name, v.Node, c)
			}
		}
	}
	if err := a.CreateVolume(t.Context(), Volume{Name: "four", Junction: "/three", Node: "arrown-a"}); err == nil {
		t.Error("two volumes at one junction")
	}
}

func TestVolumesAreProvisionedByAggregateAndDeleted(t *testing.T) {
	a := usual(t)
	r, err := a.StartREST(RESTOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stopREST)
	p := Provisioner{a}
	if _, _, err := p.CreateVolume(t.Context(), "pvc_1", 1<<30, "aggr_c", "default"); err == nil || !strings.Contains(err.Error(), "aggr_c") {
		t.Errorf("an aggregate that does not exist: %v", err)
	}
	for range 2 { // the second time it is there
		junction, lif, err := p.CreateVolume(t.Context(), "pvc_1", 1<<30, "aggr_b", "empty")
		if err != nil || junction != "/pvc_1" || lif != a.LIFs()[0].Address {
			t.Fatalf("%s:%s, %v", lif, junction, err)
		}
	}
	v := a.Volumes()[1]
	writeAll(t, create(t, mounted(t, a, a.LIFs()[0].Address, v.Junction), "file"))
	told, policies := r.Standin.Model().Volumes, r.Standin.Model().Policies
	if len(told) != 2 || told[1].Aggregates[0] != "aggr_b" || told[1].SizeBytes != 1<<30 || told[1].Junction != v.Junction ||
		told[1].ExportPolicy != "empty" || len(policies) != 2 || policies[1].Name != "empty" || len(policies[1].Rules) != 0 {
		t.Errorf("the REST interface tells %+v, %+v", told, policies)
	}
	for range 2 { // the second time it is gone
		if err := p.DeleteVolume(t.Context(), "pvc_1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(v.Folder); err == nil || len(a.Volumes()) != 1 || len(r.Standin.Model().Volumes) != 1 {
		t.Error("something of the volume is left")
	}
	gone := until(t.Context(), func() error {
		if a.mount(t.Context(), a.LIFs()[0], v) == nil {
			return errors.New("it can still be mounted")
		}
		return nil
	})
	if gone != nil {
		t.Error(gone)
	}
	if err := p.DeleteVolume(t.Context(), "data"); err == nil {
		t.Error("the first volume was deleted")
	}
}

// TestWhatAKilledArrayLeftIsRemoved kills one as a power cut would.
func TestWhatAKilledArrayLeftIsRemoved(t *testing.T) {
	needArray(t)
	program := filepath.Join(t.TempDir(), "standin")
	if out, err := exec.Command("go", "build", "-o", program, "./standin").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = Down(t.Context(), "arrown") })
	up := exec.Command(program, "run", "--name", "arrown", "--subnets", "10.248.3.0/24,10.248.4.0/24")
	up.Stderr = os.Stderr
	printed, err := up.StdoutPipe()
	if err == nil {
		err = up.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		LIFs []LIF
		REST struct{ URL string }
	}
	if err := json.NewDecoder(printed).Decode(&out); err != nil || out.LIFs[0].Address != "10.248.3.2" || !strings.HasPrefix(out.REST.URL, "https://10.248.3.1:") {
		t.Fatalf("run: %v\n%+v", err, out)
	}
	s, err := readState("arrown")
	if err != nil || len(s.Processes) != 7 {
		t.Fatalf("state %+v, %v", s, err)
	}
	if _, err := Start(t.Context(), Options{Name: "arrown"}); err == nil || !strings.Contains(err.Error(), fmt.Sprint(s.Owner.PID)) {
		t.Errorf("a second one of that name: %v", err)
	}
	if err := s.Owner.end(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	_ = up.Wait() // it was killed
	down := func() {
		if out, err := exec.CommandContext(t.Context(), program, "down", "--name", "arrown").CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	}
	down()
	if slices.ContainsFunc(s.Processes, identity.alive) {
		t.Errorf("some of %+v are alive", s.Processes)
	}
	if err := left("arrown"); err != nil {
		t.Error(err)
	}
	down() // of nothing
}
