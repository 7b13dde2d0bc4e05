package suite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// setHistory lists the runs that have ended, newest first, by what their records
// are labelled with.
func setHistory(s *scope, v seen) {
	st := &s.suite.Status
	st.History = nil
	over := s.over()
	for i := len(over) - 1; i >= 0 && len(st.History) <= maxHistory; i-- {
		one := over[i]
		notes := one.record.Annotations
		e := v1alpha1.SuiteHistoryEntry{
			Run: statussize.ClipTo(one.name, maxRunLength), Phase: v1alpha1.SuitePhase(notes[annotationPhase]), Verdict: v1alpha1.SuiteVerdict(notes[annotationVerdict]),
			CompletionTime: noted(notes[annotationEnded]), Accepted: one.name == s.accepted,
		}
		if e.Verdict == "" && one == v.ended {
			e.Verdict = v.verdict
		}
		st.History = append(st.History, e)
	}
}

func noted(text string) *metav1.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil
	}
	return timestamp(metav1.NewTime(t))
}
