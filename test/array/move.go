package array

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/test/array/control"
)

// Move makes a node the owner of a volume while clients go on: both N-blades let
// no new call to it through, wait for the replies to those in flight, and then
// send calls to the new owner. Connections of clients stay open; they see a
// pause and no error. A move to where the volume is does nothing.
//
// Calls that get no reply within Options.DrainLimit fail the move, and everything
// is as before.
//
// NFS-Ganesha need not be told to write anything back: it keeps no data of its
// own, and what it gave to the kernel the other one reads. An unstable WRITE in
// front of the move is confirmed by a COMMIT behind it with another verifier, so
// its client writes it again, as after a restart of a server.
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
	return a.tell()
}

// hold lets both N-blades hold calls to a volume back, or none.
func (a *Array) hold(ctx context.Context, o control.Order) error {
	o.Milliseconds = a.options.DrainLimit.Milliseconds()
	var held [2]bool
	var g errgroup.Group
	for i, n := range a.nodes {
		g.Go(func() error {
			err := n.blade.Hold(ctx, o)
			held[i] = err == nil
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		return nil
	}
	errs := []error{err}
	for i, n := range a.nodes {
		if held[i] {
			errs = append(errs, undisturbed(func(ctx context.Context) error { return n.blade.Release(ctx, o) }))
		}
	}
	return errors.Join(errs...)
}

func (a *Array) release(o control.Order) error {
	var errs []error
	for _, n := range a.nodes {
		errs = append(errs, undisturbed(func(ctx context.Context) error { return n.blade.Release(ctx, o) }))
	}
	return errors.Join(errs...)
}

// undisturbed does what must be done even when the caller wants to wait no more.
func undisturbed(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:usetesting // not a test
	defer cancel()
	return do(ctx)
}

func (a *Array) other(node string) string {
	if a.nodes[0].name == node {
		return a.nodes[1].name
	}
	return a.nodes[0].name
}
