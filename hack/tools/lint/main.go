// Command golangci-lint is the upstream linter. It lives in a module of its own
// because its hundreds of requirements would move the versions of the other
// tools, and it has its own main so that plugins can be compiled in.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
)

const linter = "github.com/golangci/golangci-lint/v2"

func main() {
	info := commands.BuildInfo{GoVersion: runtime.Version(), Version: "unknown", Commit: "module", Date: "unknown"}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if dep.Path == linter {
				info.Version, info.Commit = dep.Version[1:], dep.Sum
			}
		}
	}
	if err := commands.Execute(info); err != nil {
		fmt.Fprintln(os.Stderr, "golangci-lint:", err)
		os.Exit(exitcodes.Failure)
	}
}
