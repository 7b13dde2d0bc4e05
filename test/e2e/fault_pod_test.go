package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// loaderKilled ends the loader as the kernel does when memory runs out, in each
// span of its course. While it measures: TestALoaderThatIsKilledLeavesWhatItMeasured.
func loaderKilled() map[string]func(*plot) {
	in := func(span string, mods ...gen.Mod) func(*plot) {
		return func(p *plot) { killLoader(p.t, p, span, mods...) }
	}
	return map[string]func(*plot){
		"the loader is killed before it says anything": func(p *plot) {
			t := p.t
			b := p.run(t)
			pod := p.running(t, b, 1)[0]
			pod.signal(t, "load", syscall.SIGKILL)
			p.crashed(t, b, "killed by signal 9", "the loader ended without a last word")
		},
		"the loader is killed while it connects": func(p *plot) {
			t := p.t
			p.array.Cut(t, p.lif)
			defer p.array.Heal(t, p.lif)
			killLoader(t, p, runfile.SpanConnect)
		},
		"the loader is killed while it fills":            in(runfile.SpanFill, fileSize("128Mi")),
		"the loader is killed while it waits for others": killWaiting,
		"the loader is killed in the idle baseline":      in(runfile.SpanBaseline, baseline(5)),
		"the loader is killed while it warms up":         in(runfile.SpanWarmup, warmup(5)),
		"the loader is killed while it cools down":       in(runfile.SpanCooldown, twice),
		"the loader is killed while it verifies":         in(runfile.SpanVerify),
		"the loader is killed while it removes its files": in(runfile.SpanClean, raw(func(w *v1alpha1.RawWorkload) {
			w.Jobs = 200 // so many files take a moment to remove
		}), fileSize("64Ki"), blockSize("64Ki")),
	}
}

func warmup(seconds int32) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { b.Spec.Run.WarmupSeconds = &seconds }
}

func twice(b *v1alpha1.NFSBenchmark) {
	five := int32(5)
	b.Spec.Run.Repetitions, b.Spec.Run.CooldownSeconds, b.Spec.Run.DurationSeconds = 2, &five, 3
}

func killLoader(t *testing.T, p *plot, span string, mods ...gen.Mod) {
	t.Helper()
	b := p.run(t, mods...)
	pod := p.running(t, b, 1)[0]
	pid := pod.process(t, "load")
	pod.await(t, span)
	send(t, pid, syscall.SIGKILL)
	failed := p.crashed(t, b, "killed by signal 9", "last seen in "+span)
	if len(failed.Spans) == 0 || failed.Spans[len(failed.Spans)-1].Kind != span {
		t.Errorf("the result does not tell how far the load came: %+v", failed.Spans)
	}
	if span == runfile.SpanCooldown && len(failed.Repetitions) != 1 {
		t.Errorf("%d repetitions are kept of the one that was measured", len(failed.Repetitions))
	}
}

// crashed demands that a run ends as one whose loader was killed, cleans up, and
// keeps what it knows.
func (p *plot) crashed(t *testing.T, b *v1alpha1.NFSBenchmark, words ...string) runfile.Load {
	t.Helper()
	failed := p.finished(t, b, endsWithin)
	wantFailure(t, failed, runfile.FailureLoaderCrashed, words...)
	load := p.results(t, failed)[0].Clients[0].Load
	if !load.Partial || load.Failure == nil || load.Failure.Code != runfile.FailureLoaderCrashed {
		t.Errorf("partial: %v, failure: %+v", load.Partial, load.Failure)
	}
	p.cleanedUp(t, b)
	p.noFiles(t)
	return load
}

// killWaiting kills the one of two loaders that is ready, while the other is
// held.
func killWaiting(p *plot) {
	t := p.t
	b := p.run(t, gen.Clients(2), fileSize("64Mi"))
	pods := p.running(t, b, 2)
	held, victim := pods[0].process(t, "load"), pods[1].process(t, "load")
	pods[0].await(t, runfile.SpanFill)
	send(t, held, syscall.SIGSTOP)
	pods[1].await(t, runfile.SpanWait)
	send(t, victim, syscall.SIGKILL)
	send(t, held, syscall.SIGCONT) // it is to be told to stop
	failed := p.finished(t, b, endsWithin)
	wantFailure(t, failed, runfile.FailureLoaderCrashed, "killed by signal 9", "last seen in "+runfile.SpanWait)
	p.cleanedUp(t, b)
	p.noFiles(t)
}

// awaitReady waits until one of two clients is ready, and holds the other.
func awaitReady(t *testing.T, p *plot, b *v1alpha1.NFSBenchmark, pods []inside) {
	t.Helper()
	pods[1].await(t, runfile.SpanFill)
	pods[1].signal(t, "load", syscall.SIGSTOP)
	pods[0].await(t, runfile.SpanWait)
	p.until(t, b, 20*time.Second, "one client that is ready", func(b *v1alpha1.NFSBenchmark) bool {
		return b.Status.Progress != nil
	})
	time.Sleep(3 * time.Second) // its progress is published
}

func resume(t *testing.T, pods []inside) {
	t.Helper()
	pods[1].signal(t, "load", syscall.SIGCONT)
}

// collectorKilled ends the collector in each of its phases. The run goes on, the
// kubelet starts it again, and it goes on with what it had.
func collectorKilled() map[string]func(*plot) {
	return map[string]func(*plot){
		"the collector is killed before it is ready": func(p *plot) {
			t := p.t
			b := p.run(t)
			p.running(t, b, 1)[0].signal(t, "collect", syscall.SIGKILL)
			p.undisturbed(t, b)
		},
		"the collector is killed while files are filled": func(p *plot) {
			t := p.t
			b := p.run(t, fileSize("48Mi"))
			pod := p.running(t, b, 1)[0]
			pod.await(t, runfile.SpanFill)
			pod.signal(t, "collect", syscall.SIGKILL)
			toldOfRestart(t, p.undisturbed(t, b))
		},
		"the collector is killed in the window": func(p *plot) {
			t := p.t
			b := p.run(t, lasting(8))
			pod := p.running(t, b, 1)[0]
			pod.await(t, runfile.SpanMeasure)
			time.Sleep(3 * time.Second) // of samples that must not be lost
			pod.signal(t, "collect", syscall.SIGKILL)
			done := p.undisturbed(t, b)
			toldOfRestart(t, done)
			wholeWindow(t, p.results(t, done)[0].Clients[0])
		},
		"the collector is killed before it publishes": func(p *plot) {
			t := p.t
			b := p.run(t)
			pod := p.running(t, b, 1)[0]
			pod.await(t, runfile.SpanVerify)
			collector := pod.process(t, "collect")
			send(t, collector, syscall.SIGSTOP) // it sees nothing of the end
			pod.await(t, runfile.SpanDone)
			send(t, collector, syscall.SIGKILL)
			toldOfRestart(t, p.undisturbed(t, b))
		},
	}
}

// toldOfRestart demands that the status says what the restart has cost.
func toldOfRestart(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	f := finding(b, string(judge.NotCollected))
	if f == nil {
		t.Fatalf("no finding tells of the restart: %+v", b.Status.Findings)
	}
	mustSay(t, f.Message, "restarted", "nothing was sampled for")
}

// wholeWindow demands that the window as it was observed reaches from the time
// before the restart to its end.
func wholeWindow(t *testing.T, cl runfile.ClientResult) {
	t.Helper()
	w := cl.Observed.Windows[len(cl.Observed.Windows)-1]
	rep := cl.Load.Repetitions[0]
	if seen, all := w.End.Sub(w.Start), rep.End.Sub(rep.Start); seen < all*3/4 {
		t.Errorf("of a window of %v only %v were observed", all, seen)
	}
}
