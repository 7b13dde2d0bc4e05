package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// task is one unit of work of a lane: some runs in one world, one after the other.
type task struct {
	name  string
	place string
	phase phase
	runs  int
	do    func(ctx context.Context, w World, to sink) error
}

// sink receives the runs.
type sink struct {
	emit func(Record)
	// keep stores a result and returns its name; nil = results are not stored.
	keep func(runfile.Result) (string, error)
}

func (s sink) names(results ...runfile.Result) ([]string, error) {
	if s.keep == nil {
		return nil, nil
	}
	var out []string
	for _, r := range results {
		name, err := s.keep(r)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// phase is when a task has its turn. The noisy phase has only runs with noise, because there is
// only one machine.
type phase int

const (
	quiet phase = iota
	noisy
	alone // one lane only
)

// noisyLanes are few: to each lane, the others are machine noise too.
const noisyLanes = 4

// session goes through all tasks, in parallel lanes.
type session struct {
	rig    *Rig
	lanes  int
	first  int // number of the first lane
	places []Place
	tasks  []task
	now    func() time.Time
	to     sink

	began   time.Time
	numbers chan int     // free lane numbers
	done    atomic.Int32 // runs
	slots   chan struct{}
}

// aaTasks are runs without an injection: half of them with noise, and fewer of those that run alone.
func aaTasks(kinds []Honest, runs int) []task {
	var out []task
	for i := 0; len(out) < runs; i++ {
		k, round := kinds[i%len(kinds)], i/len(kinds)
		noise := round%2 == 1
		if k.Alone && round%6 > 1 {
			continue
		}
		when := quiet
		if noise {
			when = noisy
		}
		if k.Alone {
			when = alone
		}
		out = append(out, task{
			name: "nothing injected: " + k.Name, place: k.Place, phase: when, runs: 1,
			do: func(ctx context.Context, w World, to sink) error {
				result, err := k.Run(ctx, w, noise)
				if err != nil {
					return err
				}
				names, err := to.names(result)
				to.emit(Record{AA: &AARun{Load: k.Name, Place: k.Place, Noise: noise, Outcome: outcomeOf(result, false)}, Results: names})
				return err
			},
		})
	}
	return out
}

// trialTasks make each injection trials times. All strengths of a trial share one honest run as
// their pair. It is the first, the last and a middle run in turn.
func trialTasks(all []Injection, trials int) []task {
	var out []task
	for i := range trials {
		for _, in := range all {
			if in.Alone && i%2 == 1 { // they take long, because no other lane works meanwhile
				continue
			}
			at := []int{0, len(in.Strengths), len(in.Strengths) / 2}[i%3]
			order := slices.Insert(slices.Clone(in.Strengths), at, Strength{})
			when := quiet
			if in.Alone {
				when = alone
			}
			out = append(out, task{
				name: in.Name, place: in.Place, phase: when, runs: len(order),
				do: func(ctx context.Context, w World, to sink) error { return trial(ctx, w, in, order, to) },
			})
		}
	}
	return out
}

func trial(ctx context.Context, w World, in Injection, order []Strength, to sink) error {
	results := make([]runfile.Result, len(order))
	honest := 0
	for i, s := range order {
		var err error
		if results[i], err = in.Run(ctx, w, s); err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(s.Name, "nothing injected"), err)
		}
		if s.None() {
			honest = i
		}
	}
	names, err := to.names(results...)
	again := false
	for i, s := range order {
		if s.None() {
			continue
		}
		r := Record{Trial: new(pair(in, s, outcomeOf(results[honest], in.Short), outcomeOf(results[i], in.Short)))}
		r.Trial.Again, again = again, true
		if names != nil {
			r.Results = []string{names[honest], names[i]}
		}
		to.emit(r)
	}
	return err
}

// run goes through all tasks. It reports tasks that fail and continues with the others.
func (s *session) run(ctx context.Context) error {
	s.began = s.now()
	if err := s.number(); err != nil {
		return err
	}
	s.slots = make(chan struct{}, s.lanes)
	runs, took := s.estimate()
	s.rig.Log("%d runs, about %s", runs, took.Round(time.Minute))
	rand.Shuffle(len(s.tasks), func(i, j int) { s.tasks[i], s.tasks[j] = s.tasks[j], s.tasks[i] })
	var mu sync.Mutex
	var errs []error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	for _, now := range []phase{quiet, noisy, alone} {
		var wait sync.WaitGroup
		for _, p := range s.places {
			queue := s.queue(p, now)
			for range s.width(p, now) {
				wait.Go(func() { fail(s.lane(ctx, p, queue)) })
			}
			if now == alone {
				wait.Wait()
			}
		}
		wait.Wait()
	}
	return errors.Join(errors.Join(errs...), ctx.Err())
}

// estimate returns roughly how long all runs take. Each run needs a second or two to start and end
// besides its schedule.
func (s *session) estimate() (runs int, took time.Duration) {
	one := map[string]time.Duration{}
	for _, p := range s.places {
		schedule := s.rig.lasting(p).Schedule()
		one[p.Name] = time.Duration(schedule.BaselineSeconds+schedule.WarmupSeconds+schedule.DurationSeconds)*time.Second + 1500*time.Millisecond
	}
	for _, t := range s.tasks {
		runs += t.runs
		took += one[t.place] * time.Duration(t.runs) / time.Duration(s.atOnce(t.phase))
	}
	return runs, took
}

// atOnce returns the number of concurrent runs in a phase.
func (s *session) atOnce(now phase) int {
	return map[phase]int{quiet: s.lanes, noisy: min(s.lanes, noisyLanes), alone: 1}[now]
}

// width returns the number of worlds of a place that are open at once in a phase.
func (s *session) width(p Place, now phase) int {
	width := s.atOnce(now)
	if p.Lanes > 0 {
		width = min(width, p.Lanes)
	}
	return min(width, len(s.queue(p, now)))
}

// laneNumbers is the number of lanes with their own names and subnets. The subnets of pNFS are 10.233
// to 10.235, for sixteen lanes each; 10.236 is that of other servers.
const laneNumbers = 48

// number creates the numbers for the lanes that are open at once.
func (s *session) number() error {
	most := 0
	for _, now := range []phase{quiet, noisy, alone} {
		n := 0
		for _, p := range s.places {
			n += s.width(p, now)
		}
		most = max(most, n)
	}
	if s.first < 0 || s.first+most > laneNumbers {
		return fmt.Errorf("--first-lane %d: this run opens %d lanes at once, and there are only %d in all", s.first, most, laneNumbers)
	}
	s.numbers = make(chan int, most)
	for i := range most {
		s.numbers <- s.first + i
	}
	return nil
}

// queue returns the tasks of a place in a phase.
func (s *session) queue(p Place, now phase) <-chan task {
	queue := make(chan task, len(s.tasks))
	for _, t := range s.tasks {
		if t.place == p.Name && t.phase == now {
			queue <- t
		}
	}
	close(queue)
	return queue
}

// lane opens a world and takes tasks until there are no more.
func (s *session) lane(ctx context.Context, p Place, queue <-chan task) (err error) {
	var w World
	number := <-s.numbers
	defer func() {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
		s.numbers <- number
	}()
	for t := range queue {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return err
		}
		if w == nil {
			opened, failed := p.Open(ctx, s.rig.lasting(p), number)
			if failed != nil {
				<-s.slots
				return errors.Join(err, fmt.Errorf("open %s: %w", p.Name, failed))
			}
			w = opened
		}
		if failed := t.do(ctx, w, s.to); failed != nil && ctx.Err() == nil {
			s.to.emit(Record{Error: fmt.Sprintf("%s at %s: %v", t.name, t.place, failed)})
			err, w = errors.Join(err, w.Close()), nil // the injection may still be there
		}
		<-s.slots
		s.progress(t)
	}
	return err
}

// progress shows how far all runs are and when they will be done.
func (s *session) progress(last task) {
	done, all := int(s.done.Add(int32(last.runs))), 0
	for _, t := range s.tasks {
		all += t.runs
	}
	took := s.now().Sub(s.began)
	left := time.Duration(float64(took) / float64(done) * float64(all-done))
	s.rig.Log("%d of %d runs, about %s left: %s", done, all, left.Round(time.Second), last.name)
}
