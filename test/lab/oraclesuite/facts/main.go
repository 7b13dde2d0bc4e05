// Command facts writes the report of an image, whose files it reads as a tar archive; see
// hack/oracle/image.sh.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/nfsbench/nfsbench/test/lab/oraclesuite"
)

func main() {
	env := strings.FieldsFunc(os.Getenv("ORACLE_ENV"), func(r rune) bool { return r == '\n' })
	if err := oraclesuite.ImageReport(os.Stdout, os.Stdin, env, os.Getenv("ORACLE_PROGRAM"), os.Getenv("ORACLE_IMAGE")); err != nil {
		fmt.Fprintf(os.Stderr, "facts: %v\n", err)
		os.Exit(1)
	}
}
