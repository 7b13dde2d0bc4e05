package benchmark

import (
	"bytes"
	"errors"
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
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark", Name: "demo", UID: owner}}
		}
		s := &scope{b: &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}}, plan: &runfile.Plan{}}
		s.names.Result = "result"
		r := reconcilerWith(t, cm)
		if err := errors.Join(r.readProgress(t.Context(), s), r.readResult(t.Context(), s)); err != nil {
			t.Fatal(err)
		}
		if (s.result != nil) != want || s.released != want {
			t.Errorf("result of owner %q: read %v, released %v; want %v", owner, s.result != nil, s.released, want)
		}
	}
}

func TestAResultOfMoreWindowsThanThePlanIsNone(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	load := runfile.Load{Repetitions: make([]runfile.Repetition, 3)}
	if err := runfile.WriteResultGzip(&packed, runfile.Result{Version: runfile.ResultVersion, Clients: []runfile.ClientResult{{Load: load}}}); err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{BinaryData: map[string][]byte{runfile.ResultKey(0): packed.Bytes()}}
	for windows, want := range map[int64]bool{2: false, 3: true} {
		left := runfile.BenchmarkBudget()
		if got, err := clientResult(cm, 0, windows, &left); err != nil || (got != nil) != want {
			t.Errorf("%d windows: read %v, want %v; %v", windows, got != nil, want, err)
		}
	}
}

func TestAResultWithALongListIsNone(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]bool{mostInList: true, mostInList + 1: false} {
		client := runfile.ClientResult{Index: -1, Observed: &runfile.Observed{
			Windows: []runfile.ObservedWindow{{Storage: make([]runfile.StorageWindow, length)}},
		}}
		var packed bytes.Buffer
		if err := runfile.WriteResultGzip(&packed, runfile.Result{Version: runfile.ResultVersion, Clients: []runfile.ClientResult{client}}); err != nil {
			t.Fatal(err)
		}
		left := runfile.BenchmarkBudget()
		cm := &corev1.ConfigMap{BinaryData: map[string][]byte{runfile.ResultKey(2): packed.Bytes()}}
		got, err := clientResult(cm, 2, 1, &left)
		if err != nil || (got != nil) != want {
			t.Errorf("%d windows of storage: read %v, want %v; %v", length, got != nil, want, err)
		}
		if got != nil && got.Index != 2 {
			t.Errorf("the client of key 2 has number %d", got.Index)
		}
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
		s := &scope{plan: &runfile.Plan{Clients: 2}, progress: tc.progress, result: &runfile.Result{Clients: make([]runfile.ClientResult, tc.results)}}
		if got := allFinal(s); got != tc.want {
			t.Errorf("%s: %v, want %v", reason, got, tc.want)
		}
	}
	if allFinal(&scope{}) {
		t.Error("a run without a plan is over")
	}
}
