// Package command runs programs and scripts of the repository for the laboratory.
package command

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"

	"github.com/nfsbench/nfsbench/test/kit/repository"
)

// Script runs a script of the repository and returns its standard output. It has no
// context, because the context of a test ends before its clean-up does.
func Script(name string, args ...string) ([]byte, error) {
	path, err := repository.Path(name)
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
