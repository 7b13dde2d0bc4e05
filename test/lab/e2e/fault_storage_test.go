package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// storageFaults are those of an array, which each of them has to itself. Faults that
// a run survives are tested without a cluster, in test/lab/faults.
func storageFaults() map[string]func(*plot) {
	return map[string]func(*plot){
		"both LIFs fall silent": loseBothLIFs,
		"the disk is full":      fillDisk,
	}
}

// on puts a run on another array than the pool.
func on(a ganesha.Array) gen.Mod { return gen.Export(a.Export, a.LIFs...) }

func loseBothLIFs(p *plot) {
	t := p.t
	a := ganesha.Start(t, "dark", []string{"10.236.1.0/24", "10.236.2.0/24"}, "--rate", "100mbit")
	b := p.run(t, on(a), lasting(600), func(b *v1alpha1.NFSBenchmark) { b.Spec.Protocol.CallTimeoutSeconds = 30 })
	p.running(t, b, 1)[0].measured(t)
	a.Cut(t, 1)
	a.Cut(t, 2)
	failed := p.finished(t, b)
	a.Heal(t, 1)
	a.Heal(t, 2)
	if r := reasonOf(failed); r != runfile.FailureIO && r != runfile.FailureUnreachable {
		t.Errorf("reason %s", r)
	}
	wantFailure(t, failed, reasonOf(failed), a.LIFs[0], a.LIFs[1])
	p.cleanedUp(t, b)
	array{folder: a.Data}.hasNo(t, p.ns)
}

// smallDisk is a folder with a file system of 192 MiB of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=192m,mode=1777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount %s: %v", disk, err)
		}
	})
	return disk
}

// fillDisk lets somebody else take the last blocks of a file system while the
// run fills its file. It looked large enough before.
func fillDisk(p *plot) {
	t := p.t
	disk := smallDisk(t)
	a := ganesha.Start(t, "full", []string{"10.238.1.0/24"}, "--rate", "100mbit", "--data", disk)
	b := p.run(t, on(a), fileSize("128Mi"))
	held := p.running(t, b, 1)[0].hold(t, runfile.SpanFill)
	// It is full as well when less than that is left by now.
	if err := os.WriteFile(filepath.Join(disk, "others"), make([]byte, 150<<20), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	send(t, held, syscall.SIGCONT)
	failed := p.finished(t, b)
	wantFailure(t, failed, runfile.FailureNoSpace, "is full")
	p.cleanedUp(t, b)
	array{folder: disk}.hasNo(t, p.ns)
}
