package array

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// facts is what Describe prints.
type facts struct {
	Name       string   `json:"name"`
	PID        int      `json:"pid"`
	Nodes      []string `json:"nodes"`
	Namespaces []string `json:"namespaces"` // network namespaces of the nodes
	LIFs       []LIF    `json:"lifs"`
	Volumes    []Volume `json:"volumes"`
	REST       *REST    `json:"rest,omitempty"`
}

// Describe returns what the array is as JSON and keeps it for Description.
func (a *Array) Describe() ([]byte, error) {
	text, err := json.MarshalIndent(facts{
		Name: a.options.Name, PID: os.Getpid(), Nodes: a.Nodes(), Namespaces: a.NetworkNamespaces(),
		LIFs: a.LIFs(), Volumes: a.Volumes(), REST: a.restFacts(),
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	return text, os.WriteFile(filepath.Join(a.dir, "facts.json"), text, 0o644)
}

// Description is what Describe returned last in the process that runs the array
// of that name, nil if none does.
func Description(name string) []byte {
	if owner(name) == 0 {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(folder(name), "facts.json"))
	if err != nil {
		return nil
	}
	return text
}
