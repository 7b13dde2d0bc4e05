package run

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
		case !p.AsRequested():
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
