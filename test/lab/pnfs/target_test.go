package pnfs

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// mount reaches the array through a node with the client that is tested.
func mount(tb testing.TB, a *Array, node int, version bench.NFSVersion) target.Target {
	tb.Helper()
	tgt, err := direct.Open(tb.Context(), direct.Options{Now: time.Now, Engine: runfile.Engine{
		Client: bench.ClientDirectNFS, NFSVersion: version, Server: a.Name, Export: a.Export,
		Channels: runfile.ChannelsTo(a.Nodes[node].Address), MountTimeoutSeconds: 60,
	}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tgt.Close() })
	return tgt
}

func TestTheClientPassesTheSuiteOfTargets(t *testing.T) {
	a := usual(t)
	for _, version := range []bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41, bench.PNFS} {
		t.Run(string(version), func(t *testing.T) {
			targettest.Run(t, func(tb testing.TB) target.Target { tb.Helper(); return mount(tb, a, 0, version) })
		})
	}
}

const (
	sweepBytes = 8 * mib
	sweepBlock = 256 << 10
)

// sweep is a Driver that writes or reads a file once, block by block. Each slot has its
// share of the blocks.
type sweep struct {
	file  target.File
	want  []byte
	write bool
	next  []int64
	buf   []byte
	slots int
	err   chan error
}

func (s *sweep) Next(o *target.IO) bool {
	off := (s.next[o.Slot]*int64(s.slots) + int64(o.Slot)) * sweepBlock
	if off >= sweepBytes {
		return false
	}
	s.next[o.Slot]++
	o.File, o.Write, o.Offset, o.Wait = s.file, s.write, off, 0
	o.Buf = s.buf[off : off+sweepBlock]
	return true
}

func (s *sweep) Done(o *target.IO) {
	err := o.Err
	if err == nil && !bytes.Equal(o.Buf, s.want[o.Offset:o.Offset+sweepBlock]) {
		err = fmt.Errorf("offset %d holds other bytes than were written", o.Offset)
	}
	if err != nil {
		select {
		case s.err <- err:
		default:
		}
	}
}

// through writes or reads all of a file with a stream.
func through(t *testing.T, tgt target.Target, file target.File, want []byte, write bool) {
	t.Helper()
	const slots = 8
	arena, err := target.NewArena(1, sweepBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arena.Release() }()
	s := &sweep{file: file, want: want, write: write, next: make([]int64, slots), slots: slots, buf: arena.Buffer(0), err: make(chan error, 1)}
	if write {
		copy(s.buf, want)
	}
	options := target.StreamOptions{Slots: slots, BlockBytes: sweepBlock, Streams: 1}
	stream, err := tgt.NewStream(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	stream.Run(t.Context(), s)
	select {
	case err := <-s.err:
		t.Fatalf("write %v: %v", write, err)
	default:
	}
}

// The first node is mounted, and the file lies on either: with layouts the bytes cross the link
// of the node that has the file, and without, those of a file of the other node cross the
// link that was mounted and the cluster link.
func TestTheClientsBytesTakeTheLinkOfTheNodeThatHasTheFile(t *testing.T) {
	a := usual(t)
	for _, version := range []bench.NFSVersion{bench.PNFS, bench.NFSv41} {
		t.Run(string(version), func(t *testing.T) {
			tgt := mount(t, a, 0, version)
			name := "bytes-" + string(version)
			dir, err := tgt.Directory(t.Context(), name, true)
			if err != nil {
				t.Fatal(err)
			}
			for owner, f := range targetsOnEach(t, a, name, dir) {
				carrier, indirect := owner, false
				if version == bench.NFSv41 {
					carrier, indirect = 0, owner != 0
				}
				want := bytes.Repeat([]byte{byte(owner + 1), 7, byte(len(version))}, sweepBytes/3+1)[:sweepBytes]
				before := count(t, a)
				through(t, tgt, f, want, true)
				wrote := count(t, a).since(before)
				crosses(t, "written", owner, carrier, wrote.in, wrote.cluster, indirect)
				before = count(t, a)
				through(t, tgt, f, want, false)
				read := count(t, a).since(before)
				crosses(t, "read", owner, carrier, read.out, read.cluster, indirect)
			}
			checkPlaces(t, a, tgt, version)
		})
	}
}

// crosses fails unless the link of the carrier, and no other, moved all bytes of a file.
func crosses(t *testing.T, what string, owner, carrier int, links, cluster [2]int64, indirect bool) {
	t.Helper()
	between := cluster[0] + cluster[1]
	if links[carrier] < sweepBytes || links[1-carrier] > mib || (between >= sweepBytes) != indirect {
		t.Errorf("%d bytes were %s of a file of node %d: the links moved %v, the cluster link %d", sweepBytes, what, owner, links, between)
	}
}

// checkPlaces looks at what the client says of the servers, after both files were written and
// read.
func checkPlaces(t *testing.T, a *Array, tgt target.Target, version bench.NFSVersion) {
	t.Helper()
	servers := tgt.Servers()
	for _, s := range servers {
		t.Logf("%+v", s)
	}
	if mds := servers[0]; version == bench.NFSv41 {
		if len(servers) != 1 || mds.LayoutType != "" || mds.LayoutsGranted != 0 {
			t.Errorf("servers %+v, want one and no layouts", servers)
		}
		return
	}
	mds := servers[0]
	if mds.LayoutType != runfile.LayoutTypeFiles || mds.LayoutsGranted < 2 || mds.LayoutFallbacks != 0 {
		t.Errorf("metadata server %+v, want files layouts and no fallbacks", mds)
	}
	carried := map[string]bool{}
	for _, c := range tgt.Channels() {
		if c.Role == bench.PathDataServer {
			carried[c.Path] = c.BytesRead == sweepBytes && c.BytesWritten == sweepBytes
		}
	}
	if !carried[a.Nodes[0].Address] || !carried[a.Nodes[1].Address] {
		t.Errorf("channels %+v, want that each data server carried one file", tgt.Channels())
	}
}

// targetsOnEach makes files until each node has one, and opens these for stable writes.
func targetsOnEach(t *testing.T, a *Array, folder string, dir target.Directory) [2]target.File {
	t.Helper()
	var found [2]target.File
	for i := 0; found[0] == nil || found[1] == nil; i++ {
		if i == 1000 {
			t.Fatalf("all of %d files are on one node: look at cluster.min-free-disk and the free space of both bricks", i)
		}
		name := fmt.Sprintf("f%d", i)
		f, err := dir.Open(t.Context(), name, target.OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		t.Cleanup(func() { _ = dir.Remove(context.WithoutCancel(t.Context()), name) })
		owner := a.Owner(t, folder+"/"+name)
		if found[owner] != nil {
			continue
		}
		if found[owner], err = dir.Open(t.Context(), name, target.OpenOptions{Stable: true}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = found[owner].Close() })
	}
	return found
}
