// Package repository finds files of the repository for tests, which run
// in the folder of their package. The paths in a binary are no use for that: with
// -trimpath they begin with the name of the module.
package repository

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Path returns the absolute name of a file, which is given from the top of the repository.
// The process must run somewhere in the repository.
func Path(name string) (string, error) {
	from, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(module, []byte("module github.com/nfsbench/nfsbench\n")) {
			return filepath.Join(dir, filepath.FromSlash(name)), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find %s: %s is not in the repository of nfsbench", name, from)
		}
	}
}
