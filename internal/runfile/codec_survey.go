package runfile

import (
	"encoding/json"
	"fmt"
	"io"
)

// KeySurvey is the key of a run's ConfigMap, and the name of the file, that
// holds the survey.
const KeySurvey = "survey.json"

// MaxSurveyBytes is what a survey or a request for one may weigh at most. The
// ConfigMap that keeps it has to hold the results of all clients beside it.
const MaxSurveyBytes = 64 << 10

const (
	// DefaultSurveySeconds bounds a survey that names no timeout.
	DefaultSurveySeconds = 60
	// MaxMoveSeconds bounds the wait for a move: a day, in which an array
	// copies some ten TiB beside its work.
	MaxMoveSeconds = 86400
)

// ReadSurvey reads one survey, as strictly as ReadPlan.
func ReadSurvey(r io.Reader) (Survey, error) {
	var s Survey
	if err := read(r, MaxSurveyBytes, "survey", SurveyVersion, &s); err != nil {
		return Survey{}, err
	}
	return s, nil
}

// WriteSurvey writes a survey in one line. It sets the version. It is an error
// when it needs more than MaxSurveyBytes, because ReadSurvey would not take it.
func WriteSurvey(w io.Writer, s Survey) error {
	s.Version = SurveyVersion
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write survey: %w", err)
	}
	if len(raw) > MaxSurveyBytes {
		return fmt.Errorf("write survey: it needs %d bytes and may have %d", len(raw), MaxSurveyBytes)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("write survey: %w", err)
	}
	return nil
}

// ReadSurveyRequest reads one request, as strictly as ReadPlan. It does not
// validate: see SurveyRequest.Validate.
func ReadSurveyRequest(r io.Reader) (SurveyRequest, error) {
	var q SurveyRequest
	if err := read(r, MaxSurveyBytes, "survey request", SurveyVersion, &q); err != nil {
		return SurveyRequest{}, err
	}
	return q, nil
}

// WriteSurveyRequest writes a request, indented for people. It sets the
// version.
func WriteSurveyRequest(w io.Writer, q SurveyRequest) error {
	q.Version = SurveyVersion
	return write(w, "survey request", q)
}

// IsMoving tells that a survey is the report of a move under way, and not yet
// the survey.
func (s Survey) IsMoving() bool {
	return s.Problem == nil && s.Move != nil && s.Move.Percent < movedPercent
}

// movedPercent is the progress of a move that is done.
const movedPercent = 100
