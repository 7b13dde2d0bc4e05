package suite

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

const (
	maxFailures  = 8
	etaGrain     = 10 * time.Second // a finer one would cost a write in each pass
	maxRunLength = 63
)

// setRun describes the newest run. What is not known of it stays as it was.
func setRun(s *scope) {
	cur := s.current()
	if cur == nil || !cur.loaded {
		return
	}
	rs := runStatus(s, cur)
	s.suite.Status.Run = &rs
	if cur.record != nil {
		s.suite.Status.ResultRef = &v1alpha1.ResultReference{Name: cur.record.Name}
	}
}

func runStatus(s *scope, cur *run) v1alpha1.SuiteRunStatus {
	f := cur.file
	out := v1alpha1.SuiteRunStatus{
		Name: statussize.ClipTo(cur.name, maxRunLength), Workflow: f.Workflow, Retried: f.Retried,
	}
	if w := cur.workflow(); w != "" {
		out.Workflow = w
	}
	if was := s.suite.Status.Run; was != nil && was.Name == out.Name && out.Workflow == "" {
		out.Workflow = was.Workflow
	}
	if !f.Started.IsZero() {
		out.StartTime = timestamp(metav1.NewTime(f.Started))
	}
	if cur.isOver() {
		out.CompletionTime = timestamp(metav1.NewTime(f.Ended))
	}
	count(&out, f)
	setPace(s, cur, &out)
	return out
}

// count counts the results: each cell and repetition once.
func count(out *v1alpha1.SuiteRunStatus, f runfile.SuiteRun) {
	for _, r := range f.Results {
		out.Finished++
		switch {
		case !isSuccess(r):
			out.Failed++
			if len(out.Failures) < maxFailures {
				out.Failures = append(out.Failures, v1alpha1.BenchmarkFailure{
					Benchmark: r.Benchmark, Message: statussize.ClipTo(strings.TrimPrefix(r.Reason+": "+r.Message, ": "), 324),
				})
			}
		case r.Validity == string(v1alpha1.ValiditySuspect), r.Validity == string(v1alpha1.ValidityInvalid):
			out.Succeeded++
			out.Suspect++
		default:
			out.Succeeded++
		}
	}
}

// setPace says how far a run is, and when it will be over if the others take as long
// as those that have ended.
func setPace(s *scope, cur *run, out *v1alpha1.SuiteRunStatus) {
	total := cur.total()
	if cur.isOver() || total == 0 {
		if cur.isOver() && out.Succeeded == int32(total) && total > 0 { //nolint:gosec // bounded by matrix.MaxBenchmarks
			out.Percent = 100
		} else if total > 0 {
			out.Percent = min(int32(len(cur.file.Results)*100/total), 100) //nolint:gosec // a percentage
		}
		return
	}
	done := float64(len(cur.file.Results))
	for _, b := range cur.live {
		done += float64(b.percent) / 100
		out.Current = b.name
	}
	out.Percent = min(int32(done*100/float64(total)), 99)
	if each := meanDuration(cur.file.Results); each > 0 && !s.suite.Spec.Suspend {
		left := time.Duration(max(float64(total)-done, 0) * float64(each))
		left = (left + etaGrain - 1).Truncate(etaGrain)
		out.ETASeconds = new(int64(left / time.Second))
	}
}

// meanDuration of the benchmarks that ran; 0 = none has.
func meanDuration(results []runfile.SuiteResult) time.Duration {
	sum, n := time.Duration(0), 0
	for _, r := range results {
		if !r.Started.IsZero() && r.Ended.After(r.Started) {
			sum += r.Ended.Sub(r.Started)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// progressMessage is a run under way in words.
func progressMessage(s *scope, cur *run) string {
	done := fmt.Sprintf("%d of %d benchmarks finished", len(cur.file.Results), cur.total())
	switch {
	case len(cur.live) == 0 && s.suite.Spec.Suspend:
		return "suspended after " + done + ": set spec.suspend to false to go on"
	case cur.isDone() && len(cur.live) > 0:
		return done + ", waiting for " + cur.live[0].name + " to stop"
	case len(cur.live) == 0:
		return done
	}
	b := cur.live[0]
	msg := fmt.Sprintf("%s, repetition %d of %s is under way", done, b.key.Repetition, b.key.Cell)
	if b.waits != "" {
		msg += ": " + b.waits
	}
	return msg
}
