// Package waiting lets tests that wait run beside each other.
package waiting

import (
	"flag"
	"testing"
)

// Run is what TestMain calls in a package whose parallel tests wait for clocks and for
// programs. The go command runs only as many of them at once as there are processors,
// which waiting does not need. A -parallel on the command line counts all the same.
func Run(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
