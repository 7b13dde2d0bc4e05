package diagnose

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

func TestAPodWithoutItsSecretIsToldQuickly(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const told = `MountVolume.SetUp failed for volume "array-credentials" : secret "ontap" not found`
	cases := map[string]struct {
		age    time.Duration
		told   string
		reason string
		fatal  bool
	}{
		"young":   {9 * time.Second, told, v1alpha1.ReasonSecretNotFound, false},
		"old":     {11 * time.Second, told, v1alpha1.ReasonSecretNotFound, true},
		"another": {11 * time.Second, `MountVolume.SetUp failed for volume "v" : mount failed`, v1alpha1.ReasonMountFailed, false},
	}
	for name, tc := range cases {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "survey-0", UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-tc.age))}}
		p.Status.Phase = corev1.PodPending
		e := corev1.Event{InvolvedObject: corev1.ObjectReference{UID: "u"}, Reason: "FailedMount", Message: tc.told}
		got := Pods([]corev1.Pod{p}, []corev1.Event{e}, now, DefaultGrace())
		if got == nil || got.Reason != tc.reason || got.Fatal != tc.fatal {
			t.Fatalf("%s: %+v", name, got)
		}
		if tc.reason == v1alpha1.ReasonSecretNotFound && !strings.Contains(got.Message, `no Secret "ontap" in namespace "bench"`) {
			t.Errorf("%s: %s", name, got.Message)
		}
	}
}
