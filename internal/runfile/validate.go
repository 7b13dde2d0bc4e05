package runfile

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong in a plan.
type Problem struct {
	Path string // of the field in the JSON file, such as workload.raw.depth
	Fix  string // what is wrong, and what to write instead
}

// Problems is everything that is wrong in a plan, in the order of its fields.
// It is the error that Plan.Validate returns.
type Problems []Problem

// Error says one problem in a line.
func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps))
	for _, p := range ps {
		lines = append(lines, p.Path+": "+p.Fix)
	}
	return strings.Join(lines, "\n")
}

// Validate checks what can be checked without touching storage. It finds all
// problems at once and returns them as Problems, or nil.
func (p Plan) Validate() error {
	c := &checker{}
	c.check(p.Version == PlanVersion, "version", "is %q; write %q", p.Version, PlanVersion)
	c.check(p.Run.Name != "", "run.name", "is empty; give the run a name")
	c.between("clients", int64(p.Clients), 1, maxClients)
	c.engine(p.Engine, p.Database)
	c.workload(p.Workload, p.Database)
	c.schedule(p)
	c.collect(p.Collect)
	if l := p.Link; l != nil {
		c.between("link.bitsPerSecond", l.BitsPerSecond, minLinkBitsPerSec, maxLinkBitsPerSec)
		c.check(l.MTUBytes == 0 || l.MTUBytes >= minMTUBytes && l.MTUBytes <= maxMTUBytes, "link.mtuBytes",
			"is %d; write a number from %d to %d", l.MTUBytes, minMTUBytes, maxMTUBytes)
	}
	if p.Expect != nil {
		c.expect(*p.Expect)
	}
	if p.Database != nil {
		c.database(*p.Database, p)
	}
	return c.found()
}

// checker collects problems.
type checker struct{ problems Problems }

// found is nil, and not an empty list, if there are none.
func (c *checker) found() error {
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

func (c *checker) check(ok bool, path, format string, args ...any) {
	if !ok {
		c.problems = append(c.problems, Problem{Path: path, Fix: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) between(path string, v, lowest, highest int64) {
	c.check(v >= lowest && v <= highest, path, "is %d; write a number from %d to %d", v, lowest, highest)
}

func (c *checker) oneOf(path, v string, allowed ...string) {
	ok := slices.Contains(allowed, v)
	named := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	c.check(ok, path, "is %q; write one of %s", v, strings.Join(named, ", "))
}
