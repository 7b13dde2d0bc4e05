package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

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
		if s.Metrics[i], err = OneOf("metric", m, judge.MetricNames()); err != nil {
			return err
		}
	}
	if s.Correction, err = OneOf("correction", s.Correction, []string{"Holm", "None"}); err != nil {
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

// OneOf finds the value of a flag whatever its case.
func OneOf[T ~string](flag string, value T, values []T) (T, error) {
	v, err := oneOf(value, values, nil)
	if err != nil {
		err = fmt.Errorf("--%s is %q; %w", flag, value, err)
	}
	return v, err
}

// oneOf finds a value whatever its case, or by another name in lower case.
func oneOf[T ~string](value T, values []T, also map[string]T) (T, error) {
	if other, ok := also[strings.ToLower(string(value))]; ok {
		return other, nil
	}
	i := slices.IndexFunc(values, func(v T) bool { return strings.EqualFold(string(v), string(value)) })
	if i < 0 {
		return "", errors.New("use " + Listed(values))
	}
	return values[i], nil
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
