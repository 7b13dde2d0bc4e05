// Package ganesha starts real NFS servers for tests, each with its own links.
//
// The servers are NFS-Ganesha in network namespaces, made and removed by
// hack/lab/ganesha.sh. They need root, so tests that use them run only when
// NFSBENCH_LAB is set.
package ganesha

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/lab/command"
)

// Array says where a server is and what it can be tested with.
type Array struct {
	Name  string   `json:"name"`
	Netns string   `json:"netns"`
	LIFs  []string `json:"lifs"`  // addresses of the server, one per link
	LIFs6 []string `json:"lifs6"` // those of IPv6, on the same links; none where the machine has no IPv6

	Export string `json:"export"` // anybody may mount, read and write it
	Denied string `json:"denied"` // its MOUNT is refused

	Unreachable string `json:"unreachable"` // an address with nobody there: an error after about 3 s
	Silent      string `json:"silent"`      // an address that drops everything: only a timeout ends the wait

	Data string `json:"data"` // the folder behind Export, on this machine

	WrongData string `json:"wrongData"` // the file by which a test tells the server what to do, with --wrong-data
}

// Start runs an array until the end of the test. Its name must be unique among
// the tests that run at once, and so must be its subnets, for example
// "10.243.1.0/24". More options of hack/lab/ganesha.sh may follow.
func Start(t *testing.T, name string, subnets []string, options ...string) Array {
	t.Helper()
	if os.Getenv("NFSBENCH_LAB") == "" {
		t.Skip("set NFSBENCH_LAB=1 to run this against NFS-Ganesha; needs root")
	}
	t.Cleanup(func() {
		if err := Down(name); err != nil {
			t.Error(err)
		}
	})
	array, err := Up(name, subnets, options...)
	if err != nil {
		t.Fatal(err)
	}
	return array
}

// Up runs an array until Down, for example for all tests of a package. One that
// runs already under this name is returned as it is.
func Up(name string, subnets []string, options ...string) (Array, error) {
	args := append([]string{"up", "--json", "--name", name, "--subnet", strings.Join(subnets, ",")}, options...)
	out, err := script(args...)
	if err != nil {
		return Array{}, err
	}
	var array Array
	if err := json.Unmarshal(out, &array); err != nil {
		return Array{}, fmt.Errorf("read what ganesha.sh printed: %w", err)
	}
	return array, nil
}

// Down removes everything of an array. One that does not run is no error.
func Down(name string) error {
	_, err := script("down", "--name", name)
	return err
}

// Cut makes the n-th link, counted from 1, fall silent; Heal brings it back.
func (a Array) Cut(t *testing.T, n int) {
	t.Helper()
	run(t, "cut", strconv.Itoa(n), "--name", a.Name)
}

// Heal undoes Cut.
func (a Array) Heal(t *testing.T, n int) {
	t.Helper()
	run(t, "heal", strconv.Itoa(n), "--name", a.Name)
}

// Crash kills the server without warning; Revive starts it again and returns when
// it answers.
func (a Array) Crash(t *testing.T) {
	t.Helper()
	run(t, "crash", "--name", a.Name)
}

// Revive undoes Crash.
func (a Array) Revive(t *testing.T) {
	t.Helper()
	run(t, "revive", "--name", a.Name)
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if _, err := script(args...); err != nil {
		t.Fatal(err)
	}
}

// script calls ganesha.sh and returns its standard output.
func script(args ...string) ([]byte, error) { return command.Script("hack/lab/ganesha.sh", args...) }
