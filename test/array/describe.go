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

// Describe returns what the array is as JSON, and keeps it for Description, also
// after changes from now on.
func (a *Array) Describe() ([]byte, error) {
	a.moving.Lock()
	defer a.moving.Unlock()
	a.described = true
	return a.describe()
}

// describe does it for a caller who holds moving.
func (a *Array) describe() ([]byte, error) {
	text, err := json.MarshalIndent(facts{
		Name: a.options.Name, PID: os.Getpid(), Nodes: a.Nodes(), Namespaces: a.NetworkNamespaces(),
		LIFs: a.LIFs(), Volumes: a.Volumes(), REST: a.rest,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	part := filepath.Join(a.dir, "facts.json.new")
	if err := os.WriteFile(part, text, 0o644); err != nil {
		return nil, err
	}
	return text, os.Rename(part, filepath.Join(a.dir, "facts.json"))
}

// tell lets whoever looks at the array know of LIFs and volumes that changed.
// The caller holds moving.
func (a *Array) tell() error {
	a.tellREST()
	if !a.described {
		return nil
	}
	_, err := a.describe()
	return err
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
