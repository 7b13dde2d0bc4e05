package main

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// guestPlace is the name of the place in this file: the NFS client and server of a Linux kernel in
// an emulated machine, which has netem.
const guestPlace = "a kernel in a virtual machine"

// guestSeconds, plus guestRunSeconds per run, bound the life of a guest. It boots in about ten
// seconds on a quiet machine.
const (
	guestSeconds    = 120
	guestRunSeconds = 120
)

//go:embed guest.sh
var guestScript []byte

// guestWorld makes runs in guests. A guest takes longer to boot than a run takes. So one guest makes
// the runs of all strengths of an injection, and the world keeps those that are not needed yet.
type guestWorld struct {
	rig  *Rig
	kept map[string]runfile.Result // by injection and strength
	// honest keeps runs without an injection, by whether there was noise.
	honest map[bool][]runfile.Result
}

func openGuest(ctx context.Context, rig *Rig, _ int) (World, error) {
	out, err := exec.CommandContext(ctx, "hack/vm/run.sh", "prepare").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("prepare the guest: %w: %s", err, out)
	}
	return &guestWorld{rig, map[string]runfile.Result{}, map[bool][]runfile.Result{}}, nil
}

func (g *guestWorld) Close() error { return nil }

// guestRun is one run in a guest. inject is shell code: it may set OPTIONS of the mount, and define
// before and beside; see guest.sh.
type guestRun struct {
	plan   runfile.Plan
	inject string
}

// run makes a run of an injection, in a new guest if no earlier guest has made it.
func (g *guestWorld) run(ctx context.Context, i guestInjection, s Strength) (runfile.Result, error) {
	key := func(s Strength) string { return i.Name + "|" + s.Name }
	if _, ok := g.kept[key(s)]; !ok {
		all := append([]Strength{{}}, i.Strengths...)
		rand.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] }) // an earlier run may affect a later one
		var runs []guestRun
		for _, s := range all {
			runs = append(runs, i.run(g, s))
		}
		results, err := g.boot(ctx, runs)
		if err != nil {
			return runfile.Result{}, err
		}
		for n, r := range results {
			g.kept[key(all[n])] = r
		}
	}
	result := g.kept[key(s)]
	delete(g.kept, key(s))
	return result, nil
}

// guestNoise is another process that works in pulses.
const guestNoise = `before() {
	(
		until injecting; do sleep .1; done
		while injecting; do dd if=/dev/zero of=/dev/null bs=64k count=2000 2>/dev/null; sleep .8; done
	) &
}`

// guestHonest lists the loads of this file without an injection.
func guestHonest() []Honest {
	return []Honest{{
		Name: "random reads by the kernel's client", Place: guestPlace, Alone: true,
		Run: func(ctx context.Context, w World, noise bool) (runfile.Result, error) {
			g, err := as[*guestWorld](w)
			if err != nil {
				return runfile.Result{}, err
			}
			return g.plain(ctx, noise)
		},
	}}
}

// plain makes a run without an injection, in a new guest if no earlier guest has made it.
func (g *guestWorld) plain(ctx context.Context, noise bool) (runfile.Result, error) {
	const atOnce = 6
	if len(g.honest[noise]) == 0 {
		run := guestRun{plan: g.plan()}
		if noise {
			run.inject = guestNoise
		}
		results, err := g.boot(ctx, slices.Repeat([]guestRun{run}, atOnce))
		if err != nil {
			return runfile.Result{}, err
		}
		g.honest[noise] = results
	}
	r := g.honest[noise][0]
	g.honest[noise] = g.honest[noise][1:]
	return r, nil
}

// boot makes runs in one guest, and returns the results of its collectors.
func (g *guestWorld) boot(ctx context.Context, runs []guestRun) ([]runfile.Result, error) {
	job, err := os.MkdirTemp(g.rig.Dir, "guest")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(job) }()
	if err := g.writeJob(job, runs); err != nil {
		return nil, err
	}
	out := job + ".tar"
	defer func() { _ = os.Remove(out) }()
	limit := guestSeconds + len(runs)*guestRunSeconds
	ctx, cancel := context.WithTimeout(ctx, time.Duration(limit+60)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "hack/vm/run.sh", "boot", "--job", job, "--out", out, "--timeout", strconv.Itoa(limit))
	// The script ends QEMU if it is asked to end, but cannot if it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("boot the guest: %w: %s", err, said[max(0, len(said)-2000):])
	}
	return resultsIn(out, len(runs))
}

// writeJob writes the files that the guest finds in /job.
func (g *guestWorld) writeJob(job string, runs []guestRun) error {
	program, err := os.ReadFile(g.rig.Nfsbench)
	if err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(filepath.Join(job, "run"), guestScript, 0o755),
		os.WriteFile(filepath.Join(job, "nfsbench"), program, 0o755))
	for n, r := range runs {
		dir := filepath.Join(job, strconv.Itoa(n+1))
		var plan bytes.Buffer
		err = errors.Join(err, os.Mkdir(dir, 0o755), runfile.WritePlan(&plan, r.plan),
			os.WriteFile(filepath.Join(dir, "plan.json"), plan.Bytes(), 0o644),
			os.WriteFile(filepath.Join(dir, "inject.sh"), []byte(r.inject+"\n"), 0o644))
	}
	return err
}

// maxGuestResult limits the size of each result that is read from a guest's disk.
const maxGuestResult = 16 << 20

// resultsIn finds the results in the archive of a guest.
func resultsIn(archive string, runs int) ([]runfile.Result, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	results, found := make([]runfile.Result, runs), 0
	for r := tar.NewReader(f); ; {
		head, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && found == runs:
			return results, nil
		case err != nil:
			return nil, fmt.Errorf("the guest left %d results of %d: %w", found, runs, err)
		case filepath.Base(head.Name) != runfile.ResultKey(0):
			continue
		}
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(head.Name)))
		if err != nil || n < 1 || n > runs {
			return nil, fmt.Errorf("the guest left %q", head.Name)
		}
		if results[n-1], err = runfile.ReadResult(io.LimitReader(r, maxGuestResult)); err != nil {
			return nil, err
		}
		found++
	}
}

// plan returns the plan of a run in a guest: random reads by the kernel's client.
func (g *guestWorld) plan() runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "believe"}, Clients: 1, Seed: 1, Schedule: g.rig.Schedule(),
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRandomRead, BlockSize: bench.Bytes(32 << 10), FileSize: *bench.Bytes(32 << 20), Jobs: 2, Depth: 2, Directory: "believe",
		}},
		Engine: runfile.Engine{
			Client: bench.ClientKernel, NFSVersion: "NFSv4.1", MountPath: "/mnt/nfs", RequireNFS: true,
		},
		Collect: runfile.Collect{IntervalMilliseconds: 500},
	}
}

// guestPlaces lists the places of this file. The guest is emulated, and the machine lacks the CPU for two.
func guestPlaces() []Place { return []Place{{Name: guestPlace, Lanes: 1, Open: openGuest}} }

// guestInjection is an Injection whose shell code is a format string for the strength's value.
type guestInjection struct {
	Injection

	shell string
	plan  func(p *runfile.Plan, s Strength)
}

func (i guestInjection) run(w *guestWorld, s Strength) guestRun {
	r := guestRun{plan: w.plan()}
	if i.plan != nil {
		i.plan(&r.plan, s)
	}
	if !s.None() {
		r.inject = fmt.Sprintf(i.shell, s.Value)
	}
	return r
}

// ourClient makes our own client carry the load.
func ourClient(p *runfile.Plan, _ Strength) {
	p.Engine = runfile.Engine{
		Client: bench.ClientDirectNFS, NFSVersion: "NFSv4.1", Server: "server", Export: "/export/data",
		Channels: runfile.ChannelsTo("127.0.0.1", "127.0.0.2"), RequireNFS: true,
	}
}

// guestInjections lists the injections of this file.
func guestInjections() []Injection {
	var all []Injection
	for _, g := range append(networkOfGuests(), mountsOfGuests()...) {
		i := g.Injection
		i.Kind, i.Place, i.Alone = "kernel", guestPlace, true // QEMU needs a CPU that lanes would use
		i.Run = in(func(ctx context.Context, w *guestWorld, s Strength) (runfile.Result, error) {
			return w.run(ctx, g, s)
		})
		all = append(all, i)
	}
	return all
}

// networkOfGuests are injections into the guest's network: netem on its loopback.
func networkOfGuests() []guestInjection {
	return []guestInjection{
		{Injection: Injection{
			Name: "packets are lost, kernel's client", Strengths: wholePercents(.01, .1, 1),
			Expect: []judge.Code{judge.Retransmits},
		}, shell: "beside() { network 0 loss %g%%; }"},
		{Injection: Injection{
			Name: "packets are lost, our client", Strengths: wholePercents(.01, .1, 1),
			Expect: []judge.Code{judge.Retransmits},
		}, shell: "beside() { network 0 loss %g%%; }", plan: ourClient},
		{Injection: Injection{
			Name: "packets overtake others and come twice", Strengths: wholePercents(1, 10, 25),
			Expect: []judge.Code{judge.Retransmits},
		}, shell: "beside() { network 2 reorder %[1]g%% duplicate %[1]g%%; }", plan: ourClient},
		{Injection: Injection{
			Name: "the network becomes slower in the window", Strengths: []Strength{{"by 1 ms", 1}, {"by 5 ms", 5}, {"by 20 ms", 20}},
			Expect: []judge.Code{judge.NotSteady},
		}, shell: "beside() { sleep 3; network %g; }"},
		{Injection: Injection{
			Name: "the delay of the network varies", Strengths: []Strength{{"by 2 ms", 2}, {"by 10 ms", 10}},
			Expect: []judge.Code{judge.NotSteady, judge.Retransmits}, // a packet with a shorter delay overtakes others
		}, shell: "beside() { network %[1]g %[1]gms; }"},
	}
}

// mountsOfGuests are injections into the mount and the machine.
func mountsOfGuests() []guestInjection {
	return []guestInjection{
		{Injection: Injection{
			Name: "the volume is mounted with another version", Strengths: []Strength{{"NFSv3 for NFSv4.1", 3}, {"NFSv4.0 for NFSv4.1", 4}},
			Expect: []judge.Code{judge.ProtocolMismatch},
		}, shell: "OPTIONS=vers=%g; [ $OPTIONS = vers=4 ] && OPTIONS=vers=4.0 || OPTIONS=vers=3,nolock"},
		{
			Injection: Injection{
				Name: "a local file system is in the place of the mount", Strengths: []Strength{{"ext4", 1}},
				Expect: []judge.Code{judge.NotNFS},
			}, shell: "before() { OPTIONS=''; mkdir -p /export/data/local && mount --bind /export/data/local /mnt/nfs; } # %g",
			plan: func(p *runfile.Plan, _ Strength) { p.Engine.RequireNFS = false },
		},
		{Injection: Injection{
			Name: "another process reads on the same mount", Strengths: []Strength{{"now and then", .5}, {"all the time", 0}},
			Expect: []judge.Code{judge.ForeignLoad},
		}, shell: "beside() { while injecting; do dd if=/mnt/nfs/believe/c0-j0.dat of=/dev/null bs=32k count=64 iflag=direct 2>/dev/null; sleep %g; done; }"},
		{Injection: Injection{
			Name: "other processes keep the client busy", Strengths: []Strength{{"one of two CPUs", 1}, {"both CPUs", 2}, {"twice both", 4}},
			Expect: []judge.Code{judge.ClientCPUBound},
		}, shell: "beside() { for n in $(seq %g); do while injecting; do :; done & done; wait; }"},
		{Injection: Injection{
			Name: "the mount has sync and noac", Strengths: []Strength{{"both", 1}},
		}, shell: "OPTIONS=vers=4.1,sync,noac # %g"},
	}
}
