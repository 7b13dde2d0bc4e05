package run

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// readBack holds the parameters against what the database now reports about them.
func (r *runner) readBack(ctx context.Context) error {
	asked := r.plan.Database.Parameters
	if len(asked) == 0 {
		return nil
	}
	var values map[string]string
	err := r.course.Do(ctx, func(ctx context.Context) (err error) {
		values, err = r.admin.Parameters(ctx, slices.Sorted(maps.Keys(asked)))
		return err
	})
	if err != nil {
		return fmt.Errorf("read the init parameters back: %w", err)
	}
	r.load.Oracle.Parameters = withRequested(r.load.Oracle.Parameters, asked, values)
	return checkParameters(asked, values)
}

// checkParameters fails with the name of the first that is not what was asked.
func checkParameters(asked, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		value, ok := values[name]
		switch {
		case !ok:
			return oracle.Fail(runfile.FailureParameter, fmt.Sprintf(
				"database.parameters has %s = %s, but the database does not show such a parameter; correct its name or leave it out", name, asked[name]), nil)
		case !sameParameter(name, asked[name], value):
			return oracle.Fail(runfile.FailureParameter, fmt.Sprintf(
				"database.parameters has %s = %s, but after the restart the database says %s; write a value that this release and edition take", name, asked[name], value), nil)
		}
	}
	return nil
}

// withRequested adds the requested values to the parameters.
func withRequested(have []runfile.OracleParameter, asked, values map[string]string) []runfile.OracleParameter {
	out := slices.Clone(have)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		p := runfile.OracleParameter{Name: name, Requested: asked[name], Value: values[name]}
		i := slices.IndexFunc(out, func(o runfile.OracleParameter) bool { return o.Name == name })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i] = p
	}
	return out
}

// sameParameter compares what was asked with what is in effect: 128M is
// 134217728, TRUE is true, and SETALL is setall.
func sameParameter(name, asked, value string) bool {
	asked, value = plainValue(asked), plainValue(value)
	if strings.EqualFold(asked, value) {
		return true
	}
	a, okA := bytesOf(asked)
	v, okV := bytesOf(value)
	if !okA || !okV {
		return false
	}
	return a == v || isMemory(name) && v > a && v-a < granule(a)
}

func plainValue(s string) string {
	return strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(s), `'"`)), " ")
}

// isMemory says that a parameter sizes a part of the SGA, which Oracle rounds up
// to whole granules.
func isMemory(name string) bool {
	return strings.HasSuffix(name, "_cache_size") || strings.HasSuffix(name, "_pool_size") ||
		name == "sga_target" || name == "sga_max_size"
}

// granule is the most that rounding up may add. Granules are 4 MiB to 512 MiB by
// the size of the SGA, which is not known here: no more than the value itself is
// believed, and 16 MiB always, which is what an SGA of up to 8 GiB has at most.
func granule(asked int64) int64 { return min(512<<20, max(16<<20, asked)) }

// bytesOf reads a whole number with or without K, M, G, T.
func bytesOf(s string) (int64, bool) {
	m := regexp.MustCompile(`^([0-9]{1,15})([KMGT]?)$`).FindStringSubmatch(strings.ToUpper(s))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, false
	}
	shift := 0
	if m[2] != "" {
		shift = 10 * (1 + strings.Index("KMGT", m[2]))
	}
	if n > (1<<62)>>shift {
		return 0, false
	}
	return n << shift, true
}
