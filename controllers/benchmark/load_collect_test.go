package benchmark

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestOnlyResultsOfOurPodsAreRead: anybody with ConfigMaps in the namespace can write one
// of the name, and one of an earlier benchmark of the name may still be there.
func TestOnlyResultsOfOurPodsAreRead(t *testing.T) {
	t.Parallel()
	for owner, want := range map[types.UID]bool{"1": true, "2": false, "": false} {
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "result"},
			Data:       map[string]string{runfile.KeyRelease: "now"},
		}
		if owner != "" {
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark", Name: "demo", UID: owner, Controller: new(true)}}
		}
		s := &scope{b: &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}}, loadPart: loadPart{plan: &runfile.Plan{}}}
		s.names.Result = "result"
		r := reconcilerWith(t, cm)
		if err := r.readResult(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if (s.result != nil) != want || s.released != want {
			t.Errorf("result of owner %q: read %v, released %v; want %v", owner, s.result != nil, s.released, want)
		}
	}
}

// TestADamagedResultIsNamed: the run cannot end as one that succeeded, and says which client is to blame.
func TestADamagedResultIsNamed(t *testing.T) {
	t.Parallel()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "result", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark", Name: "demo", UID: "1", Controller: new(true)},
		}},
		BinaryData: map[string][]byte{runfile.ResultKey(1): []byte("{}")},
	}
	s := &scope{
		b:        &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}},
		loadPart: loadPart{plan: &runfile.Plan{Clients: 2}},
	}
	s.names.Result = "result"
	o := outcome{phase: v1alpha1.PhaseFailed, reason: v1alpha1.ReasonPodLost, message: "a pod was lost"}
	if _, err := reconcilerWith(t, cm).endWithResults(t.Context(), s, o); err == nil {
		t.Error("a file without a version is one of another release")
	}
	cm.BinaryData[runfile.ResultKey(1)] = []byte(`{"version": "` + runfile.ResultVersion + `", "clients": 3}`)
	s.configMaps = nil
	if _, err := reconcilerWith(t, cm).endWithResults(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	if got := s.outcome.message; !strings.HasPrefix(got, o.message) || !strings.Contains(got, runfile.ResultKey(1)) {
		t.Errorf("the message is %q", got)
	}
}

func TestTheFailureThatExplainsARunIsNotThatOfAStoppedClient(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		codes []string // of the clients; "" = none
		want  string
	}{
		"nothing failed":              {[]string{"", ""}, ""},
		"stopped before the cause":    {[]string{runfile.FailureCancelled, runfile.FailureVerify}, runfile.FailureVerify},
		"stopped after the cause":     {[]string{"", runfile.FailureVerify, runfile.FailureCancelled}, runfile.FailureVerify},
		"two causes: the first":       {[]string{runfile.FailureVerify, runfile.FailureInternal}, runfile.FailureVerify},
		"all were stopped by request": {[]string{runfile.FailureCancelled, ""}, runfile.FailureCancelled},
	} {
		r := &runfile.Result{}
		for _, code := range tc.codes {
			c := runfile.ClientResult{}
			if code != "" {
				c.Load.Failure = &runfile.Failure{Code: code}
			}
			r.Clients = append(r.Clients, c)
		}
		got := ""
		if f := firstFailure(r); f != nil {
			got = f.Code
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", reason, got, tc.want)
		}
	}
}

func TestARunIsOverWhenEachClientHasPublishedItsResult(t *testing.T) {
	t.Parallel()
	progress := func(final ...bool) (out []runfile.Progress) {
		for _, f := range final {
			out = append(out, runfile.Progress{Final: f})
		}
		return out
	}
	for reason, tc := range map[string]struct {
		progress []runfile.Progress
		results  int
		want     bool
	}{
		"both":                   {progress(true, true), 2, true},
		"one is under way":       {progress(true, false), 1, false},
		"one was never heard of": {progress(true), 1, false},
		"a result is missing":    {progress(true, true), 1, false},
		"a last word is missing": {progress(true, false), 2, false},
	} {
		s := &scope{loadPart: loadPart{plan: &runfile.Plan{Clients: 2}, progress: tc.progress, result: &runfile.Result{Clients: make([]runfile.ClientResult, tc.results)}}}
		if got := allFinal(s); got != tc.want {
			t.Errorf("%s: %v, want %v", reason, got, tc.want)
		}
	}
	if allFinal(&scope{}) {
		t.Error("a run without a plan is over")
	}
}
