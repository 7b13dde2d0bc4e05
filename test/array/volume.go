package array

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/nfsbench/nfsbench/test/ontap"
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
		if err := n.blade.Add(ctx, v.order()); err != nil {
			return fmt.Errorf("add volume %s: %w", v.Name, err)
		}
	}
	if err := a.rereadExports(); err != nil {
		return fmt.Errorf("add volume %s: %w", v.Name, err)
	}
	if err := a.awaitBoth(ctx, v); err != nil {
		return err
	}
	return a.tell()
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
		if err := n.blade.Remove(ctx, v.order()); err != nil {
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
	return errors.Join(a.tell(), os.RemoveAll(v.Folder))
}

// rereadExports lets both NFS-Ganeshas add what is new and drop what is gone.
func (a *Array) rereadExports() error {
	for _, n := range a.nodes {
		if err := a.writeGaneshaConfig(n); err != nil {
			return err
		}
		if err := syscall.Kill(n.ganesha.id.PID, syscall.SIGHUP); err != nil {
			return fmt.Errorf("let NFS-Ganesha of %s read its exports: %w", n.name, err)
		}
	}
	return nil
}

// awaitBoth waits until the NFS-Ganesha of either node serves a volume, by
// making each the owner; nobody uses the volume yet.
func (a *Array) awaitBoth(ctx context.Context, v Volume) error {
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
	return nil
}

// Provisioner makes volumes as a storage driver asks for them: by the name of an
// aggregate. It is what package trident wants of an array.
type Provisioner struct{ Array *Array }

// CreateVolume makes a volume at /NAME on the node of the aggregate pool, if
// there is none of that name, and tells its junction and an address that serves it.
func (p Provisioner) CreateVolume(ctx context.Context, name string, sizeBytes int64, pool string) (junction, dataLIF string, err error) {
	a := p.Array
	lif := a.LIFs()[0].Address
	for _, v := range a.Volumes() {
		if v.Name == name {
			return v.Junction, lif, nil
		}
	}
	for _, n := range a.Nodes() {
		if AggregateOf(n) == pool {
			v := Volume{Name: name, Junction: "/" + name, Node: n, SizeBytes: sizeBytes}
			return v.Junction, lif, a.CreateVolume(ctx, v)
		}
	}
	return "", "", fmt.Errorf("volume %s: array %s has no aggregate %q", name, a.options.Name, pool)
}

// DeleteVolume removes it with its data.
func (p Provisioner) DeleteVolume(ctx context.Context, name string) error {
	return p.Array.DeleteVolume(ctx, name)
}
