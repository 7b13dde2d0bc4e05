package loadgen

import (
	"errors"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestAFailureIsOneSentenceWhateverWasJoined(t *testing.T) {
	err := errors.Join(errors.New("connect to 10.0.1.61: no answer"), errors.New("connect to 10.0.2.61: refused"))
	f := failureOf(t.Context(), err, runfile.FailureUnreachable)
	if want := "connect to 10.0.1.61: no answer; connect to 10.0.2.61: refused"; f.Message != want {
		t.Errorf("message is %q, want %q", f.Message, want)
	}
}
