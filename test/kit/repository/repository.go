// Package repository finds files and runs scripts of the repository for tests, which run
// in the folder of their package. The paths in a binary are no use for that: with
// -trimpath they begin with the name of the module.
package repository

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// Script runs a script of the repository and returns its standard output. It has no
// context, because the context of a test ends before its clean-up does.
func Script(name string, args ...string) ([]byte, error) {
	path, err := Path(name)
	if err != nil {
		return nil, err
	}
	return Output(path, args...)
}

// Output runs a program and returns its standard output. Its error has what the program
// wrote to its standard error.
func Output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}
