package array

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/nfs"
)

func TestFileHandlesMeanTheSameOnBothNodes(t *testing.T) {
	a := usual(t)
	before := client(t, a, 0)
	f := create(t, before, "file")
	writeAll(t, f)
	asked := a.nodes[1].ganesha.cpu()
	move(t, a, "arrtest-b")
	readAll(t, f, 2000)
	if now := a.nodes[1].ganesha.cpu(); now == asked {
		t.Error("the NFS-Ganesha of the new owner did nothing")
	}
	after := client(t, a, 0)
	if string(before.Root()) != string(after.Root()) {
		t.Errorf("the root is %x on a and %x on b", before.Root(), after.Root())
	}
	h, err := after.Lookup(t.Context(), after.Root(), "file")
	if err != nil || string(h) != string(f.Handle()) {
		t.Errorf("the file is %x on a and %x on b (%v)", f.Handle(), h, err)
	}
}

// TestWhatWasWrittenUnstableCountsAsLostAfterAMove: the new owner confirms with another verifier.
func TestWhatWasWrittenUnstableCountsAsLostAfterAMove(t *testing.T) {
	a := usual(t)
	f := create(t, client(t, a, 0), "unstable")
	content := make([]byte, 4*blockBytes)
	block(content, 0, 7)
	if _, err := f.WriteAt(t.Context(), content, 0, nfs.Unstable); err != nil {
		t.Fatal(err)
	}
	move(t, a, "arrtest-b")
	lost, err := f.Commit(t.Context())
	if err != nil || !slices.Equal(lost, []nfs.Span{{From: 0, To: int64(len(content))}}) {
		t.Errorf("Commit = %v, %v: both nodes have one verifier?", lost, err)
	}
}

// TestAMoveUnderLoadLosesNothing writes and reads over both LIFs while the volume
// goes to and fro. Every block that is read must be one that was written, no
// older than what its writer knows to be written; in the end the folder itself
// must hold the last of each.
func TestAMoveUnderLoadLosesNothing(t *testing.T) {
	a := usual(t)
	clients := []*nfs.Client{client(t, a, 0), client(t, a, 1)}
	const writers, blocks = 4, 64
	var written [writers][blocks]atomic.Uint64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	files := make([]*nfs.File, writers)
	var g errgroup.Group
	var writes, reads atomic.Int64
	for w := range files {
		files[w] = create(t, clients[w%2], "w"+string(rune('0'+w)))
		writeBlocks(t, files[w], blocks, &written[w])
		// Who reads came the other way.
		other := clients[1-w%2].OpenFile(files[w].Handle())
		g.Go(func() error { return keepWriting(ctx, files[w], &written[w], &writes) })
		g.Go(func() error { return keepReading(ctx, t, other, &written[w], &reads) })
	}
	for n := range 8 {
		read, wrote := reads.Load(), writes.Load()
		move(t, a, a.other(a.Volumes()[0].Node))
		err := until(ctx, func() error { return errors.Join(moreThan(&reads, read+50), moreThan(&writes, wrote+50)) })
		if err != nil {
			t.Fatalf("after move %d: %v", n+1, err)
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	for _, c := range clients {
		for _, ch := range c.Channels() {
			if ch.Reconnects != 0 || ch.Retransmits != 0 || ch.LastError != "" {
				t.Errorf("the client did not keep its connection: %+v", ch)
			}
		}
	}
	for w := range files {
		compareFolder(t, filepath.Join(a.Volumes()[0].Folder, "w"+string(rune('0'+w))), &written[w])
	}
}

// writeBlocks writes the first generation.
func writeBlocks(t *testing.T, f *nfs.File, n int, written *[64]atomic.Uint64) {
	t.Helper()
	p := make([]byte, blockBytes)
	for i := range n {
		block(p, int64(i)*blockBytes, 1)
		if _, err := f.WriteAt(t.Context(), p, int64(i)*blockBytes, nfs.FileSync); err != nil {
			t.Fatal(err)
		}
		written[i].Store(1)
	}
}

func keepWriting(ctx context.Context, f *nfs.File, written *[64]atomic.Uint64, n *atomic.Int64) error {
	p := make([]byte, blockBytes)
	for generation := uint64(2); ctx.Err() == nil; generation++ {
		for i := range written {
			block(p, int64(i)*blockBytes, generation)
			// Not the context of the test: what was begun shall end.
			if _, err := f.WriteAt(context.WithoutCancel(ctx), p, int64(i)*blockBytes, nfs.FileSync); err != nil {
				return err
			}
			written[i].Store(generation)
			n.Add(1)
		}
	}
	return nil
}

func keepReading(ctx context.Context, t *testing.T, f *nfs.File, written *[64]atomic.Uint64, n *atomic.Int64) error {
	t.Helper()
	p := make([]byte, blockBytes)
	for ctx.Err() == nil {
		for i := range written {
			off, atLeast := int64(i)*blockBytes, written[i].Load()
			if _, err := f.ReadAt(context.WithoutCancel(ctx), p, off); err != nil {
				return err
			}
			generation, ok := check(p, off)
			// A block of one page may be seen half written, an older one never.
			if ok && generation < atLeast {
				t.Errorf("block %d is of generation %d after %d was written", i, generation, atLeast)
			}
			n.Add(1)
		}
	}
	return nil
}

func compareFolder(t *testing.T, file string, written *[64]atomic.Uint64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range written {
		off := i * blockBytes
		if generation, ok := check(text[off:off+blockBytes], int64(off)); !ok || generation != written[i].Load() {
			t.Errorf("%s: block %d is of generation %d (whole: %v), the last write of %d", file, i, generation, ok, written[i].Load())
		}
	}
}

func moreThan(n *atomic.Int64, want int64) error {
	if got := n.Load(); got < want {
		return fmt.Errorf("%d of %d", got, want)
	}
	return nil
}

// TestAMoveThatCanNotDrainFailsAndChangesNothing freezes the owner.
func TestAMoveThatCanNotDrainFailsAndChangesNothing(t *testing.T) {
	a := begin(t, Options{DrainLimit: 300 * time.Millisecond})
	f := create(t, client(t, a, 1), "file")
	writeAll(t, f)
	frozen := a.nodes[0].ganesha.id.PID
	signal(t, frozen, syscall.SIGSTOP)
	if err := until(t.Context(), func() error { return stopped(frozen) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(frozen, syscall.SIGCONT) })
	calls := func() uint64 { return a.counts()[1].Calls }
	before, read := calls(), make(chan error, 1)
	go func() {
		_, err := f.ReadAt(t.Context(), make([]byte, blockBytes), 0)
		read <- err
	}()
	if err := until(t.Context(), func() error { return differs(calls(), before) }); err != nil {
		t.Fatal("the read does not arrive")
	}
	moved := func() error { return a.Move(t.Context(), "data", "arrown-b") }
	if err := moved(); err == nil || !strings.Contains(err.Error(), "1 calls still have no reply") {
		t.Errorf("the move says %v", err)
	}
	if v := a.Volumes()[0]; v.Node != "arrown-a" {
		t.Errorf("the volume is on %s", v.Node)
	}
	signal(t, frozen, syscall.SIGCONT)
	if err := <-read; err != nil {
		t.Errorf("the read that was in flight: %v", err)
	}
	if err := moved(); err != nil {
		t.Errorf("the next move: %v", err)
	}
	readAll(t, f, 10)
}

// stopped says which thread of a process still runs: a signal stops them one by one.
func stopped(pid int) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("process %d has no threads (%v)", pid, err) //nolint:errorlint // it may be nil
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil || !strings.Contains(string(text), ") T ") {
			return fmt.Errorf("%s: %s (%v)", thread, text, err) //nolint:errorlint // it may be nil
		}
	}
	return nil
}

func differs(got, former uint64) error {
	if got == former {
		return fmt.Errorf("%d as before", got)
	}
	return nil
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

func TestAMoveNamesWhatDoesNotExist(t *testing.T) {
	a := usual(t)
	for name, tc := range map[string]struct{ volume, node, want string }{
		"volume": {"nothing", "arrtest-b", `no volume "nothing"`},
		"node":   {"data", "arrtest-c", `no node "arrtest-c"`},
	} {
		if err := a.Move(t.Context(), tc.volume, tc.node); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	move(t, a, "arrtest-a") // where it is
}
