package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// volume is one export: its owner, its calls in flight, and its counters.
type volume struct {
	name, junction string
	export         uint16

	mu       sync.Mutex
	changed  *sync.Cond
	owner    string
	held     bool
	inFlight int

	limit atomic.Pointer[limit] // nil = none

	ops [4]opCounts // by kind
}

type opCounts struct{ ops, bytes, micros atomic.Uint64 }

// enter counts a call in and returns the owner of the volume. During a hold it waits, because a
// hold always ends, or without wait returns not ok.
func (v *volume) enter(wait bool) (owner string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.held {
		if !wait {
			return "", false
		}
		v.changed.Wait()
	}
	v.inFlight++
	return v.owner, true
}

func (v *volume) leave(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inFlight -= n
	if v.held {
		v.changed.Broadcast()
	}
}

// hold lets no call in and returns when none is in flight. When the context ends
// first the volume is as before.
func (v *volume) hold(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.changed.Broadcast()
	})
	defer stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held {
		return fmt.Errorf("volume %s is held already", v.name)
	}
	v.held = true
	for v.inFlight > 0 {
		if ctx.Err() != nil {
			v.held = false
			v.changed.Broadcast()
			return fmt.Errorf("volume %s: %d calls still have no reply: %w", v.name, v.inFlight, ctx.Err())
		}
		v.changed.Wait()
	}
	return nil
}

// release lets calls proceed to the owner.
func (v *volume) release(owner string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.owner, v.held = owner, false
	v.changed.Broadcast()
}

func (v *volume) count(k kind, bytes uint32, took time.Duration) {
	c := &v.ops[k]
	c.ops.Add(1)
	c.bytes.Add(uint64(bytes))
	c.micros.Add(uint64(max(took, 0).Microseconds()))
}

func (v *volume) counts() ontap.VolumeCounters {
	of := func(k kind) ontap.OpCounters {
		c := &v.ops[k]
		return ontap.OpCounters{Ops: c.ops.Load(), Bytes: c.bytes.Load(), LatencyMicros: c.micros.Load()}
	}
	return ontap.VolumeCounters{Read: of(kindRead), Write: of(kindWrite), Other: of(kindOther)}
}

// volumes finds volumes by what calls carry.
type volumes struct {
	mu  sync.RWMutex
	all []*volume // few; the first is where calls go that name none
}

// find returns a volume, nil if there is none; the caller holds mu.
func (vs *volumes) find(is func(*volume) bool) *volume {
	if i := slices.IndexFunc(vs.all, is); i >= 0 {
		return vs.all[i]
	}
	return nil
}

func (vs *volumes) add(v control.Volume) error {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.find(func(o *volume) bool { return o.name == v.Name || o.export == v.Export }) != nil {
		return fmt.Errorf("volume %s (export %d) is known already", v.Name, v.Export)
	}
	n := &volume{name: v.Name, junction: v.Junction, export: v.Export, owner: v.Owner}
	n.changed = sync.NewCond(&n.mu)
	vs.all = append(vs.all, n)
	return nil
}

// remove forgets a volume, but not the first: somebody must answer what names none.
func (vs *volumes) remove(name string) error {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.all[0].name == name {
		return fmt.Errorf("volume %s is the first and stays", name)
	}
	vs.all = slices.DeleteFunc(vs.all, func(v *volume) bool { return v.name == name })
	return nil
}

func (vs *volumes) named(name string) (*volume, error) {
	vs.mu.RLock()
	defer vs.mu.RUnlock()
	if v := vs.find(func(v *volume) bool { return v.name == name }); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("there is no volume %q", name)
}

// of returns the volume of a call, nil if none, and the volume whose owner must answer it. A file
// handle names the volume. A MOUNT has none, and neither has the walk from the root of NFSv4, but
// they go to the owner of the volume that they lead to.
func (vs *volumes) of(h header) (about, towards *volume) {
	vs.mu.RLock()
	defer vs.mu.RUnlock()
	if h.hasFH {
		about = vs.find(func(v *volume) bool { return v.export == h.export })
	}
	at := about
	if at == nil {
		at = vs.find(func(v *volume) bool { return h.path == v.junction || strings.HasPrefix(h.path, v.junction+"/") })
	}
	return about, cmp.Or(at, vs.all[0])
}

func (vs *volumes) counts() map[string]ontap.VolumeCounters {
	vs.mu.RLock()
	defer vs.mu.RUnlock()
	all := map[string]ontap.VolumeCounters{}
	for _, v := range vs.all {
		all[v.name] = v.counts()
	}
	return all
}
