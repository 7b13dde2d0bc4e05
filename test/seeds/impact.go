package seeds

import (
	"strconv"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Impact is a row of the last table of seed 002: SLOB with so many users, 8 times
// over NFS and over Direct NFS in turn.
type Impact struct {
	Users int
	// Printed: milliseconds, and percent.
	Mean, Impact, Deviation, Minimum, Maximum float64
	// Pairs are the repetitions.
	Pairs [8]ImpactPair
}

// ImpactPair is the mean time of a single-block read, in hundredths of a
// millisecond, which is what the page's first awk printed and its second read.
type ImpactPair struct{ NFS, DNFS int64 }

// FirstPrinted are the rows whose first pair is printed.
const FirstPrinted = 10

// Impacts are the rows. The page prints the table, and of the averages behind it
// those of the first repetition for 1 to 10 users: these are the first pairs of
// the first ten rows. All other pairs are RECONSTRUCTED: they were searched for so
// that the page's arithmetic gives the printed figures, with means as close to the
// printed one as was found, and many others would do. They show that the arithmetic
// is the page's. They are no measurements: what a test of significance reports about
// them, it does not say of the experiment.
//
// That arithmetic is (NFS-dNFS)/dNFS*100 of averages with two decimals (44 and 59
// give the printed -25.42), and the deviation is the population's: see
// TestThePrintedDeviationIsThePopulations in internal/compare.
func Impacts() []Impact {
	return []Impact{
		{1, 0.46, 1.93, 14.69, -14.00, 35.00, [8]ImpactPair{{46, 44}, {44, 47}, {43, 47}, {54, 40}, {47, 46}, {50, 45}, {43, 47}, {43, 50}}},
		{2, 0.47, -13.24, 8.14, -25.42, 0.00, [8]ImpactPair{{44, 59}, {44, 47}, {41, 51}, {47, 47}, {42, 49}, {43, 49}, {40, 51}, {44, 47}}},
		{3, 0.61, -13.88, 4.14, -21.13, -6.25, [8]ImpactPair{{56, 65}, {60, 64}, {55, 65}, {54, 64}, {56, 71}, {56, 63}, {55, 62}, {56, 67}}},
		{4, 0.61, 0.10, 5.40, -11.29, 8.62, [8]ImpactPair{{60, 58}, {63, 63}, {62, 64}, {62, 62}, {55, 62}, {63, 58}, {60, 60}, {65, 63}}},
		{5, 0.60, -1.60, 7.94, -9.68, 11.67, [8]ImpactPair{{57, 62}, {57, 57}, {60, 66}, {56, 61}, {67, 60}, {56, 62}, {57, 56}, {62, 57}}},
		{6, 0.64, 12.10, 6.33, -1.54, 19.30, [8]ImpactPair{{66, 61}, {68, 62}, {69, 60}, {64, 65}, {68, 57}, {68, 58}, {68, 58}, {67, 60}}},
		{7, 0.67, 10.73, 5.53, 3.03, 21.31, [8]ImpactPair{{69, 62}, {69, 65}, {68, 66}, {69, 63}, {72, 64}, {74, 61}, {69, 65}, {73, 63}}},
		{8, 0.70, 12.46, 4.42, 6.06, 19.70, [8]ImpactPair{{70, 66}, {79, 66}, {73, 64}, {75, 68}, {74, 63}, {73, 66}, {73, 64}, {72, 67}}},
		{9, 0.73, 14.77, 2.94, 11.43, 19.70, [8]ImpactPair{{76, 67}, {81, 68}, {78, 69}, {77, 67}, {78, 70}, {77, 69}, {77, 67}, {79, 66}}},
		{10, 0.78, 17.08, 2.91, 13.89, 23.61, [8]ImpactPair{{85, 74}, {88, 74}, {83, 72}, {89, 72}, {81, 69}, {82, 72}, {83, 72}, {81, 69}}},
		{11, 0.85, 13.48, 2.90, 8.64, 17.95, [8]ImpactPair{{95, 81}, {92, 78}, {87, 78}, {94, 82}, {87, 78}, {88, 81}, {93, 82}, {88, 78}}},
		{12, 0.92, 10.34, 2.76, 6.90, 16.28, [8]ImpactPair{{94, 86}, {97, 89}, {96, 87}, {93, 87}, {100, 86}, {98, 87}, {95, 88}, {96, 87}}},
		{13, 0.99, 11.83, 3.92, 6.45, 18.28, [8]ImpactPair{{103, 94}, {110, 93}, {101, 93}, {99, 93}, {106, 96}, {106, 94}, {107, 91}, {101, 91}}},
		{14, 1.04, 7.23, 4.42, 0.00, 13.13, [8]ImpactPair{{108, 104}, {108, 104}, {107, 98}, {107, 97}, {112, 99}, {106, 106}, {108, 96}, {105, 100}}},
		{15, 1.12, 8.03, 4.18, -0.93, 13.21, [8]ImpactPair{{121, 110}, {120, 106}, {112, 105}, {122, 108}, {116, 107}, {118, 110}, {112, 105}, {107, 108}}},
		{16, 1.21, 9.37, 2.78, 5.08, 14.04, [8]ImpactPair{{125, 118}, {126, 115}, {130, 114}, {124, 118}, {125, 114}, {125, 114}, {127, 113}, {126, 116}}},
	}
}

// ImpactRun is the table as a suite would have recorded it: cells by client and
// users, NFS and Direct NFS in turn, each with all users, 8 times.
func ImpactRun() runfile.SuiteRun {
	run := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: "seed-002", Run: "seed-002-0f3a9c21", Namespace: "default",
		Started: Start(), Ended: Start().Add(24 * time.Hour), Phase: "Succeeded",
		Settings: runfile.SuiteSettings{
			Repetitions: 8, Order: "Interleaved", Blocks: "ABBA", Seed: 2,
			Compare: &runfile.SuiteCompare{
				SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{runfile.MetricMeanLatency}, Alpha: 0.05, MinimumEffect: 0.02, Correction: "Holm"},
				Baseline:          map[string]string{"client": "nfs"}, ImpactOf: "Candidate",
			},
		},
	}
	rows := Impacts()
	for _, client := range []string{"nfs", "dnfs"} {
		for _, row := range rows {
			run.Cells = append(run.Cells, runfile.SuiteCell{
				Name:   impactCell(client, row.Users),
				Values: []runfile.SuiteAxis{{Axis: "client", Value: client}, {Axis: "users", Value: strconv.Itoa(row.Users)}},
			})
		}
	}
	for repetition := range 8 {
		for _, client := range []string{"nfs", "dnfs"} {
			for _, row := range rows {
				run.Results = append(run.Results, row.result(client, repetition, len(run.Results)+1))
			}
		}
	}
	return run
}

func impactCell(client string, users int) string { return client + "-" + strconv.Itoa(users) }

func (i Impact) result(client string, repetition, position int) runfile.SuiteResult {
	hundredths := i.Pairs[repetition].NFS
	if client == "dnfs" {
		hundredths = i.Pairs[repetition].DNFS
	}
	cell := impactCell(client, i.Users)
	start := Start().Add(time.Duration(position) * 5 * time.Minute)
	return runfile.SuiteResult{
		Cell: cell, Repetition: int32(repetition + 1), Position: int32(position), //nolint:gosec // 8 times 32 of them
		Benchmark: "seed-002-" + cell + "-r" + strconv.Itoa(repetition+1) + "-0",
		Phase:     "Succeeded", Validity: "Valid", Started: start, Ended: start.Add(4 * time.Minute),
		Points: []runfile.SuitePoint{{Metrics: map[string]float64{runfile.MetricMeanLatency: float64(10 * hundredths)}}},
	}
}
