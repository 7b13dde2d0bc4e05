package compare

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestCheckRepetitionsSaysTheArithmetic(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		n, comparisons int
		s              runfile.SuiteSignificance
		want           string
	}{
		"three, one comparison":           {3, 1, runfile.SuiteSignificance{Alpha: 0.1}, "3 repetitions cannot show a difference at alpha 0.1: the smallest two-sided p of the Mann-Whitney test is 2/C(6,3) = 0.1; give at least 4 (p 0.029), or raise alpha"},
		"three, a little more alpha":      {3, 1, runfile.SuiteSignificance{Alpha: 0.11}, ""},
		"four":                            {4, 1, runfile.SuiteSignificance{Alpha: 0.05}, ""},
		"four of sixteen":                 {4, 16, runfile.SuiteSignificance{Alpha: 0.05}, "4 repetitions cannot show a difference at alpha 0.05: the smallest two-sided p of the Mann-Whitney test is 2/C(8,4) = 0.029, and Holm's correction for 16 comparisons makes it 0.46; give at least 6 (p 0.0022, corrected 0.035), raise alpha, compare fewer metrics, or set correction None"},
		"six of sixteen":                  {6, 16, runfile.SuiteSignificance{Alpha: 0.05}, ""},
		"six of twenty-three is the last": {6, 23, runfile.SuiteSignificance{Alpha: 0.05}, ""},
		"six of twenty-four":              {6, 24, runfile.SuiteSignificance{Alpha: 0.05}, "6 repetitions cannot show a difference at alpha 0.05: the smallest two-sided p of the Mann-Whitney test is 2/C(12,6) = 0.0022, and Holm's correction for 24 comparisons makes it 0.052; give at least 7 (p 0.00058, corrected 0.014), raise alpha, compare fewer metrics, or set correction None"},
		"four of sixteen, not corrected":  {4, 16, runfile.SuiteSignificance{Alpha: 0.05, Correction: "None"}, ""},
		"one":                             {1, 1, runfile.SuiteSignificance{Alpha: 0.05}, "1 repetition cannot show a difference at alpha 0.05: the smallest two-sided p of the Mann-Whitney test is 2/C(2,1) = 1; give at least 4 (p 0.029), or raise alpha"},
		"none, and no alpha":              {0, 0, runfile.SuiteSignificance{}, "0 repetitions cannot show a difference at alpha 0.05: the smallest two-sided p of the Mann-Whitney test is 2/C(0,0) = 1; give at least 4 (p 0.029), or raise alpha"},
		"an alpha that is none":           {8, 1, runfile.SuiteSignificance{Alpha: 1e-300}, "8 repetitions cannot show a difference at alpha 1e-12: the smallest two-sided p of the Mann-Whitney test is 2/C(16,8) = 0.00016; give at least 22 (p 9.5e-13), or raise alpha"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := CheckRepetitions(tc.n, tc.comparisons, tc.s); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got:  %s\nwant: %s", got, tc.want)
			}
		})
	}
}
