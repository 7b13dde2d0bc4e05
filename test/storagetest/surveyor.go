package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// SurveySubject is a surveyor under test and the storage behind it.
type SurveySubject struct {
	Surveyor storage.Surveyor
	// Export is the export path of a volume that is there.
	Export string
	// Hide makes the storage keep something back until the end of the test, such
	// as by a role that may not read it; nil = it can not be done.
	Hide func(t *testing.T)
	// Break makes the storage unreachable until Mend is called; nil = it can not be done.
	Break, Mend func(t *testing.T)
	// Refuse makes the storage refuse the credentials; nil = it can not be done.
	Refuse func(t *testing.T)
	// Secrets are words that neither a survey nor an error may hold.
	Secrets []string
}

// RunSurveyor checks a surveyor against the contract of storage.Surveyor. start
// makes a fresh subject. The contract of storage.Source is checked by Run.
func RunSurveyor(t *testing.T, start func(t *testing.T) SurveySubject) {
	t.Helper()
	checks := map[string]func(*testing.T, SurveySubject){
		"a survey is well formed":                        surveyed,
		"a survey changes nothing, so the next is equal": repeats,
		"surveys may be made at once":                    surveysAtOnce,
		"what is hidden is missing and says why":         hides,
		"a volume that is not there is a reason":         noVolume,
		"a cancelled context ends the survey":            surveyCancelled,
		"an outage is a reason and may end":              surveyRecovers,
		"a refused credential is a reason and no riddle": refused,
		"a sample may follow a survey":                   bothWork,
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) { check(t, start(t)) })
	}
}

func survey(t *testing.T, s SurveySubject) runfile.Survey {
	t.Helper()
	got, err := s.Surveyor.Survey(t.Context(), s.Export)
	if err != nil {
		t.Fatalf("survey %s of %s: %v", s.Surveyor.Name(), s.Export, err)
	}
	CheckSurvey(t, got, s.Secrets...)
	return got
}

// CheckSurvey wants a survey to be well formed and to hold none of the secrets.
func CheckSurvey(t *testing.T, s runfile.Survey, secrets ...string) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("a survey must be writable: %v", err)
	}
	noSecret(t, "the survey", string(text), secrets)
	if s.Version != runfile.SurveyVersion {
		t.Errorf("version %q", s.Version)
	}
	if s.Problem != nil {
		onlyProblem(t, s)
		return
	}
	if s.Array == "" || s.Time.IsZero() {
		t.Errorf("a survey names its array and time: array %q, time %v", s.Array, s.Time)
	}
	ordered(t, "nodes", s.Nodes, func(n runfile.SurveyNode) string { return n.Name })
	ordered(t, "LIFs", s.LIFs, func(l runfile.LIF) string { return l.Name })
	var nodes []string
	for _, n := range s.Nodes {
		nodes = append(nodes, n.Name)
	}
	for _, l := range s.LIFs {
		plausibleLIF(t, l, nodes)
	}
	if s.Volume != nil {
		plausibleVolume(t, *s.Volume, nodes)
	}
	if !slices.IsSortedFunc(s.Rules, func(a, b runfile.ExportRule) int { return int(a.Index - b.Index) }) {
		t.Errorf("rules must be in order: %+v", s.Rules)
	}
	for _, m := range s.Missing {
		if m.What == "" || m.Why == "" {
			t.Errorf("what is missing says what and why: %+v", m)
		}
	}
}

func onlyProblem(t *testing.T, s runfile.Survey) {
	t.Helper()
	reasons := []string{
		runfile.SurveyUnreachable, runfile.SurveyRefused, runfile.SurveyUntrusted,
		runfile.SurveyNoVolume, runfile.SurveyMoveFailed, runfile.SurveyFailed,
	}
	if !slices.Contains(reasons, s.Problem.Reason) || s.Problem.Message == "" {
		t.Errorf("a problem has one of the reasons and a sentence: %+v", *s.Problem)
	}
	rest := runfile.Survey{
		Version: s.Version, Source: s.Source, Array: s.Array, Time: s.Time, Clients: s.Clients,
		Problem: s.Problem,
	}
	if diff := cmp.Diff(rest, s); diff != "" {
		t.Errorf("with a problem nothing else is set:\n%s", diff)
	}
}

func plausibleLIF(t *testing.T, l runfile.LIF, nodes []string) {
	t.Helper()
	a, err := netip.ParseAddr(l.Address)
	if err != nil {
		t.Errorf("LIF %s: %v", l.Name, err)
		return
	}
	if l.Prefix < 0 || int(l.Prefix) > a.BitLen() {
		t.Errorf("LIF %s: prefix %d of address %s", l.Name, l.Prefix, a)
	}
	for _, n := range []string{l.Node, l.HomeNode} {
		knownNode(t, "LIF "+l.Name, n, nodes)
	}
	if l.AtHome != nil && *l.AtHome && l.Node != l.HomeNode {
		t.Errorf("LIF %s is at home on %q, but its home is %q", l.Name, l.Node, l.HomeNode)
	}
}

func plausibleVolume(t *testing.T, v runfile.SurveyVolume, nodes []string) {
	t.Helper()
	if v.Name == "" {
		t.Error("the volume needs a name")
	}
	knownNode(t, "volume "+v.Name, v.Node, nodes)
	if v.SizeBytes != nil && v.AvailableBytes != nil && (*v.AvailableBytes < 0 || *v.AvailableBytes > *v.SizeBytes) {
		t.Errorf("volume %s: %d bytes of %d are available", v.Name, *v.AvailableBytes, *v.SizeBytes)
	}
}

// failure wants err to be a *SurveyError with one of the reasons and no secret.
func failure(t *testing.T, err error, secrets []string, reasons ...string) {
	t.Helper()
	var se *storage.SurveyError
	if !errors.As(err, &se) {
		t.Errorf("got %v (%T), want a *storage.SurveyError", err, err)
		return
	}
	if !slices.Contains(reasons, se.Reason) {
		t.Errorf("reason %q (%v), want one of %q", se.Reason, err, reasons)
	}
	noSecret(t, "the error", err.Error(), secrets)
}

func surveyed(t *testing.T, s SurveySubject) {
	t.Helper()
	got := survey(t, s)
	if got.Problem != nil {
		t.Errorf("a survey that was made has no problem: %+v", got.Problem)
	}
	if got.Volume == nil || got.Volume.Export != s.Export {
		t.Errorf("volume %+v, want the one of export %s", got.Volume, s.Export)
	}
}

func repeats(t *testing.T, s SurveySubject) {
	t.Helper()
	first, second := survey(t, s), survey(t, s)
	for _, v := range []*runfile.Survey{&first, &second} {
		v.Time, v.ClockOffsetMilliseconds = time.Time{}, nil
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two surveys of a storage at rest differ:\n%s", diff)
	}
}

func surveysAtOnce(t *testing.T, s SurveySubject) {
	t.Helper()
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := s.Surveyor.Survey(t.Context(), s.Export)
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Errorf("survey: %v", err)
		}
	}
}

func hides(t *testing.T, s SurveySubject) {
	t.Helper()
	if s.Hide == nil {
		t.Log("this storage can not keep anything back")
		return
	}
	before := len(survey(t, s).Missing)
	s.Hide(t)
	if after := survey(t, s).Missing; len(after) <= before {
		t.Errorf("something was kept back, and Missing is still %+v", after)
	}
}

func noVolume(t *testing.T, s SurveySubject) {
	t.Helper()
	_, err := s.Surveyor.Survey(t.Context(), "/nobody/has/this")
	failure(t, err, s.Secrets, runfile.SurveyNoVolume)
}

func surveyCancelled(t *testing.T, s SurveySubject) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Surveyor.Survey(ctx, s.Export)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	failure(t, err, s.Secrets, runfile.SurveyUnreachable, runfile.SurveyFailed)
}

func surveyRecovers(t *testing.T, s SurveySubject) {
	t.Helper()
	if s.Break == nil {
		t.Log("this storage can not be broken by a test")
		return
	}
	s.Break(t)
	_, err := s.Surveyor.Survey(t.Context(), s.Export)
	failure(t, err, s.Secrets, runfile.SurveyUnreachable)
	if storage.IsPermanent(err) {
		t.Errorf("an outage is no permanent error: %v", err)
	}
	s.Mend(t)
	survey(t, s)
}

func refused(t *testing.T, s SurveySubject) {
	t.Helper()
	if s.Refuse == nil {
		t.Log("this storage takes everybody")
		return
	}
	s.Refuse(t)
	_, err := s.Surveyor.Survey(t.Context(), s.Export)
	failure(t, err, s.Secrets, runfile.SurveyRefused)
}

func bothWork(t *testing.T, s SurveySubject) {
	t.Helper()
	survey(t, s)
	if _, err := s.Surveyor.Sample(t.Context()); err != nil {
		t.Errorf("a sample after a survey: %v", err)
	}
}
