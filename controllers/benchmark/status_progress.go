package benchmark

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
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
	p := &v1alpha1.ProgressStatus{Step: clipTo(slow.Span, 32), Repetition: slow.Repetition, Percent: min(max(slow.Percent, 0), 100), ETASeconds: slow.ETASeconds}
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

func progressMessage(all []runfile.Progress) string {
	slow := slowest(all)
	msg := slow.Span
	if slow.Repetition > 0 {
		msg = fmt.Sprintf("%s %d", msg, slow.Repetition)
	}
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
