package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestTheStatusOfARunIsOnePage(t *testing.T) {
	t.Parallel()
	begun := metav1.NewTime(time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
	ended := metav1.NewTime(begun.Add(95 * time.Second))
	failed := gen.Benchmark("failed", func(b *v1alpha1.NFSBenchmark) {
		st := &b.Status
		st.Phase, st.StartTime, st.CompletionTime = v1alpha1.PhaseFailed, &begun, &ended
		st.Message = `10.0.1.61 has no export "/vol/dtaa"; did you mean "/vol/data"?`
		st.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionStorageProvisioned, Status: metav1.ConditionTrue, Reason: "Provisioned"},
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: "NoSuchExport"},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "NoSuchExport", Message: st.Message},
		}
		st.Findings = []bench.Finding{
			{Code: "Partial", Severity: bench.SeverityError, Message: "Client 0 ended with NoSuchExport: MNT3ERR_NOENT"},
			{Code: "ChannelEvents", Severity: bench.SeverityInfo, Message: "not worth a line"},
		}
	})
	waits := gen.Benchmark("waits", func(b *v1alpha1.NFSBenchmark) {
		st := &b.Status
		st.Phase, st.Message = v1alpha1.PhaseQueued, "bench/other uses the target"
		st.Queue = &v1alpha1.QueueStatus{Position: 2, Behind: "bench/other"}
		st.Resolved = &v1alpha1.ResolvedStatus{Array: "ONTAP 9.14.1, SVM svm1", Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}, {Local: "10.0.2.5", Path: "10.0.2.61"}}}
	})
	for name, want := range map[string]string{
		"failed": `failed  Failed
10.0.1.61 has no export "/vol/dtaa"; did you mean "/vol/data"?

storage   10.0.1.61, 10.0.2.61:/vol/oradata
time      from 2026-11-01 08:00:00 to 2026-11-01 08:01:35 UTC, 1m35s
condition Succeeded False (NoSuchExport)

ERROR     Partial
          Client 0 ended with NoSuchExport: MNT3ERR_NOENT
`,
		"waits": `waits  Queued 2.
bench/other uses the target

storage   10.0.1.61, 10.0.2.61:/vol/oradata, path 10.0.1.61, path 10.0.2.5 ->
          10.0.2.61; ONTAP 9.14.1, SVM svm1
queue     2., behind bench/other
`,
	} {
		o := newShell(t, failed.DeepCopy(), waits.DeepCopy()).run("status", name).mustEnd(t, cli.ExitOK)
		if diff := cmp.Diff(want, o.out); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	newShell(t).run("status", "nobody").mustEnd(t, cli.ExitBadInput).mustSay(t, "nobody")
}
