package benchmark

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// fillStorage copies what the storage itself counted into the summary.
func fillStorage(sum *v1alpha1.Summary, m *judge.Summary) {
	sum.StorageCPU = statussize.ClipTo(storageCPUWords(m.StorageNodes), 256)
	sum.StorageOperationsPerSecond = m.Storage.OperationsPerSecond
	sum.StorageBytesPerSecond = m.Storage.BytesPerSecond
	sum.StorageMeanLatencyMicroseconds = m.Storage.MeanLatencyMicroseconds
	sum.CollectorCPUPermille = m.CollectorCPUPermille
}

// storageCPUWords are the nodes in one line, the owner of the volume first, such
// as "fas-a 32%, fas-b 35%". A node whose CPU nobody may read stands there with
// a question mark, for it worked all the same; when all are such, it is empty.
func storageCPUWords(nodes []judge.StorageNode) string {
	var words []string
	known := false
	for _, n := range nodes {
		if n.CPUPermille == nil {
			words = append(words, n.Name+" ?")
			continue
		}
		known = true
		words = append(words, fmt.Sprintf("%s %d%%", n.Name, (int64(*n.CPUPermille)+5)/10))
	}
	if !known {
		return ""
	}
	return strings.Join(words, ", ")
}

// pathWords describes the paths in use: how many, and where on the
// storage they end where all of that is known, such as "2 Local+Remote".
func pathWords(paths []v1alpha1.ResolvedPath) string {
	if len(paths) == 0 {
		return ""
	}
	words := fmt.Sprint(len(paths))
	var where []string
	for _, p := range paths {
		if p.Locality == "" {
			return words
		}
		where = append(where, string(p.Locality))
	}
	slices.Sort(where) // Local before Remote
	return words + " " + strings.Join(slices.Compact(where), "+")
}

// storageNodes are those of the summary. Names are keys of the list, so none may
// be there twice.
func storageNodes(nodes []judge.StorageNode) []v1alpha1.StorageNodeStatus {
	several := slices.ContainsFunc(nodes, func(n judge.StorageNode) bool { return n.Source != nodes[0].Source })
	var out []v1alpha1.StorageNodeStatus
	for _, n := range nodes {
		name := n.Name
		if several && n.Source != "" && n.Source != n.Name {
			name = n.Source + "/" + n.Name
		}
		name = statussize.ClipTo(name, 253)
		known := slices.ContainsFunc(out, func(o v1alpha1.StorageNodeStatus) bool { return o.Name == name })
		if known || len(out) == maxNodes {
			continue
		}
		st := v1alpha1.StorageNodeStatus{Name: name, CPUPermille: n.CPUPermille, BaselineCPUPermille: n.BaselineCPUPermille}
		if n.Owner {
			st.Roles = append(st.Roles, v1alpha1.StorageNodeOwner)
		}
		if n.Entry {
			st.Roles = append(st.Roles, v1alpha1.StorageNodeEntry)
		}
		out = append(out, st)
	}
	return out
}

// storagePaths are the addresses of the storage over all measured windows, those
// that moved most first. An address is the key of the list: of two sources that
// count it, the first stands.
func storagePaths(all []judge.Summary) []v1alpha1.StoragePathStatus {
	var out []v1alpha1.StoragePathStatus
	sources := map[string]string{}
	for _, m := range all {
		for _, sp := range m.StoragePaths {
			address := statussize.ClipTo(sp.Address, 253)
			i := slices.IndexFunc(out, func(o v1alpha1.StoragePathStatus) bool { return o.Path == address })
			if i < 0 {
				i, sources[address] = len(out), sp.Source
				out = append(out, v1alpha1.StoragePathStatus{Path: address})
			}
			if sources[address] != sp.Source {
				continue
			}
			o := &out[i]
			o.LIF, o.Node = statussize.ClipTo(cmp.Or(sp.LIF, o.LIF), 253), statussize.ClipTo(cmp.Or(sp.Node, o.Node), 253)
			o.ReadBytes, o.WriteBytes = plus(o.ReadBytes, sp.ReadBytes), plus(o.WriteBytes, sp.WriteBytes)
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.StoragePathStatus) int {
		return cmp.Or(cmp.Compare(moved(b), moved(a)), cmp.Compare(a.Path, b.Path))
	})
	return out[:min(len(out), maxPaths)]
}

// plus adds what is known.
func plus(a, b *int64) *int64 {
	switch {
	case b == nil:
		return a
	case a == nil:
		return new(*b)
	default:
		return new(*a + *b)
	}
}

func moved(p v1alpha1.StoragePathStatus) float64 {
	sum := 0.0
	for _, v := range []*int64{p.ReadBytes, p.WriteBytes} {
		if v != nil {
			sum += float64(*v)
		}
	}
	return sum
}
