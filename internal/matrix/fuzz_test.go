package matrix_test

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func FuzzParseCron(f *testing.F) {
	for _, fields := range []string{
		"0 2 * * 0", "*/5 1-3,7 * JAN-mar MON", "@every 1h", "@weekly", "TZ=0\t*\t*\t*\t*", "0-99999999999/0 ? L * *",
	} {
		f.Add(fields)
	}
	f.Fuzz(func(t *testing.T, fields string) {
		memory.Bound(t, 64*len(fields), func() {
			s, err := matrix.ParseCron(fields)
			if (err == nil) != (s != nil) {
				t.Errorf("%v, %v", s, err)
			}
			if err == nil {
				s.Next(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
			}
		})
	})
}

func FuzzPatches(f *testing.F) {
	s := many(f, "{}")
	if err := check(f, expand(f, templateOf+axesOf), s); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"protocol":{"client":"DirectNFS"}}`), []byte(`{"workload":{"slob":{"users":[1,2]}}}`))
	f.Add([]byte(`{"workload":{"slob":null,"raw":{"blockSize":"8Ki"}},"a":{"b":["{{x}}"]}}`), []byte(`{"clients":1e99}`))
	f.Add([]byte(`null`), []byte(`[{"storage":{}}]`))
	f.Add([]byte(`{"storage":`), []byte(`{"":"","\u0000":{}}`))
	f.Add([]byte(nested(6400, "aaaaa", "1")), []byte(nested(1, "k", list(800, `"{{"`))))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		s := s.DeepCopy()
		s.Spec.Axes[0].Values[0].Patch.Raw, s.Spec.Axes[1].Values[0].Patch.Raw = one, two
		memory.Bound(t, 16<<20+8192*(len(one)+len(two)), func() {
			m, err := matrix.Expand(s)
			if err != nil {
				return
			}
			if len(m.Cells) != matrix.MaxCells {
				t.Errorf("%d cells", len(m.Cells))
			}
			m.Cells = m.Cells[:2] // the others are checked like these, one after the other
			_ = check(t, m, s)
		})
	})
}
