// Command parts reads hack/test/parts.txt, which says what each part of the tests
// runs and in which tier.
//
// usage: parts list TIER        the parts of a tier (test, rest, measure, or all:
//
//	                       test and rest), in order
//
//	parts rows PART [./PACKAGE...]
//	                       a line for each go test: folder of the module, value of
//	                       CGO_ENABLED, options and packages; only those that are
//	                       named, if any are
//	parts needs PART       what must be there first
//	parts stale COMMIT     the parts of tier rest with an input that has changed
//	                       since, the most changed first: part, minutes, files
//	parts modules FOLDER...
//	                       the folders as the go command takes them in their modules: a
//	                       line for each module, with its folder first
//	parts packages FILE... the packages that the files belong to, as far as part unit
//	                       or lab tests them: lines as above, with "own" before them.
//	                       Then those that import them, the nearest first: a line for
//	                       each, with "importer" before it
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parts:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) < 2 {
		return fmt.Errorf("want a command and its argument, see the comment of hack/test/parts")
	}
	t, err := readTable(os.DirFS("."))
	if err != nil {
		return err
	}
	var lines []string
	switch command, arg := args[0], args[1]; command {
	case "list":
		lines, err = t.list(arg)
	case "rows":
		lines, err = t.arguments(arg, args[2:])
	case "needs":
		lines, err = t.needs(arg)
	case "stale":
		lines, err = t.stale(arg)
	case "modules":
		lines = linesOf(t.byModule(args[1:]))
	case "packages":
		lines = labelled(t.packagesOf(args[1:]))
	default:
		err = fmt.Errorf("unknown command %q", command)
	}
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	return err
}

func linesOf(all []modulePackages) []string {
	var lines []string
	for _, of := range all {
		lines = append(lines, fields(slices.Concat([]string{of.module}, of.packages)...))
	}
	return lines
}

func labelled(own, importers []modulePackages) []string {
	var lines []string
	for _, line := range linesOf(own) {
		lines = append(lines, "own "+line)
	}
	for _, line := range linesOf(importers) {
		lines = append(lines, "importer "+line)
	}
	return lines
}

// fields joins what a shell reads again with read -a.
func fields(words ...string) string { return strings.Join(words, " ") }
