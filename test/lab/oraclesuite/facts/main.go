// Command facts writes the report of an image, whose files it reads as a tar archive, or that of
// benchmarks in a directory:
//
//	facts <IMAGE.tar
//	facts DIRECTORY BENCHMARK...
//
// See hack/oracle/image.sh and hack/oracle/pod.sh.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/nfsbench/nfsbench/test/lab/oraclesuite"
)

func main() {
	var err error
	program, image := os.Getenv("ORACLE_PROGRAM"), os.Getenv("ORACLE_IMAGE")
	if args := os.Args[1:]; len(args) > 1 {
		err = oraclesuite.PodReport(os.Stdout, args[0], program, image, args[1:])
	} else {
		env := strings.FieldsFunc(os.Getenv("ORACLE_ENV"), func(r rune) bool { return r == '\n' })
		err = oraclesuite.ImageReport(os.Stdout, os.Stdin, env, program, image)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "facts: %v\n", err)
		os.Exit(1)
	}
}
