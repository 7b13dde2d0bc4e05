package array

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
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
		if err := errors.Join(shared.array.Stop(), left("arrtest")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// usual returns the shared array with its volume and its LIFs at home.
func usual(t *testing.T) *Array {
	t.Helper()
	needArray(t)
	shared.once.Do(func() {
		shared.array, shared.err = Start(t.Context(), Options{Name: "arrtest", Subnets: []string{"10.248.1.0/24", "10.248.2.0/24"}})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	move(t, shared.array, "arrtest-a")
	return shared.array
}

// begin starts an array for the time of a test. All of them use one name, so that
// each also clears away what one that was killed has left.
func begin(t *testing.T, o Options) *Array {
	t.Helper()
	needArray(t)
	o.Name = "arrown"
	o.Subnets = []string{"10.248.3.0/24", "10.248.4.0/24"}
	a, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(a.Stop(), left(o.Name)); err != nil {
			t.Error(err)
		}
	})
	return a
}

func needArray(t *testing.T) {
	t.Helper()
	if os.Getenv("NFSBENCH_LAB") == "" {
		t.Skip("set NFSBENCH_LAB=1 to run this against NFS-Ganesha; needs root")
	}
	if err := Missing(); err != nil {
		t.Skip(err)
	}
}

// left says what is left of an array.
func left(name string) error {
	links, err := linksOf(name)
	errs := []error{err}
	if len(links) != 0 {
		errs = append(errs, fmt.Errorf("links %v are left", links))
	}
	files := []string{folder(name)}
	for _, letter := range []string{"a", "b", nfs4Letter} {
		files = append(files, "/run/netns/"+netnsOf(name, letter))
	}
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			errs = append(errs, fmt.Errorf("%s is left", f))
		}
	}
	return errors.Join(errs...)
}

// client mounts the first volume over the LIF of node i.
func client(t *testing.T, a *Array, i int) *nfs.Client {
	t.Helper()
	return mounted(t, a, a.LIFs()[i].Address, a.Volumes()[0].Junction)
}

func mounted(t *testing.T, a *Array, address, export string) *nfs.Client {
	t.Helper()
	c, err := nfs.Dial(t.Context(), nfs.Config{
		Channels: []nfs.Channel{{Path: address}}, Export: export, Now: time.Now,
	})
	if err != nil {
		t.Fatalf("mount %s:%s of %+v: %v", address, export, a.Volumes(), err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func create(t *testing.T, c *nfs.Client, name string) *nfs.File {
	t.Helper()
	f, err := c.Create(t.Context(), c.Root(), name, 0o644, false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// block fills p with what belongs at off in its generation, and a checksum.
func block(p []byte, off int64, generation uint64) {
	for i := 0; i < len(p)-24; i += 8 {
		binary.LittleEndian.PutUint64(p[i:], uint64(off)*0x9e3779b97f4a7c15+generation+uint64(i))
	}
	tail := p[len(p)-24:]
	binary.LittleEndian.PutUint64(tail, uint64(off))
	binary.LittleEndian.PutUint64(tail[8:], generation)
	binary.LittleEndian.PutUint64(tail[16:], sum(p[:len(p)-8]))
}

// check returns the generation of a block, and whether it is whole and belongs at off.
func check(p []byte, off int64) (generation uint64, ok bool) {
	tail := p[len(p)-24:]
	return binary.LittleEndian.Uint64(tail[8:]),
		binary.LittleEndian.Uint64(tail) == uint64(off) && binary.LittleEndian.Uint64(tail[16:]) == sum(p[:len(p)-8])
}

func sum(p []byte) uint64 { return crc64.Checksum(p, crc64.MakeTable(crc64.ECMA)) }

func move(t *testing.T, a *Array, node string) {
	t.Helper()
	if err := a.Move(t.Context(), a.Volumes()[0].Name, node); err != nil {
		t.Fatal(err)
	}
}
