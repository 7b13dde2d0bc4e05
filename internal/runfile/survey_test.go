package runfile

import (
	"io"
	"strings"
	"testing"
)

func fullRequest() SurveyRequest {
	return SurveyRequest{
		Version: SurveyVersion, Run: Identity{Namespace: "bench", Name: "demo", UID: "9d1f"},
		Source: Source{Kind: SourceONTAP, Name: "ontap", URL: "https://10.0.1.5", Credentials: "array", SVM: "svm1"},
		Export: "/vol/data", MoveTo: "aggr2", TimeoutSeconds: 60,
	}
}

func TestTheSchemaOfSurveysIsThatOfTheTypes(t *testing.T) {
	golden(t, "survey.schema.json", schemaOf(t, &Survey{}, "survey.schema.json"))
	golden(t, "survey-request.schema.json", schemaOf(t, &SurveyRequest{}, "survey-request.schema.json"))
}

func TestASurveyThatNobodyCanReadIsNotWritten(t *testing.T) {
	t.Parallel()
	big := Survey{Array: strings.Repeat("x", MaxSurveyBytes)}
	if err := WriteSurvey(io.Discard, big); err == nil || !strings.Contains(err.Error(), "may have 65536") {
		t.Errorf("%v", err)
	}
}

func TestARequestThatCannotBeMetIsRefusedWithTheField(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*SurveyRequest)
		want   string
	}{
		"version":     {func(q *SurveyRequest) { q.Version = "" }, "version: "},
		"name":        {func(q *SurveyRequest) { q.Source.Name = "" }, "source.name: is empty"},
		"no surveyor": {func(q *SurveyRequest) { q.Source.Kind = SourceEmbedded }, "source.kind: is \"embedded\"; write one of ontap, flashBlade"},
		"url":         {func(q *SurveyRequest) { q.Source.URL = "10.0.1.5" }, "source.url: is \"10.0.1.5\"; write an http or https URL"},
		"secret":      {func(q *SurveyRequest) { q.Source.Credentials = "../x" }, "source.credentials: "},
		"which":       {func(q *SurveyRequest) { q.Export = "" }, "export: is empty, and so is source.volume"},
		"relative":    {func(q *SurveyRequest) { q.Export = "vol" }, "export: is \"vol\""},
		"move": {
			func(q *SurveyRequest) { q.Source.Kind = SourceFlashBlade },
			"moveTo: is \"aggr2\"; only a volume of ONTAP can be moved",
		},
		"aggregate": {func(q *SurveyRequest) { q.MoveTo = strings.Repeat("a", 256) }, "moveTo: has 256 bytes"},
		"timeout":   {func(q *SurveyRequest) { q.TimeoutSeconds = -1 }, "timeoutSeconds: is -1; write a number from 0 to 3600"},
	}
	for name, tc := range cases {
		q := fullRequest()
		tc.change(&q)
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if err := fullRequest().Validate(); err != nil {
		t.Errorf("a good request is refused: %v", err)
	}
	byVolume := fullRequest()
	byVolume.Export, byVolume.Source.Volume = "", "trident_pvc_1"
	if err := byVolume.Validate(); err != nil {
		t.Errorf("a volume by its name needs no export: %v", err)
	}
}

func TestOnlyAMoveUnderWayIsNotYetASurvey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		survey Survey
		want   bool
	}{
		"under way": {Survey{Move: &VolumeMove{Percent: 99}}, true},
		"done":      {Survey{Move: &VolumeMove{Percent: 100}}, false},
		"none":      {Survey{}, false},
		"failed":    {Survey{Move: &VolumeMove{Percent: 40}, Problem: &SurveyProblem{Reason: SurveyMoveFailed}}, false},
	}
	for name, tc := range cases {
		if got := tc.survey.IsMoving(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
