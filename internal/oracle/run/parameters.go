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

// readBack holds the parameters against what the database now reports about
// them, and fails with the first that is not what was asked.
func (r *runner) readBack(ctx context.Context) error {
	asked := r.plan.Database.Parameters
	names := slices.Sorted(maps.Keys(asked))
	if len(names) == 0 {
		return nil
	}
	var values map[string]string
	err := r.course.Do(ctx, func(ctx context.Context) (err error) {
		values, err = r.admin.Parameters(ctx, names)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the init parameters back: %w", err)
	}
	all := slices.Clone(r.load.Oracle.Parameters)
	var wrong string
	for _, name := range names {
		value, ok := values[name]
		p := runfile.OracleParameter{Name: name, Requested: asked[name], Value: value}
		if i := slices.IndexFunc(all, func(o runfile.OracleParameter) bool { return o.Name == name }); i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		switch {
		case wrong != "":
		case !ok:
			wrong = fmt.Sprintf("database.parameters has %s = %s, but the database does not show such a parameter; correct "+
				"its name or leave it out",
				name, asked[name])
		case !sameParameter(name, asked[name], value):
			wrong = fmt.Sprintf("database.parameters has %s = %s, but after the restart the database says %s; write a value "+
				"that this release and edition take",
				name, asked[name], value)
		}
	}
	r.load.Oracle.Parameters = all
	if wrong != "" {
		return oracle.Fail(runfile.FailureParameter, wrong, nil)
	}
	return nil
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
	// Oracle rounds parts of the SGA up to whole granules. They are 4 MiB to 512
	// MiB by the size of the SGA, which is not known here: no more than the value
	// itself is believed, and 16 MiB always, which is what an SGA of up to 8 GiB has
	// at most.
	memory := strings.HasSuffix(name, "_cache_size") || strings.HasSuffix(name, "_pool_size") ||
		name == "sga_target" || name == "sga_max_size"
	return a == v || memory && v > a && v-a < min(512<<20, max(16<<20, a))
}

func plainValue(s string) string {
	return strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(s), `'"`)), " ")
}

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
