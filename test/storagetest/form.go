package storagetest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func fields(c runfile.StorageSample) map[string]*int64 {
	return map[string]*int64{
		"ReadOps": c.ReadOps, "WriteOps": c.WriteOps, "OtherOps": c.OtherOps,
		"ReadBytes": c.ReadBytes, "WriteBytes": c.WriteBytes,
		"ReadMicroseconds": c.ReadMicroseconds, "WriteMicroseconds": c.WriteMicroseconds,
	}
}

func wellFormed(t *testing.T, s Subject) {
	t.Helper()
	s.Work(t)
	got := Sample(t, s.Source)
	if s.Source.Name() == "" {
		t.Error("a source needs a name")
	}
	noSecret(t, "the name", s.Source.Name(), s.Secrets)
	if got.Time.IsZero() {
		t.Error("a snapshot needs a time")
	}
	ordered(t, "nodes", got.Nodes, func(n runfile.StorageNode) string { return n.Name })
	ordered(t, "paths", got.Paths, func(p runfile.StoragePath) string { return p.Address })
	var nodes []string
	for _, n := range got.Nodes {
		plausible(t, n)
		nodes = append(nodes, n.Name)
	}
	knownNode(t, "the volume", got.VolumeNode, nodes)
	for _, p := range got.Paths {
		knownNode(t, "path "+p.Address, p.Node, nodes)
		if !s.PathsCountMore {
			withinTotal(t, p, got.StorageSample)
		}
	}
}

// ordered wants the parts of a snapshot named, once each, in order.
func ordered[T any](t *testing.T, what string, parts []T, name func(T) string) {
	t.Helper()
	if !slices.IsSortedFunc(parts, func(a, b T) int { return cmp.Compare(name(a), name(b)) }) {
		t.Errorf("%s must be sorted: %+v", what, parts)
	}
	for i, p := range parts {
		if name(p) == "" {
			t.Errorf("%s need names: %+v", what, p)
		}
		if i > 0 && name(parts[i-1]) == name(p) {
			t.Errorf("%s: %s is there twice", what, name(p))
		}
	}
}

func plausible(t *testing.T, n runfile.StorageNode) {
	t.Helper()
	switch {
	case n.Cores != nil && *n.Cores <= 0, n.BusyMicroseconds != nil && *n.BusyMicroseconds < 0:
		t.Errorf("what is unknown must be nil, what is known plausible: %+v", n)
	case n.BaseMicroseconds != nil && n.Cores != nil:
		t.Errorf("node %s: either the base or the cores say what was possible, not both", n.Name)
	case n.BaseMicroseconds != nil && n.BusyMicroseconds == nil:
		t.Errorf("node %s has a base and nothing that was busy in it", n.Name)
	case n.BaseMicroseconds != nil && *n.BusyMicroseconds > *n.BaseMicroseconds:
		t.Errorf("node %s was busy for %d us of %d", n.Name, *n.BusyMicroseconds, *n.BaseMicroseconds)
	}
}

// knownNode wants a node that is named to be one of those that are listed.
func knownNode(t *testing.T, of, node string, nodes []string) {
	t.Helper()
	if node != "" && len(nodes) > 0 && !slices.Contains(nodes, node) {
		t.Errorf("%s is on node %q, which is not among the nodes", of, node)
	}
}

func withinTotal(t *testing.T, p runfile.StoragePath, total runfile.StorageSample) {
	t.Helper()
	for name, f := range map[string][2]*int64{
		"ReadBytes": {p.ReadBytes, total.ReadBytes}, "WriteBytes": {p.WriteBytes, total.WriteBytes},
	} {
		if f[0] != nil && f[1] != nil && *f[0] > *f[1] {
			t.Errorf("path %s: %s is %d, more than the total %d", p.Address, name, *f[0], *f[1])
		}
	}
}

// grown wants no counter to fall, and those of reads to rise.
func grown(t *testing.T, before, after runfile.StorageSample) {
	t.Helper()
	old := fields(before)
	for name, f := range fields(after) {
		if (f == nil) != (old[name] == nil) {
			t.Errorf("%s is known only sometimes", name)
			continue
		}
		if f == nil {
			continue
		}
		if *f < *old[name] {
			t.Errorf("%s fell from %d to %d", name, *old[name], *f)
		}
		if (name == "ReadOps" || name == "ReadBytes") && *f == *old[name] {
			t.Errorf("%s stayed %d although something was read", name, *f)
		}
	}
}

func nodesGrow(t *testing.T, before, after []runfile.StorageNode) {
	t.Helper()
	for _, b := range before {
		i := slices.IndexFunc(after, func(a runfile.StorageNode) bool { return a.Name == b.Name })
		if i < 0 {
			t.Errorf("node %s is gone", b.Name)
			continue
		}
		if fell(b.BusyMicroseconds, after[i].BusyMicroseconds) || fell(b.BaseMicroseconds, after[i].BaseMicroseconds) {
			t.Errorf("the time of node %s fell or is known only sometimes", b.Name)
		}
	}
}

func fell(before, after *int64) bool {
	if before == nil || after == nil {
		return before != after
	}
	return *after < *before
}

// pointers are the addresses of all that a value points to, by the path to it.
func pointers(v reflect.Value, path string, into map[uintptr]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			into[v.Pointer()] = path
		}
	case reflect.Slice:
		if v.Len() > 0 {
			into[v.Pointer()] = path
		}
		for i := range v.Len() {
			pointers(v.Index(i), fmt.Sprintf("%s[%d]", path, i), into)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				pointers(v.Field(i), path+"."+f.Name, into)
			}
		}
	default:
	}
}

// noSecret wants none of the secrets in a text.
func noSecret(t *testing.T, what, text string, secrets []string) {
	t.Helper()
	for i, s := range secrets {
		if s != "" && strings.Contains(text, s) {
			t.Errorf("%s holds secret number %d", what, i)
		}
	}
}
