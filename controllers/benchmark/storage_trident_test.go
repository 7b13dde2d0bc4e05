package benchmark

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nfsbench/nfsbench/internal/trident"
)

// TestWhoMayNotSeeThePodsOfTridentTakesThemForAStart: the Role of an earlier release has no such right.
func TestWhoMayNotSeeThePodsOfTridentTakesThemForAStart(t *testing.T) {
	t.Parallel()
	starts := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: trident.DefaultNamespace, Name: trident.Deployment},
		Status:     appsv1.DeploymentStatus{Replicas: 1},
	}
	pulls := pod("new", corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}})
	for name, tc := range map[string]struct {
		objects   []client.Object
		forbidden bool
		starts    bool
		certain   bool
	}{
		"allowed":                      {[]client.Object{starts, pulls}, false, false, true},
		"forbidden":                    {[]client.Object{starts, pulls}, true, true, true},
		"forbidden, and no Deployment": {[]client.Object{pulls}, true, false, false},
	} {
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tc.objects...).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if tc.forbidden {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
				}
				return c.List(ctx, list, o...)
			},
		}).Build()
		r := &Reconciler{Options: Options{Reader: c, TridentNamespace: trident.DefaultNamespace}}
		state, certain, err := r.lookAtController(t.Context())
		if err != nil || state.down == "" || state.starts != tc.starts || certain != tc.certain {
			t.Errorf("%s: %+v, %t, %v", name, state, certain, err)
		}
	}
}

func pod(name string, phase corev1.PodPhase, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: trident.DefaultNamespace, Name: name, Labels: map[string]string{trident.ControllerLabel: trident.Controller},
		},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
			Name: trident.ControllerContainer, State: state,
		}}},
	}
}

// TestOnlyThePodThatTakesThePlaceOfOthersCounts: those that were evicted stay, and one that is deleted goes on for a
// while.
func TestOnlyThePodThatTakesThePlaceOfOthersCounts(t *testing.T) {
	t.Parallel()
	creates := pod("b", corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
	evicted := pod("c", corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}})
	deleted := pod("a", corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_800_000_000, 0)}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: trident.Deployment}}
	got := inPods(tridentState{starts: true, down: "x"}, d, []corev1.Pod{*deleted, *creates, *evicted})
	if got.starts || got.patience != tridentCreates {
		t.Errorf("%+v, want that a container is created", got)
	}
	runs := pod("d", corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	starts := tridentState{starts: true, down: "x", patience: tridentPatience}
	if got := inPods(starts, d, []corev1.Pod{*creates, *runs}); got != starts {
		t.Errorf("%+v, want that the one that runs starts", got)
	}
}

// TestAStateThatNobodyDatesCountsFromTheFirstLook, and one that nobody looked at for long is new.
func TestAStateThatNobodyDatesCountsFromTheFirstLook(t *testing.T) {
	t.Parallel()
	var seen tridentSeen
	at := func(minutes int) time.Time {
		return time.Unix(1_800_000_000, 0).Add(time.Duration(minutes) * time.Minute)
	}
	for _, look := range []struct {
		patience   time.Duration
		now, since int
	}{
		{tridentAnswers, 0, 0},
		{tridentAnswers, 4, 0},
		{tridentCreates, 5, 5},
		{tridentAnswers, 6, 6},
		{tridentAnswers, 12, 12},
		{tridentPatience, 13, 13},
		{tridentAnswers, 14, 14},
	} {
		if got := seen.since(look.patience, at(look.now)); !got.Equal(at(look.since)) {
			t.Errorf("%+v: since %s", look, got)
		}
	}
}
