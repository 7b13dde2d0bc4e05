package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/connect"
	"github.com/nfsbench/nfsbench/test/lab/array"
	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

const (
	placeArray = "array of two nodes"

	// arrayOps is the number of reads of arrayBlock a second that the disks of the volume allow. This machine
	// is faster, so all runs without an injection are equally fast, and other clients' reads lower the result.
	arrayOps   = 400
	arrayBlock = 8192
	// arrayNeeds is the link rate that arrayOps need, with all headers.
	arrayNeeds = arrayOps * arrayBlock * 8 * 107 / 100
	// lifBits is the rate of a LIF: the load of the disks, and a third more.
	lifBits = arrayNeeds * 4 / 3
	// countersEvery is the interval of the array's statistics. ONTAP's is 15 s, for longer windows.
	countersEvery = 3 * time.Second
	// arraySeconds is 30 s, with the intervals in which the window begins and ends.
	arraySeconds = 36
)

// arrayPlaces lists the places of this file.
func arrayPlaces() []Place {
	return []Place{{Name: placeArray, Seconds: arraySeconds, Open: openArray}}
}

// arrayWorld is an array with two volumes on node a: the runs use data, and other is beside it. The
// first and the third LIF are on node a, the second on node b.
type arrayWorld struct {
	rig    *Rig
	array  *array.Array
	rest   *array.REST
	client client
	source source
}

// source describes how a run queries an array.
type source struct {
	secrets string // folder of Secrets
	plan    runfile.Source
	export  string
}

func openArray(ctx context.Context, rig *Rig, lane int) (World, error) {
	subnet := func(n int) string { return fmt.Sprintf("10.%d.%d.0/24", 231+lane/32, lane%32*8+n) }
	name := fmt.Sprintf("bar%d", lane)
	a, err := array.Start(ctx, array.Options{Name: name, Subnets: []string{subnet(1), subnet(2), subnet(3)}, Volumes: []array.Volume{
		{Name: "data", Junction: "/export/data", Node: name + "-a"}, {Name: "other", Junction: "/export/other", Node: name + "-a"},
	}})
	if err != nil {
		return nil, err
	}
	w := &arrayWorld{rig: rig, array: a}
	if err := w.begin(ctx, name, subnet(4)); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// begin starts everything around the array.
func (w *arrayWorld) begin(ctx context.Context, name, subnet string) (err error) {
	if w.rest, err = w.array.StartREST(array.RESTOptions{Grid: countersEvery}); err != nil {
		return err
	}
	if w.client, err = newClient(ctx, name+"c", subnet); err != nil {
		return err
	}
	for i := range w.array.LIFs() {
		if err := w.client.reaches(fmt.Sprintf("na-%s-%d", name, i+1)); err != nil {
			return err
		}
	}
	w.source = source{
		secrets: filepath.Join(w.rig.Dir, name),
		plan: runfile.Source{
			Kind: runfile.SourceONTAP, Name: "array", URL: w.rest.URL, CABundle: string(w.rest.CA), SVM: w.rest.SVM, Volume: "data",
			Credentials: "array", IntervalMilliseconds: 250, OneClient: true,
		},
		export: "/export/data",
	}
	reader := w.rest.Accounts[1]
	if err := w.source.keep(reader); err != nil {
		return err
	}
	// Create the files of other clients in advance.
	for _, volume := range []string{"data", "other"} {
		if err := w.others(ctx, volume, 1, 1); err != nil {
			return err
		}
	}
	return w.usual(ctx)
}

// usual sets everything to its state without an injection.
func (w *arrayWorld) usual(ctx context.Context) error {
	w.rest.Standin.SetMiscount(ontap.Miscount{})
	w.rest.Standin.Freeze(false)
	w.rest.Standin.Change(func(m *ontap.Model) {
		m.QoS = nil
		for i := range m.Volumes {
			m.Volumes[i].QoSPolicy = ""
		}
		for i := range m.LIFs {
			m.LIFs[i].HomeNode = w.array.LIFs()[i].Node
		}
	})
	errs := []error{
		w.array.Limit(ctx, "data", control.Limits{OpsPerSecond: arrayOps}),
		w.array.Limit(ctx, "other", control.Limits{}),
		w.array.Move(ctx, "data", w.array.Nodes()[0]),
		w.array.ShapeCluster(ctx, 0),
	}
	for _, l := range w.array.LIFs() {
		errs = append(errs, w.array.Shape(ctx, l, lifBits))
	}
	return errors.Join(errs...)
}

// Close ends the array and everything around it.
func (w *arrayWorld) Close() error { return errors.Join(w.client.close(), w.array.Stop()) }

// path returns the address of a LIF, counted from 1.
func (w *arrayWorld) path(lif int) string { return w.array.LIFs()[lif-1].Address }

// run makes a run over paths, and restores the state without an injection.
func (w *arrayWorld) run(ctx context.Context, paths []string, during func(context.Context, *Process) error,
	change ...func(*runfile.Plan),
) (r runfile.Result, err error) {
	defer func() { err = errors.Join(err, w.usual(context.WithoutCancel(ctx))) }()
	p, err := w.source.plannedRun(ctx, w.rig, paths...)
	if err != nil {
		return r, err
	}
	for _, c := range change {
		c(&p)
	}
	return w.rig.Run(ctx, Load{Plan: p, Netns: w.client.netns, Args: []string{"--secrets-dir", w.source.secrets}, During: during})
}

// keep writes the Secret of an account.
func (s source) keep(a ontap.Account) error {
	dir := filepath.Join(s.secrets, s.plan.Credentials)
	return errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "username"), []byte(a.User), 0o600),
		os.WriteFile(filepath.Join(dir, "password"), []byte(a.Password), 0o600))
}

// survey queries the array, like the operator before a run.
func (s source) survey(ctx context.Context) (runfile.Survey, error) {
	opened, err := connect.Open(s.plan, connect.Options{SecretsDir: s.secrets, Now: time.Now})
	if err != nil {
		return runfile.Survey{}, err
	}
	defer func() { _ = storage.Close(opened) }()
	surveyor, ok := opened.(storage.Surveyor)
	if !ok {
		return runfile.Survey{}, fmt.Errorf("%s cannot be surveyed", opened.Name())
	}
	survey, err := surveyor.Survey(ctx, s.export)
	survey.Version, survey.Source = runfile.SurveyVersion, s.plan.Name
	return survey, err
}

// plannedRun returns a run of random reads over paths of an array, with a new survey.
func (s source) plannedRun(ctx context.Context, rig *Rig, paths ...string) (runfile.Plan, error) {
	survey, err := s.survey(ctx)
	if err != nil {
		return runfile.Plan{}, fmt.Errorf("survey: %w", err)
	}
	p := reads(s.export, rig.Schedule(), paths...)
	p.Engine.PathSelection = "Explicit"
	p.Survey = &survey
	p.Collect = runfile.Collect{IntervalMilliseconds: 250, Sources: []runfile.Source{s.plan}}
	for i, c := range p.Engine.Channels {
		if l := survey.LIF(c.Path); l != nil {
			p.Engine.Channels[i].LIF, p.Engine.Channels[i].Node = l.Name, l.Node
		}
		if local, known := survey.IsLocal(c.Path); known {
			p.Engine.Channels[i].Locality = map[bool]bench.Locality{true: bench.LocalityLocal, false: bench.LocalityRemote}[local]
		}
	}
	return p, nil
}

// reads returns a run of random reads over paths.
func reads(export string, s runfile.Schedule, paths ...string) runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "believe"}, Clients: 1, Seed: 7,
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, NFSVersion: bench.NFSv3, Server: "array", Export: export,
			Channels: runfile.ChannelsTo(paths...), MountTimeoutSeconds: 20, CallTimeoutSeconds: 30,
		},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRandomRead, BlockSize: bench.Bytes(arrayBlock), FileSize: *bench.Bytes(1024 * arrayBlock), Jobs: 4, Depth: 4,
			Directory: "believe",
		}},
		Schedule: s, Keep: true,
	}
}

// others acts as another client: it reads ops a second from a volume over the third LIF, for the
// given seconds or until the context ends.
func (w *arrayWorld) others(ctx context.Context, volume string, ops int64, seconds int32) error {
	return readBeside(ctx, w.rig, bench.NFSv3, "/export/"+volume, w.path(3), ops, seconds)
}

// readBeside acts as another client: it reads ops a second, for the given seconds or until the context ends.
func readBeside(ctx context.Context, rig *Rig, version bench.NFSVersion, export, path string, ops int64, seconds int32) error {
	p := reads(export, runfile.Schedule{DurationSeconds: seconds, Repetitions: 1}, path)
	p.Engine.NFSVersion = version
	raw := p.Workload.Raw
	raw.OperationsPerSecond, raw.Directory, raw.Jobs, raw.Depth = new(ops), "others", 1, 64
	r, err := rig.Run(ctx, Load{Plan: p})
	if err = errors.Join(err, failureOf(r)); err != nil {
		err = fmt.Errorf("another client: %w", err)
	}
	return unlessEnded(ctx, err)
}

// client is where the load of a world runs: in its own network namespace, so that the counters
// cover only its load.
type client struct{ netns, link string }

// newClient creates a client and removes what an earlier one of the same name left behind.
func newClient(ctx context.Context, name, subnet string) (client, error) {
	c := client{netns: "nfsbelieve-" + name, link: "nv-" + name}
	if err := c.close(); err != nil {
		return c, err
	}
	host, guest := strings.Replace(subnet, ".0/", ".1/", 1), strings.Replace(subnet, ".0/", ".2/", 1)
	via, _, _ := strings.Cut(host, "/")
	err := commands(ctx,
		"ip netns add "+c.netns,
		"ip -n "+c.netns+" link set lo up",
		"ip link add "+c.link+" type veth peer name eth0 netns "+c.netns,
		"ip addr add "+host+" dev "+c.link,
		"ip link set "+c.link+" up",
		"ip -n "+c.netns+" addr add "+guest+" dev eth0",
		"ip -n "+c.netns+" link set eth0 up",
		"ip -n "+c.netns+" route add default via "+via,
	)
	if err != nil {
		return c, err
	}
	return c, c.reaches(c.link)
}

// reaches allows the forwarding of packets that arrive on a link of this machine: packets of the
// client, and of a LIF to the client.
func (c client) reaches(link string) error {
	return os.WriteFile("/proc/sys/net/ipv4/conf/"+link+"/forwarding", []byte("1"), 0o644)
}

func (c client) close() error {
	if c.netns == "" {
		return nil
	}
	return removeNetns(c.netns) // removes its link too
}
