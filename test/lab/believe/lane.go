package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/cpulimit"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

// The places of this file.
const (
	placeGanesha  = "NFS-Ganesha"
	placeEmbedded = "embedded server"
)

func lanePlaces() []Place {
	return []Place{
		{Name: placeGanesha, Open: func(ctx context.Context, r *Rig, n int) (World, error) { return openLane(ctx, r, n, true) }},
		{Name: placeEmbedded, Seconds: 33, Open: func(ctx context.Context, r *Rig, n int) (World, error) { return openLane(ctx, r, n, false) }},
	}
}

const (
	lanePaths = 4
	laneMbit  = 50 // rate of each path, on the wire
	// tbf counts neither preamble, checksum nor gap of a frame: 24 bytes of 1538.
	laneBits = 49.22e6
	// The ports of the NFS server, of the relay in front of it, and of their counters.
	portNFS, portRelay, portCounters, portCountersRelay = 2049, 2149, 8080, 8180
)

// Lane is one NFS server with four paths, a client, and another client. Each has its own network
// namespace, and a router joins them:
//
//	client ══ four links ══╗
//	                     router ══ four links, shaped ══ server
//	other  ══ four links ══╝
//
// The counters of the client therefore do not see the traffic of the other client.
type Lane struct {
	rig    *Rig
	number int
	embed  bool // the embedded server instead of NFS-Ganesha

	paths                         []string        // addresses of the server
	export, data                  string          // the export, and the folder behind it
	client, other, router, server string          // network namespaces
	limit                         *cpulimit.Group // of the load
	process                       *exec.Cmd
	thin                          int // number of directories with sparse files so far
}

func (l *Lane) subnet(second, path int) string {
	return fmt.Sprintf("10.%d.%d", second, l.number*lanePaths+path)
}

// openLane opens a lane. It replaces what a killed rig left behind.
func openLane(ctx context.Context, rig *Rig, number int, ganesha bool) (World, error) {
	name := fmt.Sprintf("bel%d", number)
	l := &Lane{
		rig: rig, number: number, embed: !ganesha, client: name + "c", other: name + "o", router: name + "r", server: name + "s",
		data: filepath.Join(rig.Dir, name), export: "/export",
	}
	if ganesha {
		l.server, l.export = "nfsbench-"+name, "/export/data"
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	err := os.MkdirAll(l.data, 0o755)
	err = errors.Join(err, os.Chmod(l.data, 0o777))
	if err == nil {
		err = l.open(ctx, name)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lane) open(ctx context.Context, name string) error {
	var subnets []string
	for i := range lanePaths {
		subnets = append(subnets, l.subnet(236, i)+".0/24")
		l.paths = append(l.paths, l.subnet(236, i)+".2")
	}
	lines := []string{
		"ip netns add " + l.client, "ip netns add " + l.other, "ip netns add " + l.router,
		"ip netns exec " + l.router + " sysctl -qw net.ipv4.ip_forward=1",
	}
	if !l.embed {
		array, err := ganesha.Up(name, subnets, "--no-offload", "--data", l.data)
		if err != nil {
			return err
		}
		l.export = array.Export
	} else {
		lines = append(lines, "ip netns add "+l.server)
	}
	for i := range lanePaths {
		lines = append(lines, l.link(i)...)
	}
	for _, n := range []string{l.client, l.other, l.router} {
		lines = append(lines, "ip -n "+n+" link set lo up")
	}
	err := commands(ctx, lines...)
	if err == nil {
		l.limit, err = cpulimit.New("nfsbench-" + name)
	}
	if err != nil {
		return err
	}
	if l.embed {
		return l.serve(ctx)
	}
	return nil
}

// link returns the commands that join client, other and server over one path.
func (l *Lane) link(i int) []string {
	s, c, o := l.subnet(236, i), l.subnet(237, i), l.subnet(238, i)
	var lines []string
	if !l.embed { // its script made the link to this machine
		old := fmt.Sprintf("nb-bel%d-%d", l.number, i+1)
		lines = append(lines, fmt.Sprintf("ip link set %s netns %s", old, l.router), fmt.Sprintf("ip -n %s link set %s name s%d", l.router, old, i))
	} else {
		lines = append(lines,
			fmt.Sprintf("ip -n %s link add lif%d type veth peer name s%d netns %s", l.server, i+1, i, l.router),
			fmt.Sprintf("ip -n %s addr add %s.2/24 dev lif%d", l.server, s, i+1),
			fmt.Sprintf("ip -n %s link set lo up", l.server),
			fmt.Sprintf("ip -n %s link set lif%d up", l.server, i+1),
			fmt.Sprintf("ip netns exec %s ethtool -K lif%d tso off gso off gro off", l.server, i+1),
		)
	}
	lines = append(lines,
		fmt.Sprintf("ip -n %s addr add %s.1/24 dev s%d", l.router, s, i),
		fmt.Sprintf("ip -n %s link set s%d up", l.router, i),
		fmt.Sprintf("ip netns exec %s ethtool -K s%d tso off gso off gro off", l.router, i),
		l.rateCommand(i, 1), l.rateCommandOf(l.router, fmt.Sprintf("s%d", i), 1),
	)
	lines = append(lines,
		fmt.Sprintf("ip -n %s route replace default via %s.1 dev lif%d metric %d", l.server, s, i+1, i+1),
		fmt.Sprintf("ip -n %s route replace default via %s.1 dev lif%d table %d", l.server, s, i+1, 101+i),
	)
	if l.embed {
		lines = append(lines, fmt.Sprintf("ip -n %s rule add from %s.2 table %d", l.server, s, 101+i))
	}
	for netns, net := range map[string]string{l.client: c, l.other: o} {
		dev := netns[len(netns)-1:]
		lines = append(lines,
			fmt.Sprintf("ip -n %s link add p%d type veth peer name %s%d netns %s", netns, i, dev, i, l.router),
			fmt.Sprintf("ip -n %s addr add %s.2/24 dev p%d", netns, net, i),
			fmt.Sprintf("ip -n %s addr add %s.1/24 dev %s%d", l.router, net, dev, i),
			fmt.Sprintf("ip -n %s link set p%d up", netns, i),
			fmt.Sprintf("ip -n %s link set %s%d up", l.router, dev, i),
			fmt.Sprintf("ip netns exec %s ethtool -K p%d tso off gso off gro off", netns, i),
			fmt.Sprintf("ip netns exec %s ethtool -K %s%d tso off gso off gro off", l.router, dev, i),
			fmt.Sprintf("ip -n %s route add %s.0/24 via %s.1 dev p%d", netns, s, net, i),
		)
	}
	return lines
}

// rateCommand shapes what the server sends over a path. The router shapes the opposite direction.
func (l *Lane) rateCommand(path int, share float64) string {
	return l.rateCommandOf(l.server, fmt.Sprintf("lif%d", path+1), share)
}

func (l *Lane) rateCommandOf(netns, dev string, share float64) string {
	rate := fmt.Sprintf("%.0fbit burst %.0f", laneBits*share, 16384*max(share, 1))
	return fmt.Sprintf("tc -n %s qdisc replace dev %s root tbf rate %s latency 50ms", netns, dev, rate)
}

// setRate makes a path slower or faster in both directions. share is relative to its usual rate.
func (l *Lane) setRate(ctx context.Context, path int, share float64) error {
	return commands(ctx, l.rateCommand(path, share), l.rateCommandOf(l.router, fmt.Sprintf("s%d", path), share))
}

// serve starts the embedded server.
func (l *Lane) serve(ctx context.Context) error {
	args := []string{l.rig.Nfsbench, "serve", "--dir", l.data, "--export", l.export, "--http", fmt.Sprintf("0.0.0.0:%d", portCounters)}
	for _, p := range l.paths {
		args = append(args, "--listen", fmt.Sprintf("%s:%d", p, portNFS))
	}
	args = inNetns(l.server, args...)
	l.process = exec.Command(args[0], args[1:]...) // ended by Close
	if err := l.process.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		c, err := dialIn(l.client, fmt.Sprintf("%s:%d", l.paths[lanePaths-1], portNFS))
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the embedded server of lane %d does not answer: %w", l.number, err)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// Close implements World.
func (l *Lane) Close() error {
	var errs []error
	if l.process != nil {
		_ = l.process.Process.Kill() // also if it is stopped
		_ = l.process.Wait()         // it was killed
		l.process = nil
	}
	if !l.embed {
		errs = append(errs, ganesha.Down(fmt.Sprintf("bel%d", l.number)))
	}
	for _, n := range []string{l.client, l.other, l.router, l.server} {
		errs = append(errs, removeNetns(n))
	}
	if l.limit != nil {
		errs = append(errs, l.limit.Remove())
	}
	return errors.Join(append(errs, os.RemoveAll(l.data))...)
}

// run makes a run of a plan by the client.
func (l *Lane) run(ctx context.Context, p runfile.Plan, o Load) (runfile.Result, error) {
	o.Plan, o.Netns, o.Within = p, l.client, l.limit.Within()
	return l.rig.Run(ctx, o)
}

// load makes a run of a shape. An open loop runs through a relay that delays each reply like a disk.
// Otherwise its latency depends on the CPUs of this machine.
func (l *Lane) load(ctx context.Context, s shape, o Load) (runfile.Result, error) {
	if raw := s.workload.Raw; raw != nil && bench.OrZero(raw.OperationsPerSecond) > 0 {
		return l.relayed(ctx, l.plan(s), diskRelay(), o)
	}
	return l.run(ctx, l.plan(s), o)
}

// shape describes the load of a plan.
type shape struct {
	name     string
	workload bench.Workload
	paths    int
}

const (
	fileBytes  = 8 << 20
	blockBytes = 8192
	// openRate is about half of what one path carries in blocks of 8 KiB.
	openRate = 300
)

func sequentialRead() shape {
	return shape{name: "sequential read", paths: 1, workload: bench.Workload{Raw: &bench.RawWorkload{
		Pattern: bench.PatternRead, BlockSize: bench.Bytes(256 << 10), FileSize: *bench.Bytes(fileBytes), Jobs: 4, Depth: 2, Directory: "files",
	}}}
}

func randomRead() shape {
	return shape{name: "random read", paths: 1, workload: bench.Workload{Raw: &bench.RawWorkload{
		Pattern: bench.PatternRandomRead, BlockSize: bench.Bytes(blockBytes), FileSize: *bench.Bytes(fileBytes), Jobs: 4, Depth: 4, Directory: "files",
	}}}
}

func openRead() shape {
	s := randomRead()
	s.name, s.workload.Raw.OperationsPerSecond, s.workload.Raw.Depth = "random read at a rate", new(int64(openRate)), 16
	return s
}

func randomWrite() shape {
	s := randomRead()
	s.name, s.workload.Raw.Pattern = "random write", bench.PatternRandomWrite
	return s
}

func slobUsers() shape {
	return shape{name: "SLOB users who update", paths: 2, workload: bench.Workload{SLOB: &bench.SLOBWorkload{
		Access: bench.SLOBRandomRead, Users: []int32{8}, Schemas: 4, Scale: *bench.Bytes(fileBytes), ScanTableSize: *bench.Bytes(fileBytes), WorkUnit: 64,
		UpdatePercent: 25, ReadAhead: 2,
		NativeFiles: bench.NativeFiles{Directory: "slob"},
	}}}
}

// over returns the same load over several paths, with more outstanding I/Os.
func (s shape) over(paths int) shape {
	s.paths = paths
	if s.workload.Raw != nil {
		raw := *s.workload.Raw
		raw.Depth *= int32(paths)
		s.workload.Raw = &raw
	}
	return s
}

// plan returns the plan of a load on this lane.
func (l *Lane) plan(s shape) runfile.Plan {
	p := runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: 1, Run: runfile.Identity{Name: "believe"}, Workload: s.workload, Schedule: l.rig.Schedule(), Keep: true,
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, NFSVersion: bench.NFSv3, RequireNFS: true, Server: "lane", Export: l.export,
			Channels: runfile.ChannelsTo(l.paths[:s.paths]...),
		},
		Collect: runfile.Collect{IntervalMilliseconds: 1000},
		Link:    &bench.Link{BitsPerSecond: *bench.Bits(laneMbit * 1e6)},
	}
	if l.embed {
		p.Engine.Ports = runfile.Ports{NFS: portNFS, Mount: portNFS, Portmap: portNFS}
		p.Collect.Sources = []runfile.Source{l.source(portCounters)}
	}
	return p
}

// source returns the counters of the embedded server.
func (l *Lane) source(port int) runfile.Source {
	return runfile.Source{Kind: runfile.SourceEmbedded, Name: "server", URL: fmt.Sprintf("http://%s:%d", l.paths[0], port)}
}

// honestLoads lists the loads of the runs without an injection.
func honestLoads() []Honest {
	var out []Honest
	at := func(place string, s shape) {
		out = append(out, Honest{Name: s.name, Place: place, Run: func(ctx context.Context, w World, noise bool) (runfile.Result, error) {
			l, err := as[*Lane](w)
			if err != nil {
				return runfile.Result{}, err
			}
			return l.load(ctx, s, l.withNoise(noise))
		}})
	}
	at(placeGanesha, sequentialRead())
	at(placeEmbedded, randomRead())
	at(placeGanesha, randomWrite())
	at(placeEmbedded, slobUsers())
	at(placeEmbedded, openRead()) // in a window of 12 s, its mean latency depends on single seconds
	out = append(out, Honest{Name: "random read, two paths over one link", Place: placeGanesha, Run: oneLink})
	return slices.Concat(out, arrayHonest(), pnfsHonest(), guestHonest())
}

// withNoise returns a load that noise accompanies, if wanted.
func (l *Lane) withNoise(noise bool) Load {
	if !noise {
		return Load{}
	}
	return Load{During: l.noise}
}

// oneLink makes a run over two paths that share the link of the client, as paths to one switch port do.
func oneLink(ctx context.Context, w World, noise bool) (r runfile.Result, err error) {
	l, err := as[*Lane](w)
	if err != nil {
		return r, err
	}
	second := fmt.Sprintf("ip -n %s route replace %s.0/24 ", l.client, l.subnet(236, 1))
	err = commands(ctx, second+fmt.Sprintf("via %s.1 dev p0", l.subnet(237, 0)), l.rateCommandOf(l.router, "c0", 1))
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, commands(ctx, second+fmt.Sprintf("via %s.1 dev p1", l.subnet(237, 1)),
			fmt.Sprintf("tc -n %s qdisc del dev c0 root", l.router)))
	}()
	if err != nil {
		return r, err
	}
	s := randomRead()
	s.paths = 2
	return l.run(ctx, l.plan(s), l.withNoise(noise))
}
