package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/nfs/server/counters"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// falsify changes the counters of the embedded server on their way. at is the share of the window
// that is over, negative before the window.
type falsify func(f *falsified, d *counters.Document, at, v float64)

// falsified is the state of one run.
type falsified struct {
	past []counters.Document // all documents read so far, oldest first
	kept *counters.Document
}

// counts changes all counts of a document.
func counts(d *counters.Document, change func(ops, bytes *uint64)) {
	one := func(c *counters.Counts) {
		change(&c.ReadOps, &c.ReadBytes)
		change(&c.WriteOps, &c.WrittenBytes)
	}
	one(&d.Total)
	for i := range d.Listeners {
		one(&d.Listeners[i].Counts)
	}
}

// liar is a proxy for the counters of a server.
type liar struct {
	lane     *Lane
	how      falsify
	strength Strength

	mu    sync.Mutex
	start time.Time // of the window
	state falsified
}

// ServeHTTP implements http.Handler.
func (f *liar) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	d, err := f.lane.counters()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	read := d
	read.Listeners = slices.Clone(d.Listeners)
	f.state.past = append(f.state.past, read)
	at := -1.0
	if !f.start.IsZero() {
		at = time.Since(f.start).Seconds() / float64(f.lane.rig.Seconds)
	}
	if !f.strength.None() {
		f.how(&f.state, &d, at, f.strength.Value)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // if the client is gone, it asks again
}

func (f *liar) begin(ctx context.Context, p *Process) error {
	if err := p.Await(ctx, runfile.SpanMeasure); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start = time.Now()
	return nil
}

// lie makes runs whose collector reads false counters.
func lie(how falsify) func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, l *Lane, strength Strength) (result runfile.Result, err error) {
		listener, err := listenIn(l.server, fmt.Sprintf("%s:%d", l.paths[0], portCountersRelay))
		if err != nil {
			return result, err
		}
		f := &liar{lane: l, how: how, strength: strength}
		serve := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: f}
		done := make(chan error, 1)
		go func() { done <- serve.Serve(listener) }()
		p := l.plan(randomRead())
		p.Collect.Sources = []runfile.Source{l.source(portCountersRelay)}
		result, err = l.run(ctx, p, Load{During: f.begin})
		err = errors.Join(err, serve.Close())
		if ended := <-done; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return result, err
	})
}

// reset makes counters restart at zero at a share of the window.
func reset(announced bool) falsify {
	return func(f *falsified, d *counters.Document, at, v float64) {
		if !f.keeps(at, v) {
			return
		}
		subtract(d, f.kept)
		if announced {
			d.StartTime = f.kept.Time
		}
	}
}

// keeps holds the last document from a share of the window on, and reports whether it has one.
func (f *falsified) keeps(at, v float64) bool {
	if at >= v && f.kept == nil {
		f.kept = new(f.past[len(f.past)-1])
	}
	return f.kept != nil
}

func stick(f *falsified, d *counters.Document, at, v float64) {
	if f.keeps(at, v) {
		now := d.Time
		*d = *f.kept
		d.Time = now
	}
}

func lag(f *falsified, d *counters.Document, _, v float64) {
	now := d.Time
	*d = f.past[0]
	for _, old := range f.past {
		if now.Sub(old.Time) >= seconds(v) {
			*d = old
		}
	}
	d.Time = now
}

func tooMuch(_ *falsified, d *counters.Document, _, v float64) {
	counts(d, func(ops, bytes *uint64) {
		*ops, *bytes = uint64(float64(*ops)*v), uint64(float64(*bytes)*v)
	})
}

func anotherVolume(_ *falsified, d *counters.Document, _, v float64) {
	more := uint64(d.Time.Sub(d.StartTime).Seconds() * v)
	for _, c := range []*counters.Counts{&d.Total, &d.Listeners[0].Counts} {
		c.ReadOps += more
		c.ReadBytes += more * blockBytes
	}
}

func jump(_ *falsified, d *counters.Document, at, v float64) {
	if at > 0.5 {
		d.Time = d.Time.Add(seconds(v))
	}
}

func counterInjections() []Injection {
	row := func(name string, strengths []Strength, how falsify, expect ...judge.Code) Injection {
		return Injection{
			Name: name, Kind: "counters", Place: placeEmbedded, Strengths: strengths, Expect: expect, Storage: true, Run: lie(how),
		}
	}
	late := []Strength{{"at a tenth of the window", 0.1}, {"at half", 0.5}, {"at nine tenths", 0.9}}
	return []Injection{
		row("counters restart at zero, their start time changes", late, reset(true)),
		row("counters restart at zero, their start time stays", late, reset(false)),
		row("counters stick, their time goes on", late, stick, judge.ArrayDisagrees),
		row("counters lag, their time does not say so", []Strength{{"1 s", 1}, {"3 s", 3}, {"8 s", 8}}, lag, judge.ArrayDisagrees),
		row("counters count too much", []Strength{{"1.05 times", 1.05}, {"1.2 times", 1.2}, {"2 times", 2}}, tooMuch, judge.ArrayDisagrees),
		row("counters count another volume's load", []Strength{{"15 operations/s", 15}, {"60 operations/s", 60}, {"300 operations/s", 300}},
			anotherVolume, judge.ForeignLoad, judge.ArrayDisagrees),
		row("the clock of the counters jumps", []Strength{{"0.5 s ahead", 0.5}, {"3 s ahead", 3}, {"3 s back", -3}, {"60 s ahead", 60}},
			jump, judge.ArrayDisagrees),
	}
}

// subtract makes counters start at another document.
func subtract(d, from *counters.Document) {
	one := func(c, f *counters.Counts) {
		c.ReadOps -= f.ReadOps
		c.WriteOps -= f.WriteOps
		c.ReadBytes -= f.ReadBytes
		c.WrittenBytes -= f.WrittenBytes
	}
	one(&d.Total, &from.Total)
	for i := range min(len(d.Listeners), len(from.Listeners)) {
		one(&d.Listeners[i].Counts, &from.Listeners[i].Counts)
	}
}

// counters queries the server, with one connection per request.
func (l *Lane) counters() (d counters.Document, err error) {
	conn, err := dialIn(l.server, fmt.Sprintf("%s:%d", l.paths[0], portCounters))
	if err != nil {
		return d, err
	}
	defer func() { _ = conn.Close() }() // only read
	request, err := http.NewRequest(http.MethodGet, "http://server/counters", nil)
	if err != nil {
		return d, err
	}
	request.Close = true
	if err := request.Write(conn); err != nil {
		return d, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return d, err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	return d, json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&d)
}
