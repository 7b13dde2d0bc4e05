// Command glibc fails when a program needs a newer glibc than it may: it would
// not start in an older image, and say so only there.
package main

import (
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "glibc:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("glibc", flag.ContinueOnError)
	most := flags.String("most", "", "newest `version` that programs may need, such as 2.17")
	if err := flags.Parse(args); err != nil {
		return err
	}
	limit, err := parse(*most)
	if err != nil || flags.NArg() == 0 {
		return errors.New("-most and at least one program are required")
	}
	for _, path := range flags.Args() {
		newest, symbol, err := needs(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if limit.less(newest) {
			return fmt.Errorf("%s needs glibc %s, for %s; it may need %s at most", path, newest, symbol, limit)
		}
		fmt.Fprintf(out, "%s runs with glibc %s and newer\n", path, newest)
	}
	return nil
}

// version is a version of glibc.
type version []int

func parse(text string) (version, error) {
	var v version
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		v = append(v, n)
	}
	return v, nil
}

func (v version) less(w version) bool {
	for i := range min(len(v), len(w)) {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return len(v) < len(w)
}

func (v version) String() string {
	var parts []string
	for _, n := range v {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ".")
}

// needs returns the newest version that a symbol of the program asks for. A
// program that asks for none is not linked against glibc, which is an error:
// nothing would be proven.
func needs(path string) (newest version, symbol string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return nil, "", err
	}
	for _, s := range symbols {
		text, ok := strings.CutPrefix(s.Version, "GLIBC_")
		if !ok {
			continue
		}
		v, err := parse(text)
		if err != nil {
			return nil, "", fmt.Errorf("symbol %s has the version %q", s.Name, s.Version)
		}
		if newest == nil || newest.less(v) {
			newest, symbol = v, s.Name
		}
	}
	if newest == nil {
		return nil, "", errors.New("it asks glibc for nothing: was it linked dynamically, with cgo?")
	}
	return newest, symbol, nil
}
