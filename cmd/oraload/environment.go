package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// The environment variables that decide where the client library is found.
const (
	envHome    = "ORACLE_HOME"
	envPath    = "LD_LIBRARY_PATH"
	envStarted = "NFSBENCH_ORALOAD_STARTED" // set in the environment of the second start
)

// withLibraryPath returns the environment with the libraries of ORACLE_HOME first in the library path, and whether
// the process must start again with it. The loader of the system reads the path once, at the start of a process, and
// only the loader finds the libraries that the client library needs.
//
// A process that was started again does not start a third time.
func withLibraryPath(env []string) ([]string, bool) {
	home := lookup(env, envHome)
	if home == "" || lookup(env, envStarted) != "" {
		return env, false
	}
	folder := filepath.Join(home, "lib")
	path := lookup(env, envPath)
	if slices.Contains(filepath.SplitList(path), folder) {
		return env, false
	}
	if path != "" {
		folder += string(filepath.ListSeparator) + path
	}
	out := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, envPath+"=") })
	return append(out, envPath+"="+folder, envStarted+"=1"), true
}

// lookup returns the value of a variable; of several, the last counts.
func lookup(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
