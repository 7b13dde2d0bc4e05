package runfile

import (
	"fmt"
	"math"
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
	c.between("clients", int64(p.Clients), 1, 1024)
	c.engine(p.Engine, p.Database)
	c.workload(p.Workload, p.Database)
	c.schedule(p)
	c.collect(p.Collect)
	if l := p.Link; l != nil {
		c.between("link.bitsPerSecond", l.BitsPerSecond, 1e6, 1e13)
		if l.MTUBytes != 0 {
			c.between("link.mtuBytes", int64(l.MTUBytes), 576, 65535) // below, IPv4 itself does not work
		}
	}
	if e := p.Expect; e != nil {
		within(c, "expect.minWirePercent", e.MinWirePercent, 100)
		within(c, "expect.minMegabytesPerSecond", e.MinMegabytesPerSecond, math.MaxInt32)
		within(c, "expect.minIOPS", e.MinIOPS, math.MaxInt32)
		within(c, "expect.maxMeanLatencyMicroseconds", e.MaxMeanLatencyMicroseconds, math.MaxInt32)
		within(c, "expect.maxP99LatencyMicroseconds", e.MaxP99LatencyMicroseconds, math.MaxInt32)
		within(c, "expect.maxVariationPercent", e.MaxVariationPercent, 1000)
	}
	if p.Database != nil {
		c.database(*p.Database, p)
	}
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

// checker collects problems.
type checker struct{ problems Problems }

func (c *checker) check(ok bool, path, format string, args ...any) {
	if !ok {
		c.problems = append(c.problems, Problem{Path: path, Fix: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) between(path string, v, lowest, highest int64) {
	c.check(v >= lowest && v <= highest, path, "is %d; write a number from %d to %d", v, lowest, highest)
}

func (c *checker) oneOf(path, v string, allowed ...string) {
	if slices.Contains(allowed, v) {
		return
	}
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
	c.check(false, path, "is %q; write one of %s", v, strings.Join(allowed, ", "))
}
