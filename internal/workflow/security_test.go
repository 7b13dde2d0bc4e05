package workflow_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/nfsbench/nfsbench/internal/workflow"
)

// TestThePodsOfASuiteMeetTheRestrictedStandard, as Argo makes them: the context of the Workflow is that of the pod, and
// its patch sets that of both containers.
func TestThePodsOfASuiteMeetTheRestrictedStandard(t *testing.T) {
	made := workflow.NewWorkflow(inputOf(t, suiteOf(t, "paths")))
	patch, _, err1 := unstructured.NestedString(made.Object, "spec", "podSpecPatch")
	context, found, err2 := unstructured.NestedMap(made.Object, "spec", "securityContext")
	if err1 != nil || err2 != nil || !found {
		t.Fatal(patch, err1, found, err2)
	}
	text, err := json.Marshal(context)
	if err != nil {
		t.Fatal(err)
	}
	pod := corev1.PodSpec{}
	if err := json.Unmarshal([]byte(patch), &pod); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &pod.SecurityContext); err != nil || len(pod.InitContainers)+len(pod.Containers) != 2 {
		t.Fatal(pod, err)
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(restricted, &metav1.ObjectMeta{}, &pod) {
		if !r.Allowed {
			t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
}
