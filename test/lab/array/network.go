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
	if err := a.makeNFS4Links(ctx); err != nil {
		return err
	}
	for i, s := range a.options.Subnets {
		if err := a.makeLIF(ctx, i+1, netip.MustParsePrefix(s), a.nodes[i%len(a.nodes)]); err != nil {
			return err
		}
	}
	return nil
}

// makeNFS4Links makes the namespace of the server of NFSv4 and a link from each node to it.
func (a *Array) makeNFS4Links(ctx context.Context) error {
	server := netnsOf(a.options.Name, nfs4Letter)
	if err := all(ctx, "netns add "+server, "-n "+server+" link set lo up"); err != nil {
		return err
	}
	for i, n := range a.nodes {
		there := "nfs" + strconv.Itoa(i+1)
		err := all(ctx,
			"link add nfs0 netns "+n.netns+" type veth peer name "+there+" netns "+server,
			fmt.Sprintf("-n %s addr add 169.254.77.%d/30 dev nfs0", n.netns, 5+4*i),
			"-n "+n.netns+" link set nfs0 up",
			"-n "+server+" addr add "+n.nfs4+"/30 dev "+there,
			"-n "+server+" link set "+there+" up")
		if err != nil {
			return err
		}
	}
	return nil
}

// makeLIF brings an address up. Whatever comes in by a LIF is answered by the same, as
// arrays do it.
func (a *Array) makeLIF(ctx context.Context, i int, subnet netip.Prefix, n *node) error {
	host := subnet.Addr().Next()
	lif := LIF{Name: "lif" + strconv.Itoa(i), Address: host.Next().String(), Host: host.String(), Node: n.name, index: i}
	a.lifs = append(a.lifs, lif)
	link, in, table := hostLink(a.options.Name, i), "-n "+n.netns+" ", strconv.Itoa(100+i)
	return all(ctx,
		"link add "+link+" type veth peer name "+lif.Name+" netns "+n.netns,
		"addr add "+lif.Host+"/24 dev "+link,
		"link set "+link+" up",
		in+"addr replace "+lif.Address+"/24 dev "+lif.Name,
		in+"link set "+lif.Name+" up",
		in+"route replace default via "+lif.Host+" dev "+lif.Name+" metric "+strconv.Itoa(i),
		in+"route replace default via "+lif.Host+" dev "+lif.Name+" table "+table,
		in+"rule add from "+lif.Address+" table "+table)
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
