package array

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// CreateVolume adds a volume and returns when both LIFs serve it from either
// node. Its Folder is set by the array.
func (a *Array) CreateVolume(ctx context.Context, v Volume) error {
	if err := v.check(a.Nodes()); err != nil {
		return err
	}
	a.moving.Lock()
	defer a.moving.Unlock()
	for _, other := range a.Volumes() {
		if other.Name == v.Name || other.Junction == v.Junction {
			return fmt.Errorf("volume %s at %s: there is %s at %s", v.Name, v.Junction, other.Name, other.Junction)
		}
	}
	v.Folder = filepath.Join(a.dir, "data", v.Name)
	if err := makeFolder(v); err != nil {
		return err
	}
	a.mu.Lock()
	a.exports++
	v.export = a.exports
	a.volumes = append(a.volumes, v)
	a.mu.Unlock()
	for _, n := range a.nodes {
		if err := n.blade.Order(ctx, control.Add, v.order()); err != nil {
			return fmt.Errorf("add volume %s: %w", v.Name, err)
		}
	}
	if err := a.rereadExports(); err != nil {
		return fmt.Errorf("add volume %s: %w", v.Name, err)
	}
	// The NFS-Ganesha of either node must serve the volume: each is the owner for
	// once, while nobody uses the volume yet.
	for _, owner := range []string{a.other(v.Node), v.Node} {
		o := v.order()
		o.Volume.Owner = owner
		if err := a.release(o); err != nil {
			return err
		}
		if err := a.awaitMounts(ctx, v); err != nil {
			return err
		}
	}
	a.tellREST()
	return nil
}

// DeleteVolume removes a volume with its data. One that is not there is no
// error; the first of the array stays.
func (a *Array) DeleteVolume(ctx context.Context, name string) error {
	a.moving.Lock()
	defer a.moving.Unlock()
	i := slices.IndexFunc(a.Volumes(), func(v Volume) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	v := a.Volumes()[i]
	for _, n := range a.nodes {
		if err := n.blade.Order(ctx, control.Remove, v.order()); err != nil {
			return fmt.Errorf("remove volume %s: %w", name, err)
		}
	}
	a.mu.Lock()
	a.volumes = slices.Delete(slices.Clone(a.volumes), i, i+1)
	a.mu.Unlock()
	if err := a.rereadExports(); err != nil {
		return fmt.Errorf("remove volume %s: %w", name, err)
	}
	if a.rest != nil {
		a.rest.Standin.Change(func(m *ontap.Model) {
			m.Volumes = slices.DeleteFunc(m.Volumes, func(x ontap.Volume) bool { return x.Name == name })
		})
	}
	a.tellREST()
	return os.RemoveAll(v.Folder)
}

// rereadExports lets all NFS-Ganeshas add what is new and drop what is gone.
func (a *Array) rereadExports() error {
	all := map[ganesha]*process{a.nfs4.server(): a.nfs4.process}
	for _, n := range a.nodes {
		all[n.server()] = n.ganesha
	}
	for g, p := range all {
		if err := a.writeGaneshaConfig(g); err != nil {
			return err
		}
		if err := syscall.Kill(p.id.PID, syscall.SIGHUP); err != nil {
			return fmt.Errorf("let %s read its exports: %w", p.name, err)
		}
	}
	return nil
}

// Provisioner makes volumes as a storage driver asks for them: by the name of an
// aggregate. It is what package trident wants of an array.
type Provisioner struct{ Array *Array }

// CreateVolume makes a volume at /NAME on the node of the aggregate pool, if
// there is none of that name, and tells its junction and an address that serves it.
func (p Provisioner) CreateVolume(
	ctx context.Context, name string, sizeBytes int64, pool, exportPolicy string,
) (junction, dataLIF string, err error) {
	a := p.Array
	lif := a.LIFs()[0].Address
	for _, v := range a.Volumes() {
		if v.Name == name {
			return v.Junction, lif, nil
		}
	}
	for _, n := range a.Nodes() {
		if AggregateOf(n) == pool {
			v := Volume{Name: name, Junction: "/" + name, Node: n, SizeBytes: sizeBytes, ExportPolicy: exportPolicy}
			return v.Junction, lif, a.CreateVolume(ctx, v)
		}
	}
	return "", "", fmt.Errorf("volume %s: array %s has no aggregate %q", name, a.options.Name, pool)
}

// DeleteVolume removes it with its data.
func (p Provisioner) DeleteVolume(ctx context.Context, name string) error {
	return p.Array.DeleteVolume(ctx, name)
}

// Move makes a node the owner of a volume while clients go on: both N-blades hold new
// calls to it, wait for the replies to those in flight, and then send calls to the new
// owner. Clients keep their connections; they see a pause and no error. Calls that get
// no reply within Options.DrainLimit fail the move, and everything is as before. A move
// to where the volume is does nothing.
//
// NFS-Ganesha need not be told to write anything back: it keeps no data of its
// own, and what it gave to the kernel the other one reads. An unstable WRITE in
// front of the move is confirmed by a COMMIT behind it with another verifier, so
// its client writes it again, as after a restart of a server. With NFSv4 it is the same
// server before and after, so sessions, open files and verifiers stay as they are.
func (a *Array) Move(ctx context.Context, volume, node string) error {
	if _, err := a.node(node); err != nil {
		return err
	}
	a.moving.Lock()
	defer a.moving.Unlock()
	all := a.Volumes()
	i := slices.IndexFunc(all, func(v Volume) bool { return v.Name == volume })
	if i < 0 {
		return fmt.Errorf("array %s has no volume %q", a.options.Name, volume)
	}
	v := all[i]
	if v.Node == node {
		return nil
	}
	if err := a.hold(ctx, v.order()); err != nil {
		return fmt.Errorf("move volume %s to %s: %w", volume, node, err)
	}
	v.Node = node
	a.mu.Lock()
	a.volumes[i] = v
	a.mu.Unlock()
	if err := a.release(v.order()); err != nil {
		return fmt.Errorf("move volume %s to %s: %w", volume, node, err)
	}
	a.tellREST()
	return nil
}

// hold lets both N-blades hold calls to a volume back, or none.
func (a *Array) hold(ctx context.Context, o control.Order) error {
	o.Milliseconds = a.options.DrainLimit.Milliseconds()
	var errs [2]error
	var wg sync.WaitGroup
	for i, n := range a.nodes {
		wg.Go(func() { errs[i] = n.blade.Order(ctx, control.Hold, o) })
	}
	wg.Wait()
	err := errors.Join(errs[:]...)
	for i, n := range a.nodes {
		if err != nil && errs[i] == nil {
			err = errors.Join(err, n.release(o))
		}
	}
	return err
}

func (a *Array) release(o control.Order) error {
	return errors.Join(a.nodes[0].release(o), a.nodes[1].release(o))
}

// release must be done even when the caller wants to wait no more.
func (n *node) release(o control.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:usetesting // not a test
	defer cancel()
	return n.blade.Order(ctx, control.Release, o)
}

func (a *Array) other(node string) string { return a.Nodes()[1-slices.Index(a.Nodes(), node)] }
