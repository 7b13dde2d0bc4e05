package workflow_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/workflow"
	"github.com/nfsbench/nfsbench/test/kit/golden"
)

func TestSuitesCompileToWhatIsOnFile(t *testing.T) {
	compile := map[string]func(workflow.Input) *unstructured.Unstructured{
		"nfs-vs-dnfs": workflow.NewWorkflow,
		"nightly":     workflow.NewCronWorkflow,
		"paths":       workflow.NewWorkflow,
		"resubmission": func(in workflow.Input) *unstructured.Unstructured {
			in.Attempt, in.FirstAttempt, in.Done = 1, 3, map[workflow.Key]bool{}
			for _, slot := range in.Matrix.Sequence[2:] {
				in.Done[workflow.Key{Cell: in.Matrix.Cells[slot.Cell].Name, Repetition: slot.Repetition}] = true
			}
			return workflow.NewWorkflow(in)
		},
	}
	for name, f := range compile {
		from := name
		if name == "resubmission" {
			from = "nfs-vs-dnfs"
		}
		in := inputOf(t, suiteOf(t, from))
		out, err := yaml.Marshal(f(in).Object)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", name+".workflow.yaml"), out)
		if got, err := yaml.Marshal(f(in).Object); err != nil || string(got) != string(out) {
			t.Errorf("%s compiles to something else the second time: %v", name, err)
		}
	}
}

func TestTheRightsOfTheStepsAreWhatIsOnFile(t *testing.T) {
	var out []byte
	for _, obj := range workflow.Access(suiteOf(t, "nfs-vs-dnfs")) {
		data, err := yaml.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, "---\n"...), data...)
	}
	golden.Compare(t, filepath.Join("testdata", "nfs-vs-dnfs.access.yaml"), out)
	if own := workflow.Access(suiteOf(t, "paths")); len(own) != 0 {
		t.Errorf("a suite with an account of its own gets %d objects", len(own))
	}
}

// TestAResubmissionLeavesOutWhatIsDone: whatever is done, the steps are the rest of
// the order, each with the position that it had.
func TestAResubmissionLeavesOutWhatIsDone(t *testing.T) {
	in := inputOf(t, suiteOf(t, "nfs-vs-dnfs"))
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 30 {
		in.Attempt, in.FirstAttempt, in.Done = int32(round), int32(round), map[workflow.Key]bool{}
		var want []string
		for i, slot := range in.Matrix.Sequence {
			key := workflow.Key{Cell: in.Matrix.Cells[slot.Cell].Name, Repetition: slot.Repetition}
			if r.IntN(30) < round {
				in.Done[key] = true
				continue
			}
			want = append(want, fmt.Sprintf("%s-r%d cell-%03d %d %d", key.Cell, key.Repetition, slot.Cell, key.Repetition, i+1))
		}
		if len(want) == 0 {
			continue
		}
		wf := workflow.NewWorkflow(in)
		var got []string
		used := map[string]bool{"main": true}
		for _, s := range steps(t, wf) {
			got = append(got, fmt.Sprintf("%v %v %s %s", s["name"], s["template"], argument(s, "repetition"), argument(s, "position")))
			used[s["template"].(string)] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("with %d done (-want +got):\n%s", len(in.Done), diff)
		}
		if n := len(templates(t, wf)); n != len(used) {
			t.Errorf("%d templates, of which %d are used", n, len(used))
		}
	}
}

func TestTheNamesOfAResubmissionAreNew(t *testing.T) {
	in := inputOf(t, suiteOf(t, "nfs-vs-dnfs"))
	first := workflow.NewWorkflow(in)
	in.Attempt, in.FirstAttempt = 1, 3
	again := workflow.NewWorkflow(in)
	if first.GetName() != "nfs-vs-dnfs-0a1b2c3d" || again.GetName() != "nfs-vs-dnfs-0a1b2c3d-2" || in.Name() != again.GetName() {
		t.Errorf("got %s and %s", first.GetName(), again.GetName())
	}
	for _, wf := range []*unstructured.Unstructured{first, again} {
		if got := wf.GetLabels()[v1alpha1.LabelSuiteRun]; got != in.Run {
			t.Errorf("%s is of the run %s", wf.GetName(), got)
		}
		b := manifest(t, wf, "cell-000")
		if b.GetLabels()[v1alpha1.LabelSuiteRun] != in.Run || !strings.HasPrefix(b.GetName(), wf.GetName()+"-nfs-1-r{{") {
			t.Errorf("benchmark %s of the run %s", b.GetName(), b.GetLabels()[v1alpha1.LabelSuiteRun])
		}
	}
	if got := manifest(t, first, "cell-000").GetLabels()[v1alpha1.LabelAttempt]; got != "{{retries}}" {
		t.Errorf("the attempt is %s", got)
	}
	if got := manifest(t, again, "cell-000").GetLabels()[v1alpha1.LabelAttempt]; got != "{{=asInt(retries)+3}}" {
		t.Errorf("the attempt of a resubmission is %s", got)
	}
}

func TestTheUsersLabelsDoNotReplaceTheSuites(t *testing.T) {
	s := suiteOf(t, "nfs-vs-dnfs")
	s.Spec.Template.Metadata.Labels[v1alpha1.LabelCell] = "mine"
	b := manifest(t, workflow.NewWorkflow(inputOf(t, s)), "cell-005")
	if l := b.GetLabels(); l[v1alpha1.LabelCell] != "dnfs-2" || l["team"] != "storage" || b.GetAnnotations()["ticket"] != "4711" {
		t.Errorf("labels %v, annotations %v", l, b.GetAnnotations())
	}
	if s.Spec.Template.Metadata.Labels[v1alpha1.LabelCell] != "mine" {
		t.Error("compiling changed the suite")
	}
}

func TestAScheduledSuiteIsSuspendedEitherWay(t *testing.T) {
	for _, tc := range []struct{ suite, schedule, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		s := suiteOf(t, "nightly")
		s.Spec.Suspend, s.Spec.Schedule.Suspend = tc.suite, tc.schedule
		cron := workflow.NewCronWorkflow(inputOf(t, s))
		got, _, _ := unstructured.NestedBool(cron.Object, "spec", "suspend")
		if _, is, _ := unstructured.NestedBool(cron.Object, "spec", "workflowSpec", "suspend"); got != tc.want || is {
			t.Errorf("%+v: got %t; the runs to come are suspended themselves: %t", tc, got, is)
		}
	}
}

// TestASuiteThatArgoCannotHoldIsRefused has suites up to 256 cells and 1600 benchmarks, with long names.
func TestASuiteThatArgoCannotHoldIsRefused(t *testing.T) {
	cases := map[string]struct {
		values      []int // of each axis
		repetitions int32
		taken       bool
	}{
		"ManyCells":      {[]int{16, 16}, 2, true},
		"ManyBenchmarks": {[]int{32}, 50, true},
		"LongNames":      {[]int{4, 4, 4}, 12, true},
		"Small":          {[]int{2}, 10, true},
		"TheMostOfBoth":  {[]int{16, 16}, 8, false},
		"ManyOfBoth":     {[]int{2, 20}, 50, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := suiteOf(t, "nfs-vs-dnfs")
			s.Name, s.Spec.Repetitions, s.Spec.Axes, s.Spec.Compare = strings.Repeat("s", 40), tc.repetitions, nil, nil
			for i, n := range tc.values {
				axis := v1alpha1.Axis{Name: fmt.Sprintf("axis%d", i)}
				for v := range n {
					axis.Values = append(axis.Values, v1alpha1.AxisValue{Name: fmt.Sprintf("a-long-value-%d-%d", i, v)})
				}
				s.Spec.Axes = append(s.Spec.Axes, axis)
			}
			m := inputOf(t, s).Matrix
			err := workflow.CheckSize(s, m)
			if (err == nil) != tc.taken || err != nil && !strings.Contains(err.Error(), fmt.Sprintf(
				"%d cells x %d repetitions come to a Workflow of about", len(m.Cells), tc.repetitions)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAWorkflowIsBroughtInLineWithTheSuite(t *testing.T) {
	wf := func(phase string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": map[string]any{"phase": phase}}}
	}
	cases := map[string]struct {
		suspend bool
		stop    bool
		wf      *unstructured.Unstructured
		want    string
	}{
		"Nothing":          {false, false, wf("Running", map[string]any{}), ""},
		"Suspend":          {true, false, wf("Running", map[string]any{}), `{"spec":{"suspend":true}}`},
		"SuspendedAlready": {true, false, wf("Running", map[string]any{"suspend": true}), ""},
		"Resume":           {false, false, wf("Running", map[string]any{"suspend": true}), `{"spec":{"suspend":null}}`},
		"ResumedAlready":   {false, false, wf("Running", map[string]any{"suspend": false}), ""},
		"Stop":             {false, true, wf("Running", map[string]any{}), `{"spec":{"shutdown":"Stop"}}`},
		"StopASuspended":   {true, true, wf("Running", map[string]any{"suspend": true}), `{"spec":{"shutdown":"Stop","suspend":null}}`},
		"StoppedAlready":   {true, true, wf("Running", map[string]any{"shutdown": "Stop"}), ""},
		"NeverGoesOn":      {false, false, wf("Running", map[string]any{"shutdown": "Stop"}), ""},
		"NotSeenYet":       {true, false, wf("", map[string]any{}), `{"spec":{"suspend":true}}`},
		"Succeeded":        {true, true, wf("Succeeded", map[string]any{}), ""},
		"Failed":           {true, false, wf("Failed", map[string]any{}), ""},
		"Error":            {false, true, wf("Error", map[string]any{}), ""},
	}
	for name, tc := range cases {
		s := &v1alpha1.NFSBenchmarkSuite{}
		s.Spec.Suspend = tc.suspend
		if tc.stop {
			s.Spec.Shutdown = v1alpha1.ShutdownStop
		}
		if got := string(workflow.Patch(s, tc.wf)); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestWhatAWorkflowSaysIsRead(t *testing.T) {
	at := metav1.Date(2026, 11, 22, 2, 0, 0, 0, metav1.Now().UTC().Location())
	end := metav1.Date(2026, 11, 22, 3, 30, 0, 0, at.Location())
	wf := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"phase": "Failed", "message": "child failed", "startedAt": "2026-11-22T02:00:00Z", "finishedAt": "2026-11-22T03:30:00Z",
		"lastScheduledTime": "2026-11-22T02:00:00Z",
	}}}
	want := workflow.State{Phase: "Failed", Message: "child failed", Finished: &end, IsFinished: true}
	if diff := cmp.Diff(want, workflow.Observe(wf)); diff != "" {
		t.Error(diff)
	}
	if got := workflow.LastScheduled(wf); got == nil || !got.Equal(&at) {
		t.Errorf("last scheduled at %v", got)
	}
	running := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Running", "finishedAt": nil}}}
	if got := workflow.Observe(running); got.IsFinished || got.Finished != nil || got.Phase != "Running" {
		t.Errorf("got %+v", got)
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	if got := workflow.Observe(empty); got != (workflow.State{}) || workflow.LastScheduled(empty) != nil || workflow.Observe(nil) != (workflow.State{}) || workflow.LastScheduled(nil) != nil {
		t.Errorf("nothing says %+v", got)
	}
}
