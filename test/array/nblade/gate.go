package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/test/array/control"
)

// volume is one export: who owns it, what is in flight, what was counted.
type volume struct {
	name, junction string

	mu       sync.Mutex
	changed  *sync.Cond
	owner    string
	held     bool
	inFlight int

	ops [4]opCounts // by kind
}

type opCounts struct{ ops, bytes, micros atomic.Uint64 }

func newVolume(v control.Volume) *volume {
	n := &volume{name: v.Name, junction: v.Junction, owner: v.Owner}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// tryEnter counts a call in and returns who owns the volume, unless new calls
// must wait.
func (v *volume) tryEnter() (owner string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held {
		return "", false
	}
	v.inFlight++
	return v.owner, true
}

// enter waits until calls may pass: a hold always ends.
func (v *volume) enter() (owner string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.held {
		v.changed.Wait()
	}
	v.inFlight++
	return v.owner
}

// leave counts n calls out.
func (v *volume) leave(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inFlight -= n
	if v.held {
		v.changed.Broadcast()
	}
}

func (v *volume) ownedBy() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.owner
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

// release lets calls go on, to the owner.
func (v *volume) release(owner string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.owner, v.held = owner, false
	v.changed.Broadcast()
}

// count adds one operation that was answered.
func (v *volume) count(k kind, bytes uint32, took time.Duration) {
	c := &v.ops[k]
	c.ops.Add(1)
	c.bytes.Add(uint64(bytes))
	c.micros.Add(uint64(max(took, 0).Microseconds()))
}

func (v *volume) counts() control.VolumeCounts {
	of := func(k kind) control.OpCounts {
		c := &v.ops[k]
		return control.OpCounts{Ops: c.ops.Load(), Bytes: c.bytes.Load(), Micros: c.micros.Load()}
	}
	return control.VolumeCounts{Read: of(kindRead), Write: of(kindWrite), Other: of(kindOther)}
}

// volumes finds volumes by what calls carry.
type volumes struct {
	mu     sync.RWMutex
	all    []*volume // the first is where calls go that name none
	byID   map[uint16]*volume
	byName map[string]*volume
}

func (vs *volumes) add(v control.Volume) error {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.byName[v.Name] != nil || vs.byID[v.Export] != nil {
		return fmt.Errorf("volume %s (export %d) is known already", v.Name, v.Export)
	}
	if vs.byID == nil {
		vs.byID, vs.byName = map[uint16]*volume{}, map[string]*volume{}
	}
	n := newVolume(v)
	vs.all = append(vs.all, n)
	vs.byID[v.Export], vs.byName[v.Name] = n, n
	return nil
}

// remove forgets a volume, but not the first: somebody must answer what names none.
func (vs *volumes) remove(name string) error {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.byName[name]
	if v == vs.all[0] {
		return fmt.Errorf("volume %s is the first and stays", name)
	}
	delete(vs.byName, name)
	maps.DeleteFunc(vs.byID, func(_ uint16, other *volume) bool { return other == v })
	vs.all = slices.DeleteFunc(vs.all, func(other *volume) bool { return other == v })
	return nil
}

func (vs *volumes) named(name string) (*volume, error) {
	vs.mu.RLock()
	defer vs.mu.RUnlock()
	if v := vs.byName[name]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("there is no volume %q", name)
}

// of says which volume a call is about, nil if none, and whose owner must answer
// it. The state of an NFSv4 client is in one server, whatever the volume.
func (vs *volumes) of(h header) (about, towards *volume) {
	vs.mu.RLock()
	defer vs.mu.RUnlock()
	first := vs.all[0]
	if h.hasFH {
		about = vs.byID[h.export]
	}
	switch {
	case h.version == 4 && h.kind != kindNone:
		return about, first
	case about != nil:
		return about, about
	}
	for _, v := range vs.all {
		if h.path == v.junction || strings.HasPrefix(h.path, v.junction+"/") {
			return nil, v
		}
	}
	return nil, first
}

func (vs *volumes) counts() map[string]control.VolumeCounts {
	vs.mu.RLock()
	defer vs.mu.RUnlock()
	all := map[string]control.VolumeCounts{}
	for _, v := range vs.all {
		all[v.name] = v.counts()
	}
	return all
}
