package measure

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheLengthOfALevelIsThatOfItsReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report runfile.LevelReport
		want   float64
	}{
		"a part for each second": {runfile.LevelReport{Due: make([]int64, 2)}, 2},
		"longer parts":           {runfile.LevelReport{Seconds: 33, Due: make([]int64, 17)}, 33},
		"nothing was due":        {runfile.LevelReport{}, 4},
		"longer than a level is": {runfile.LevelReport{Seconds: 1 << 30}, 3600},
		"negative":               {runfile.LevelReport{Seconds: -1}, 4},
	} {
		l := searchLevel{RepetitionFacts: &RepetitionFacts{Summary: Summary{DurationMilliseconds: 3900}}, reports: []runfile.LevelReport{c.report}}
		if got := l.seconds(); got != c.want {
			t.Errorf("%s: %g s, want %g", name, got, c.want)
		}
	}
}
