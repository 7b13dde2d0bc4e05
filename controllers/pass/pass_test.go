package pass

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPhasesRunInOrderUpToTheOneThatEndsThePass(t *testing.T) {
	t.Parallel()
	phase := func(name string, n Next, err error) func(context.Context, *[]string) (Next, error) {
		return func(_ context.Context, ran *[]string) (Next, error) {
			*ran = append(*ran, name)
			return n, err
		}
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		second Next
		err    error
		ran    []string
	}{
		"all go on":    {Next{}, nil, []string{"a", "b", "c"}},
		"one stops":    {Next{Stop: true, After: time.Minute}, nil, []string{"a", "b"}},
		"one is wrong": {Next{}, broken, []string{"a", "b"}},
	} {
		var ran []string
		n, err := Run(t.Context(), &ran, []func(context.Context, *[]string) (Next, error){
			phase("a", Next{}, nil), phase("b", c.second, c.err), phase("c", Next{}, nil),
		})
		if n != c.second || !errors.Is(err, c.err) || !slices.Equal(ran, c.ran) {
			t.Errorf("%s: %v ran, then %+v, %v", name, ran, n, err)
		}
	}
}

// The message stands once, abnormal conditions are absent where they are not true, and nothing is ready of what is held
// back.
func TestGenericToolsUnderstandTheHealth(t *testing.T) {
	t.Parallel()
	for kind, want := range map[HealthKind][3]State{ // Reconciling, Stalled, Ready
		InProgress: {True("R", ""), {Absent: true}, False("R", "m")},
		Failed:     {{Absent: true}, True("R", "the condition Ready says why"), False("R", "m")},
		Current:    {{Absent: true}, {Absent: true}, True("R", "m")},
		Held:       {False("R", "m"), {Absent: true}, {Absent: true}},
	} {
		table := HealthConditions(func(int, error) Health { return Health{Kind: kind, Reason: "R", Message: "m"} })
		for i, c := range table {
			if got := c.State(0, nil); got != want[i] {
				t.Errorf("%s: %s is %+v, want %+v", kind, c.Type, got, want[i])
			}
		}
	}
}

// A pass that has not looked at something keeps what an earlier one found.
func TestConditionsOfWhichNothingIsKnownStay(t *testing.T) {
	t.Parallel()
	var all []metav1.Condition
	say, now := State{}, time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	table := []Condition[int]{
		{"Looked", func(int, error) State { return say }},
		{"Other", func(_ int, err error) State { return Unknown("Retrying", err.Error()) }},
	}
	for _, c := range []struct {
		say     State
		want    metav1.ConditionStatus
		why     string
		changed bool
	}{
		{State{}, metav1.ConditionUnknown, "Pending", true},
		{StateOf(&Fact{OK: true, Reason: "Seen"}), metav1.ConditionTrue, "Seen", true},
		{StateOf(nil), metav1.ConditionTrue, "Seen", false},
		{StateOf(&Fact{Reason: "Gone"}), metav1.ConditionFalse, "Gone", true},
	} {
		say, now = c.say, now.Add(time.Hour)
		before := slices.Clone(all)
		SetConditions(table, 0, errors.New("x"), &all, 7, now)
		got := meta.FindStatusCondition(all, "Looked")
		if got.Status != c.want || got.Reason != c.why || got.ObservedGeneration != 7 || len(all) != 2 {
			t.Errorf("%+v becomes %+v", c.say, all)
		}
		if at := got.LastTransitionTime.Time; at.Equal(now) != c.changed {
			t.Errorf("%+v is dated %s at %s", c.say, at, now)
		}
		if changed := Changed(before, all, "Looked"); (changed != nil) != c.changed || changed != nil && changed.Status != c.want {
			t.Errorf("%+v changed to %+v", c.say, changed)
		}
	}
	if Changed(all, all, "Looked") != nil {
		t.Error("a condition that stays False has not changed")
	}
	say = State{Absent: true}
	SetConditions(table, 0, errors.New("x"), &all, 7, now)
	if len(all) != 1 || all[0].Type != "Other" {
		t.Errorf("a condition that an object has not is there: %+v", all)
	}
}
