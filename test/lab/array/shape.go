package array

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

// Limit makes a volume as fast as disks or a QoS policy would, for load through any node. Zero
// limits set no limit.
func (a *Array) Limit(ctx context.Context, volume string, l control.Limits) error {
	l.Clock = filepath.Join(a.dir, "limit-"+volume)
	// The file never becomes shorter than its mapping: calls may wait on it now.
	f, err := os.OpenFile(l.Clock, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(control.ClockBytes), f.Close()); err != nil {
		return err
	}
	for _, n := range a.nodes {
		o := control.Order{Volume: control.Volume{Name: volume}, Limits: l}
		if err := n.blade.Order(ctx, control.Limit, o); err != nil {
			return fmt.Errorf("limit volume %s: %w", volume, err)
		}
	}
	return nil
}

// Shape limits a LIF in both directions; 0 = no limit.
func (a *Array) Shape(ctx context.Context, lif LIF, bitsPerSecond int64) error {
	n, err := a.node(lif.Node)
	if err != nil {
		return err
	}
	return errors.Join(shape(ctx, nil, hostLink(a.options.Name, lif.index), bitsPerSecond),
		shape(ctx, []string{"-n", n.netns}, lif.Name, bitsPerSecond))
}

// ShapeCluster limits the link between the nodes in both directions; 0 = no limit.
func (a *Array) ShapeCluster(ctx context.Context, bitsPerSecond int64) error {
	var errs []error
	for _, n := range a.nodes {
		errs = append(errs, shape(ctx, []string{"-n", n.netns}, "clu0", bitsPerSecond))
	}
	return errors.Join(errs...)
}

func shape(ctx context.Context, in []string, link string, bitsPerSecond int64) error {
	if bitsPerSecond == 0 {
		_ = run(ctx, "tc", append(slices.Clone(in), "qdisc", "del", "dev", link, "root")...) // there may be none
		return nil
	}
	return run(ctx, "tc", append(slices.Clone(in), "qdisc", "replace", "dev", link, "root", "tbf",
		"rate", strconv.FormatInt(bitsPerSecond, 10)+"bit", "burst", "64kb", "latency", "20ms")...)
}

// nobody is the MAC address of a station that does not exist.
const nobody = "02:00:00:00:00:fb"

// Cut silences a LIF: packets to it vanish without an error.
func (a *Array) Cut(ctx context.Context, lif LIF) error {
	return run(ctx, "ip", "neigh", "replace", lif.Address, "lladdr", nobody, "dev",
		hostLink(a.options.Name, lif.index), "nud", "permanent")
}

// Heal undoes Cut.
func (a *Array) Heal(ctx context.Context, lif LIF) error {
	return run(ctx, "ip", "neigh", "del", lif.Address, "dev", hostLink(a.options.Name, lif.index))
}

// Work runs a program on a node beside the NFS servers until stop is called. The node is charged
// for its processor time, but not for that of its child processes.
func (a *Array) Work(node string, args ...string) (stop func() error, err error) {
	n, err := a.node(node)
	if err != nil {
		return nil, err
	}
	p, err := a.launch(n.name, "work", append([]string{"ip", "netns", "exec", n.netns}, args...)...)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.work = append(n.work, p)
	return func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ended += p.cpu()
		n.work = slices.DeleteFunc(n.work, func(o *process) bool { return o == p })
		ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:usetesting // not a test
		defer cancel()
		return p.id.end(ctx, syscall.SIGKILL)
	}, nil
}

// cpu returns the processor time of a process so far; 0 after it has ended.
func (p *process) cpu() time.Duration {
	if st, err := readStat(p.id.PID); err == nil && st.began == p.id.Began {
		return st.cpu
	}
	return 0
}
