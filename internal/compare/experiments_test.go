package compare

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/experiments"
)

func TestRunGivesTheTableOfNFSVsDNFSToItsTwoDecimals(t *testing.T) {
	t.Parallel()
	table := Run(Request{Run: new(experiments.ImpactRun())})
	if len(table.Findings) != 0 {
		t.Errorf("findings: %+v", table.Findings)
	}
	if len(table.Cells) != 32 || len(table.Comparisons) != 16 {
		t.Fatalf("%d cells and %d comparisons, want 32 and 16", len(table.Cells), len(table.Comparisons))
	}
	for i, row := range experiments.Impacts() {
		l := table.Comparisons[i]
		users := strconv.Itoa(row.Users)
		if l.Cell != "dnfs-"+users || l.Baseline != "nfs-"+users {
			t.Errorf("line %d compares %s with %s", i, l.Cell, l.Baseline)
		}
		// The page divided the squares by 8. Ours is the sample's, by 7, and says so.
		population := *l.ImpactDeviation * math.Sqrt(7.0/8)
		got := fmt.Sprintf("%.2f %.2f %.2f %.2f %.2f", l.Mean/1000, 100*l.Impact, 100*population, 100*l.ImpactMinimum, 100*l.ImpactMaximum)
		want := fmt.Sprintf("%.2f %.2f %.2f %.2f %.2f", row.Mean, row.Impact, row.Deviation, row.Minimum, row.Maximum)
		if got != want {
			t.Errorf("%d users: %s, printed %s", row.Users, got, want)
		}
	}
}

// The page's awk rounded before it averaged. The figures must be those of its
// arithmetic, too, or the pairs are not what it may have read.
func TestThePagesOwnArithmeticGivesItsTable(t *testing.T) {
	t.Parallel()
	two := func(v float64) float64 { return math.Round(v*100) / 100 }
	for _, row := range experiments.Impacts() {
		var means, impacts []float64
		for _, p := range row.Pairs {
			means = append(means, two(float64(p.NFS+p.DNFS)/200))
			impacts = append(impacts, two(float64(p.NFS-p.DNFS)/float64(p.DNFS)*100))
		}
		deviation, _ := stats.StandardDeviation(impacts)
		got := fmt.Sprintf("%.2f %.2f %.2f", stats.Mean(means), stats.Mean(impacts), deviation*math.Sqrt(7.0/8))
		if want := fmt.Sprintf("%.2f %.2f %.2f", row.Mean, row.Impact, row.Deviation); got != want {
			t.Errorf("%d users: %s, printed %s", row.Users, got, want)
		}
	}
}

// With 4 users the printed first pair (0.60 and 0.58 ms), minimum and maximum
// alone lie so far from the printed mean that the sample's deviation of eight is
// more than the printed one, wherever the other five are. The population's is not.
func TestThePrintedDeviationIsThePopulations(t *testing.T) {
	t.Parallel()
	row := experiments.Impacts()[3]
	first := 100 * float64(60-58) / 58
	squares := 0.0
	for _, impact := range []float64{first, row.Minimum, row.Maximum} {
		least := math.Abs(impact-row.Impact) - 0.01 // both are rounded
		squares += least * least
	}
	if sample := math.Sqrt(squares / 7); sample <= row.Deviation+0.005 {
		t.Errorf("the sample's deviation can be %.3f: printed is %.2f", sample, row.Deviation)
	}
	if population := math.Sqrt(squares / 8); population > row.Deviation {
		t.Errorf("the population's deviation is %.3f or more: printed is %.2f", population, row.Deviation)
	}
}

func TestTheFirstPairsOfNFSVsDNFSAreThePrintedOnes(t *testing.T) {
	t.Parallel()
	printed := []experiments.ImpactPair{{NFS: 46, DNFS: 44}, {NFS: 44, DNFS: 59}, {NFS: 56, DNFS: 65}, {NFS: 60, DNFS: 58}, {NFS: 57, DNFS: 62}, {NFS: 66, DNFS: 61}, {NFS: 69, DNFS: 62}, {NFS: 70, DNFS: 66}, {NFS: 76, DNFS: 67}, {NFS: 85, DNFS: 74}}
	got := []experiments.ImpactPair{}
	for _, row := range experiments.Impacts()[:experiments.FirstPrinted] {
		got = append(got, row.Pairs[0])
	}
	if diff := cmp.Diff(printed, got); diff != "" {
		t.Error(diff)
	}
}
