package growth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// collectors play the collectors of all runs: for each pod that runs they
// publish progress and then a result, and let the pod end.
type collectors struct {
	t    *testing.T
	c    client.Client
	gate gate
	held held

	mu    sync.Mutex
	known map[types.UID]bool // pods
	at    map[string]int     // which run of its target is under way, from 1
	group sync.WaitGroup
}

func newCollectors(t *testing.T, k *cluster) *collectors {
	t.Helper()
	s := &collectors{t: t, c: k.c, known: map[types.UID]bool{}, at: map[string]int{}}
	t.Cleanup(func() {
		s.release()
		s.gate.openAll()
		s.group.Wait()
	})
	return s
}

// see is told of every change of a load pod.
func (s *collectors) see(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Status.Phase != corev1.PodRunning || s.known[p.UID] {
		return
	}
	s.known[p.UID] = true
	target := targetOf(benchmarkOf(p))
	s.at[target]++
	turn := s.at[target]
	s.group.Go(func() {
		if err := s.play(s.t.Context(), p, turn); err != nil && s.t.Context().Err() == nil {
			s.t.Errorf("play the collector of %s: %v", p.Name, err)
		}
	})
}

// newWave counts the runs of each target from 1 again.
func (s *collectors) newWave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.at)
}

// play is the life of one collector.
func (s *collectors) play(ctx context.Context, p *corev1.Pod, turn int) error {
	names := manifest.NamesOf(&v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Name: benchmarkOf(p)}})
	cm := &corev1.ConfigMap{}
	if err := s.c.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: names.Plan}, cm); err != nil {
		return err
	}
	plan, err := runfile.ReadPlan(strings.NewReader(cm.Data[manifest.PlanKey]))
	if err != nil {
		return err
	}
	into := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: names.Result}}
	for i, span := range []string{runfile.SpanFill, runfile.SpanBaseline, runfile.SpanMeasure, runfile.SpanMeasure} {
		progress := runfile.Progress{Event: runfile.Event{Span: span, Repetition: 1, Percent: int32(20 * (i + 1)), BytesPerSecond: 200e6}}
		if err := s.publish(ctx, into, progress, nil); err != nil {
			return err
		}
		time.Sleep(150 * time.Millisecond)
	}
	s.gate.pass(turn)
	if err := s.linger(ctx, into, benchmarkOf(p)); err != nil {
		return err
	}
	var packed bytes.Buffer
	result := runfile.Result{Plan: plan, Clients: []runfile.ClientResult{gen.Client(s.t, plan, 0, time.Now())}}
	if _, err := runfile.WriteResultGzip(&packed, result); err != nil {
		return err
	}
	last := runfile.Progress{Event: runfile.Event{Span: runfile.SpanDone, Repetition: 1, Percent: 100}, Final: true}
	if err := s.publish(ctx, into, last, packed.Bytes()); err != nil {
		return err
	}
	ended := []byte(`{"metadata":{"annotations":{"growth.nfsbench.io/loader":"ended"}}}`)
	// The manager may have removed the pod already: it has the result.
	return client.IgnoreNotFound(s.c.Patch(ctx, p.DeepCopy(), client.RawPatch(types.MergePatchType, ended)))
}

// held are benchmarks that go on measuring until they are released.
type held struct {
	names []string
	hush  bool // and publish nothing meanwhile
}

func (s *collectors) hold(names []string) { s.setHeld(held{names: names}) }
func (s *collectors) release()            { s.setHeld(held{}) }

func (s *collectors) hush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.hush = true
}

func (s *collectors) setHeld(h held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = h
}

func (s *collectors) isHeld(name string) (yes, hush bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.held.names, name), s.held.hush
}

// linger publishes progress as often as collectors do, as long as the benchmark is
// held.
func (s *collectors) linger(ctx context.Context, into *corev1.ConfigMap, name string) error {
	for i := int64(0); ctx.Err() == nil; i++ {
		yes, hush := s.isHeld(name)
		if !yes {
			return nil
		}
		if !hush && i%20 == 0 {
			e := runfile.Event{Time: time.Now(), Span: runfile.SpanMeasure, Repetition: 1, Percent: int32(80 + min(i/100, 19)), BytesPerSecond: 200e6 + i, OpsPerSecond: 200 + i}
			if err := s.publish(ctx, into, runfile.Progress{Event: e}, nil); err != nil {
				return err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

// publish is one patch of the ConfigMap, as collectors send it.
func (s *collectors) publish(ctx context.Context, cm *corev1.ConfigMap, progress runfile.Progress, result []byte) error {
	raw, err := json.Marshal(progress)
	if err != nil {
		return err
	}
	patch := map[string]any{"data": map[string]string{runfile.ProgressKey(0): string(raw)}}
	if result != nil {
		patch["binaryData"] = map[string][]byte{runfile.ResultKey(0): result}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	if err := s.c.Patch(ctx, cm, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("publish in %s: %w", cm.Name, err)
	}
	return nil
}

// gate holds the n-th run of every target, so that the queues stand still while
// they are looked at.
type gate struct {
	mu     sync.Mutex
	closed map[int]chan struct{}
	held   map[int]int
}

func (g *gate) shut(turns ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.held = map[int]chan struct{}{}, map[int]int{}
	for _, n := range turns {
		g.closed[n] = make(chan struct{})
	}
}

func (g *gate) pass(turn int) {
	g.mu.Lock()
	wait := g.closed[turn]
	if wait != nil {
		g.held[turn]++
	}
	g.mu.Unlock()
	if wait != nil {
		<-wait
	}
}

func (g *gate) holds(turn int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[turn]
}

func (g *gate) open(turn int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.closed[turn]; wait != nil {
		close(wait)
		delete(g.closed, turn)
	}
}

func (g *gate) openAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for turn, wait := range g.closed {
		close(wait)
		delete(g.closed, turn)
	}
}
