package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The loads that --workload names.
const (
	WorkloadRaw       = "raw"
	WorkloadCalibrate = "calibrate"
	WorkloadSLOBRead  = "slob-read"
	WorkloadSLOBScan  = "slob-scan"
)

// Load is what both nfsbench load and kubectl nfsbench run take from flags about a load.
// Parse converts them; fields have the words of plan and spec then.
type Load struct {
	Workload        string
	Pattern         bench.RawPattern
	DurationSeconds int32

	duration time.Duration
}

// Register adds the flags, with the defaults that the API has too.
func (l *Load) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&l.Workload, "workload", WorkloadRaw,
		"raw, calibrate, slob-read or slob-scan; the last three are the I/O of a database, without one")
	fs.StringVar((*string)(&l.Pattern), "pattern", string(bench.PatternRead),
		Listed(bench.Patterns())+", in any case; also randread, randwrite and randmixed")
	fs.DurationVar(&l.duration, "duration", runfile.DefaultDurationSeconds*time.Second, "measured window")
	CompleteValues(cmd, "workload", workloads()...)
	CompleteValues(cmd, "pattern", bench.Patterns()...)
}

func workloads() []string {
	return []string{WorkloadRaw, WorkloadCalibrate, WorkloadSLOBRead, WorkloadSLOBScan}
}

// Parse converts the flags. Its errors name the flag and the fix.
func (l *Load) Parse() (err error) {
	if l.Workload, err = OneOf("workload", l.Workload, workloads(), nil); err != nil {
		return err
	}
	also := map[string]bench.RawPattern{
		"randread": bench.PatternRandomRead, "randwrite": bench.PatternRandomWrite,
		"randmixed": bench.PatternRandomMixed,
	}
	if l.Pattern, err = OneOf("pattern", l.Pattern, bench.Patterns(), also); err != nil {
		return err
	}
	l.DurationSeconds, err = Seconds("--duration", l.duration)
	return err
}

// Seconds converts the value of a flag.
func Seconds(flag string, d time.Duration) (int32, error) {
	if d < 0 || d%time.Second != 0 || d/time.Second > math.MaxInt32 {
		return 0, fmt.Errorf("%s is %v; use whole seconds, such as 30s or 2m", flag, d)
	}
	return int32(d / time.Second), nil
}

// Significance is when a difference counts, as the flags of both compare commands say.
type Significance struct {
	runfile.SuiteSignificance

	percent float64
	changed func(flag string) bool
}

// Register adds the flags.
func (s *Significance) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&s.Metrics, "metric", nil,
		"metrics to compare: "+strings.Join(judge.MetricNames(), ", ")+
			" (default: those of the suite, Capacity of two searches, or MeanLatency and Throughput)")
	fs.Float64Var(&s.Alpha, "alpha", runfile.DefaultAlpha, "accepted rate of false alarms")
	fs.Float64Var(&s.percent, "minimum-effect", 100*runfile.DefaultMinimumEffect,
		"least difference of the medians that matters, in percent")
	fs.StringVar(&s.Correction, "correction", runfile.DefaultCorrection, "for the number of comparisons: Holm or None")
	CompleteValues(cmd, "metric", judge.MetricNames()...)
	CompleteValues(cmd, "correction", "Holm", "None")
	s.changed = fs.Changed
}

// Parse checks the flags, and puts the names in the case that results have.
func (s *Significance) Parse() (err error) {
	for i, m := range s.Metrics {
		if s.Metrics[i], err = OneOf("metric", m, judge.MetricNames(), nil); err != nil {
			return err
		}
	}
	if s.Correction, err = OneOf("correction", s.Correction, []string{"Holm", "None"}, nil); err != nil {
		return err
	}
	switch {
	case !(s.Alpha > 0 && s.Alpha < 1):
		return fmt.Errorf("--alpha is %g; use a rate between 0 and 1, such as 0.05", s.Alpha)
	case !(s.percent >= 0 && s.percent <= 100):
		return fmt.Errorf("--minimum-effect is %g; use percent from 0 to 100", s.percent)
	}
	s.MinimumEffect = s.percent / 100
	return nil
}

// Over returns what the flags say, and otherwise what declared says, which may be nil.
func (s *Significance) Over(declared *runfile.SuiteSignificance) runfile.SuiteSignificance {
	out := s.SuiteSignificance
	if declared == nil {
		return out
	}
	if len(out.Metrics) == 0 {
		out.Metrics = declared.Metrics
	}
	if !s.changed("alpha") {
		out.Alpha = declared.Alpha
	}
	if !s.changed("minimum-effect") {
		out.MinimumEffect = declared.MinimumEffect
	}
	if !s.changed("correction") {
		out.Correction = declared.Correction
	}
	return out
}

// OneOf finds the value of a flag whatever its case, or by another name in lower case.
func OneOf[T ~string](flag string, value T, values []T, also map[string]T) (T, error) {
	if other, ok := also[strings.ToLower(string(value))]; ok {
		return other, nil
	}
	i := slices.IndexFunc(values, func(v T) bool { return strings.EqualFold(string(v), string(value)) })
	if i < 0 {
		return "", fmt.Errorf("--%s is %q; use %s", flag, value, Listed(values))
	}
	return values[i], nil
}

// NFSVersion finds the version of NFS that a flag names: as plans spell it, by its number, or
// as the nfs_version of an oranfstab.
func NFSVersion(flag, value string) (bench.NFSVersion, error) {
	return OneOf(flag, bench.NFSVersion(value), bench.NFSVersions(), map[string]bench.NFSVersion{
		"3": bench.NFSv3, "4": bench.NFSv40, "4.0": bench.NFSv40, "nfsv4": bench.NFSv40,
		"4.1": bench.NFSv41, "4.2": bench.NFSv42,
	})
}

// CompleteValues completes a flag with fixed values.
func CompleteValues[T ~string](cmd *cobra.Command, flag string, values ...T) {
	// It fails for an unknown flag only.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words(values), cobra.ShellCompDirectiveNoFileComp))
}

// Listed joins values for a sentence.
func Listed[T ~string](values []T) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(words(values), ", ")
}

func words[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
