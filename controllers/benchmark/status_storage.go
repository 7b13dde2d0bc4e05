package benchmark

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

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
