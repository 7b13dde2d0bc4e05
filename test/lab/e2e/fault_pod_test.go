package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// loaderKilled ends the loader as the kernel does when memory runs out: with no
// file written, with half of its files, beside another client, with a partial
// result, and with a finished repetition.
func loaderKilled() map[string]func(*plot) {
	return map[string]func(*plot){
		"the loader is killed before it writes anything": func(p *plot) {
			b := p.run(p.t)
			p.running(p.t, b, 1)[0].signal(p.t, "load", syscall.SIGKILL)
			p.crashed(p.t, b, "killed by signal 9", "the loader ended without a final event")
		},
		"the loader is killed while it fills":            func(p *plot) { killLoader(p, runfile.SpanFill, fileSize("128Mi")) },
		"the loader is killed while it waits for others": killWaiting,
		"the loader is killed while it measures": func(p *plot) {
			b, _ := killLoader(p, runfile.SpanMeasure, lasting(600))
			partialResult(p.t, p.cluster, b, runfile.FailureLoaderCrashed)
		},
		"the loader is killed between two repetitions": func(p *plot) {
			_, load := killLoader(p, runfile.SpanCooldown, twice)
			if len(load.Repetitions) != 1 {
				p.t.Errorf("%d repetitions are kept of the one that was measured", len(load.Repetitions))
			}
		},
	}
}

// twice has a pause between its repetitions that is longer than any test takes to see it.
func twice(b *v1alpha1.NFSBenchmark) {
	b.Spec.Run.Repetitions, b.Spec.Run.CooldownSeconds, b.Spec.Run.DurationSeconds = 2, new(int32(600)), 3
}

// killLoader kills the loader in a span, and returns what is known of the run.
func killLoader(p *plot, span string, mods ...gen.Mod) (*v1alpha1.NFSBenchmark, runfile.Load) {
	t := p.t
	t.Helper()
	b := p.run(t, mods...)
	pod := p.running(t, b, 1)[0]
	pid := pod.process(t, "load")
	pod.await(t, span)
	if span == runfile.SpanMeasure {
		pod.saved(t)
	}
	send(t, pid, syscall.SIGKILL)
	failed, load := p.crashed(t, b, "killed by signal 9", "last seen in "+span)
	if len(load.Spans) == 0 || load.Spans[len(load.Spans)-1].Kind != span {
		t.Errorf("the result does not tell how far the load came: %+v", load.Spans)
	}
	return failed, load
}

// crashed demands that a run ends as one whose loader was killed, cleans up, and
// keeps what it knows.
func (p *plot) crashed(t *testing.T, b *v1alpha1.NFSBenchmark, words ...string) (*v1alpha1.NFSBenchmark, runfile.Load) {
	t.Helper()
	failed := p.finished(t, b)
	wantFailure(t, failed, runfile.FailureLoaderCrashed, words...)
	load := p.results(t, failed)[0].Clients[0].Load
	if !load.Partial || load.Failure == nil || load.Failure.Code != runfile.FailureLoaderCrashed {
		t.Errorf("partial: %v, failure: %+v", load.Partial, load.Failure)
	}
	p.cleanedUp(t, b)
	p.noFiles(t)
	return failed, load
}

// killWaiting kills the one of two loaders that is ready, while the other is
// held.
func killWaiting(p *plot) {
	t := p.t
	b := p.run(t, gen.Clients(2), fileSize("64Mi"))
	pods := p.running(t, b, 2)
	held := pods[0].hold(t, runfile.SpanFill)
	pods[1].await(t, runfile.SpanWait)
	pods[1].signal(t, "load", syscall.SIGKILL)
	send(t, held, syscall.SIGCONT) // it is to be told to stop
	failed := p.finished(t, b)
	wantFailure(t, failed, runfile.FailureLoaderCrashed, "killed by signal 9", "last seen in "+runfile.SpanWait)
	p.cleanedUp(t, b)
	p.noFiles(t)
}

// collectorKilled ends the collector. The run goes on, the kubelet starts the
// collector again, and it goes on with what it had.
func collectorKilled() map[string]func(*plot) {
	return map[string]func(*plot){
		"the collector is killed in the window": func(p *plot) {
			t := p.t
			b := p.run(t, lasting(600)) // until the collector is back
			pod := p.running(t, b, 1)[0]
			pod.measured(t) // samples that must not be lost
			pod.signal(t, "collect", syscall.SIGKILL)
			killed := time.Now()
			pod.sampledAfter(t, killed)
			p.suspend(t, b)
			cancelled := p.phase(t, b, v1alpha1.PhaseCancelled)
			partialResult(t, p.cluster, cancelled, runfile.FailureCancelled)
			namesRestart(t, cancelled)
			reachesOver(t, p.results(t, cancelled)[0].Clients[0], killed)
			p.startedOnce(t, b)
			p.cleanedUp(t, b)
			p.noFiles(t)
		},
		"the collector is killed before it publishes": func(p *plot) {
			t := p.t
			const window = 10
			b := p.run(t, lasting(window))
			pod := p.running(t, b, 1)[0]
			collector := pod.process(t, "collect")
			// The loader comes to its end only when the collector, which has seen all of the window, is stopped.
			loader := pod.hold(t, runfile.SpanMeasure)
			pod.sampledAfter(t, pod.began(t, runfile.SpanMeasure).Add(window*time.Second))
			send(t, collector, syscall.SIGSTOP)
			send(t, loader, syscall.SIGCONT)
			pod.await(t, runfile.SpanDone)
			send(t, collector, syscall.SIGKILL)
			namesRestart(t, p.undisturbed(t, b))
		},
	}
}

// namesRestart demands that the status says what the restart has cost.
func namesRestart(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	f := finding(b, judge.NotCollected)
	if f == nil {
		t.Fatalf("no finding names the restart: %+v", b.Status.Findings)
	}
	mustSay(t, f.Message, "restarted", "nothing was sampled for")
}

// reachesOver demands that the window as it was observed began before the collector was killed
// and ended after that.
func reachesOver(t *testing.T, cl runfile.ClientResult, killed time.Time) {
	t.Helper()
	w := cl.Observed.Windows[len(cl.Observed.Windows)-1]
	rep := cl.Load.Repetitions[0]
	if w.NodeCPUPermille == nil || !w.Start.Before(killed) || !w.End.After(killed) {
		t.Errorf("the collector was killed at %v, and observed from %v to %v, CPU %v", killed, w.Start, w.End, w.NodeCPUPermille)
	}
	measure.Expect(t, "what was observed", "% of the window", measure.AtLeast(75), 100*w.End.Sub(w.Start).Seconds()/rep.End.Sub(rep.Start).Seconds())
}
