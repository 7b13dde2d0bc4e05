package array

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
)

func netnsOf(name, letter string) string { return "nfsarray-" + name + "-" + letter }

// hostLink names this machine's end of the i-th LIF; 15 characters are allowed.
func hostLink(name string, i int) string { return fmt.Sprintf("na-%s-%d", name, i) }

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// all runs commands of ip, each written with blanks between its words, until one fails.
func all(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		if err := run(ctx, "ip", strings.Fields(c)...); err != nil {
			return err
		}
	}
	return nil
}

func (a *Array) makeNetwork(ctx context.Context) error {
	for _, n := range a.nodes {
		if err := all(ctx, "netns add "+n.netns, "-n "+n.netns+" link set lo up"); err != nil {
			return err
		}
	}
	link := "link add clu0 netns " + a.nodes[0].netns + " type veth peer name clu0 netns " + a.nodes[1].netns
	if err := all(ctx, link); err != nil {
		return err
	}
	for _, n := range a.nodes {
		if err := all(ctx, "-n "+n.netns+" addr add "+n.cluster+"/30 dev clu0", "-n "+n.netns+" link set clu0 up"); err != nil {
			return err
		}
	}
	for i, s := range a.options.Subnets {
		if err := a.makeLIF(ctx, i+1, netip.MustParsePrefix(s), a.nodes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *Array) makeLIF(ctx context.Context, i int, subnet netip.Prefix, home *node) error {
	host := subnet.Addr().Next()
	lif := LIF{
		Name: "lif" + strconv.Itoa(i), Address: host.Next().String(), Host: host.String(),
		Home: home.name, Node: home.name, index: i,
	}
	link := hostLink(a.options.Name, i)
	err := all(ctx,
		"link add "+link+" type veth peer name "+lif.Name+" netns "+home.netns,
		"addr add "+lif.Host+"/24 dev "+link,
		"link set "+link+" up")
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.lifs = append(a.lifs, lif)
	a.mu.Unlock()
	return a.address(ctx, lif, home)
}

// address brings a LIF up on a node. Whatever comes in by a LIF is answered by
// the same, as arrays do it.
func (a *Array) address(ctx context.Context, lif LIF, n *node) error {
	in, table := "-n "+n.netns+" ", strconv.Itoa(100+lif.index)
	err := all(ctx,
		in+"addr replace "+lif.Address+"/24 dev "+lif.Name,
		in+"link set "+lif.Name+" up",
		in+"route replace default via "+lif.Host+" dev "+lif.Name+" metric "+strconv.Itoa(lif.index),
		in+"route replace default via "+lif.Host+" dev "+lif.Name+" table "+table)
	if err != nil {
		return err
	}
	// A rule may be there already, and there is no replace for rules.
	_ = all(ctx, in+"rule del from "+lif.Address+" table "+table)
	return all(ctx, in+"rule add from "+lif.Address+" table "+table)
}

// LIFDown takes an address away: connections over it hang, new ones fail after
// about three seconds because nobody answers for the address.
func (a *Array) LIFDown(ctx context.Context, address string) error {
	return a.changeLIF(address, func(l *LIF, n *node) error {
		l.Down = true
		return all(ctx, "-n "+n.netns+" addr flush dev "+l.Name)
	})
}

// LIFUp brings it back.
func (a *Array) LIFUp(ctx context.Context, address string) error {
	return a.changeLIF(address, func(l *LIF, n *node) error {
		l.Down = false
		return a.address(ctx, *l, n)
	})
}

// MigrateLIF takes an address to a node. Its connections end: clients connect
// again, to the N-blade of the other node.
func (a *Array) MigrateLIF(ctx context.Context, address, target string) error {
	return a.changeLIF(address, func(l *LIF, from *node) error {
		to, err := a.node(target)
		if err != nil || to == from {
			return err
		}
		l.Node = target
		// The sockets that the former node has would keep quiet for minutes.
		kill := "ip netns exec " + from.netns + " ss -K src " + l.Address
		if err := run(ctx, "sh", "-c", kill+" || true"); err != nil {
			return err
		}
		_ = all(ctx, "-n "+from.netns+" rule del from "+l.Address+" table "+strconv.Itoa(100+l.index))
		if err := all(ctx, "-n "+from.netns+" link set "+l.Name+" netns "+to.netns); err != nil {
			return err
		}
		if l.Down {
			return nil
		}
		return a.address(ctx, *l, to)
	})
}

// changeLIF lets change work on a copy, which counts if it succeeds; n is the node
// that the LIF is on.
func (a *Array) changeLIF(address string, change func(l *LIF, n *node) error) error {
	a.moving.Lock()
	defer a.moving.Unlock()
	for i, l := range a.LIFs() {
		if l.Address != address {
			continue
		}
		n, err := a.node(l.Node)
		if err == nil {
			err = change(&l, n)
		}
		if err != nil {
			return fmt.Errorf("LIF %s: %w", address, err)
		}
		a.mu.Lock()
		a.lifs[i] = l
		a.mu.Unlock()
		a.tellREST()
		return nil
	}
	return fmt.Errorf("array %s has no LIF %s", a.options.Name, address)
}

// linksOf lists this machine's links of an array, whose name has no hyphen.
func linksOf(name string) (ours []string, err error) {
	links, err := net.Interfaces()
	for _, l := range links {
		if strings.HasPrefix(l.Name, "na-"+name+"-") {
			ours = append(ours, l.Name)
		}
	}
	return ours, err
}
