package measure

import (
	"slices"
)

// Indirection is a storage node on which paths end although another node owns
// the data.
type Indirection struct {
	Node  StorageNode // the node that forwards I/O
	Owner string
	Paths []string // as address (LIF)
}

// indirections returns the nodes through which the load of the representative repetition reached the owner. With pNFS
// the declared address serves layouts and need not lead to the data. The kernel does not show where the data went;
// the channels of the native engine do.
func (c *Facts) indirections() []Indirection {
	if c.Overall == nil || c.Overall.owner == "" {
		return nil
	}
	used := c.Overall.Used
	if c.IsPNFS() {
		used = nil
		for _, p := range ByLayout(c.Overall.Paths) {
			used = append(used, p.Path)
		}
	}
	var found []Indirection
	for _, address := range used {
		name, lif := c.endOf(address, c.Overall.StorageWindows)
		if name == "" || name == c.Overall.owner {
			continue
		}
		i := slices.IndexFunc(found, func(f Indirection) bool { return f.Node.Name == name })
		if i < 0 {
			i = len(found)
			seen := Filtered(c.Overall.StorageNodes, func(n StorageNode) bool { return n.Name == name })
			node := append(seen, StorageNode{Name: name})[0]
			found = append(found, Indirection{Node: node, Owner: c.Overall.owner})
		}
		if lif != "" {
			address += " (" + lif + ")"
		}
		found[i].Paths = append(found[i].Paths, address)
	}
	return found
}

// SVM returns the SVM name to use in a command.
func (c *Facts) SVM() string {
	for _, s := range c.Plan.Collect.Sources {
		if s.SVM != "" {
			return s.SVM
		}
	}
	return "<svm>"
}

// EverUsed returns the addresses that carried load in any repetition. Without a
// repetition it returns the declared addresses.
func (c *Facts) EverUsed() (used []string) {
	if len(c.Repetitions) == 0 {
		return Distinct(c.Declared, func(p PathPair) string { return p.Path })
	}
	for _, s := range c.Repetitions {
		for _, address := range s.Used {
			used = WithNew(used, address)
		}
	}
	return used
}
