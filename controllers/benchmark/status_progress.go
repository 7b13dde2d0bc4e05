package benchmark

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// setProgress shows the slowest client: the run is as far as that one is.
func setProgress(s *scope) {
	s.b.Status.Progress = nil
	if s.moving != nil {
		s.b.Status.Progress = &v1alpha1.ProgressStatus{Step: "Move", Percent: min(max(s.moving.Percent, 0), 100)}
		return
	}
	if len(s.progress) == 0 {
		return
	}
	slow := slowest(s.progress)
	repetition, _ := levelOf(s.plan, slow.Repetition)
	p := &v1alpha1.ProgressStatus{Step: statussize.ClipTo(slow.Span, 32), Repetition: repetition, Percent: min(max(slow.Percent, 0), 100), ETASeconds: slow.ETASeconds}
	if mbs := throughput(s.progress); mbs > 0 {
		p.ThroughputMegabytesPerSecond = &mbs
	}
	s.b.Status.Progress = p
}

func slowest(all []runfile.Progress) runfile.Progress {
	slow := all[0]
	for _, p := range all[1:] {
		if p.Percent < slow.Percent {
			slow = p
		}
	}
	return slow
}

func throughput(all []runfile.Progress) int64 {
	var sum int64
	for _, p := range all {
		sum += p.BytesPerSecond
	}
	return sum / 1e6
}

// levelOf is what a user calls a repetition: that of the spec, and in words the
// level of load within it. A client counts on over all of them.
func levelOf(p *runfile.Plan, index int32) (repetition int32, words string) {
	if p == nil || index < 1 {
		return max(index, 0), ""
	}
	switch w := p.Workload; {
	case w.SLOB != nil && len(w.SLOB.Users) > 1:
		n := int32(len(w.SLOB.Users)) //nolint:gosec // 32 at most
		return (index-1)/n + 1, " with " + usersWords(w.SLOB.Users[(index-1)%n])
	case w.Calibrate != nil && p.Database == nil: // it finds its own levels
		return 0, fmt.Sprintf(", level %d", index)
	case w.Calibrate != nil && index <= w.Calibrate.WarmupRuns:
		return 0, ", warm-up run"
	case w.Calibrate != nil:
		return index - w.Calibrate.WarmupRuns, ""
	default:
		return index, ""
	}
}

func progressMessage(p *runfile.Plan, all []runfile.Progress) string {
	slow := slowest(all)
	msg := slow.Span
	repetition, words := levelOf(p, slow.Repetition)
	if repetition > 0 {
		msg = fmt.Sprintf("%s %d", msg, repetition)
	}
	msg += words
	msg = fmt.Sprintf("%s, %d %%", msg, slow.Percent)
	if mbs := throughput(all); mbs > 0 {
		msg += fmt.Sprintf(", %d MB/s", mbs)
	}
	if slow.ETASeconds != nil {
		msg += fmt.Sprintf(", %d s to go", *slow.ETASeconds)
	}
	if slow.Message != "" {
		msg += ": " + slow.Message
	}
	return msg
}
