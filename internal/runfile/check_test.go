package runfile_test

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestChecksFitIntoTheStatusOfAPod: Kubernetes cuts what is longer, and half a list is none.
func TestChecksFitIntoTheStatusOfAPod(t *testing.T) {
	var checks []runfile.Check
	for range 12 {
		checks = append(checks, runfile.Check{Check: "server", Result: runfile.CheckFail, Message: strings.Repeat(`é"`, 900)})
	}
	checks = append(checks, runfile.Check{Check: "volume", Result: runfile.CheckOK, Message: "short"})
	text, err := runfile.ShortChecks(checks)
	if err != nil || len(text) > 4096 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	got, err := runfile.ReadChecks(string(text))
	if err != nil || len(got) != 13 || got[12] != checks[12] || !strings.HasSuffix(got[0].Message, "...") {
		t.Errorf("%v, %+v", err, got)
	}
	if len(checks[0].Message) < 900 {
		t.Error("the list of the caller was cut")
	}
}

func TestAnswersOfStrangersAreRefused(t *testing.T) {
	for reason, text := range map[string]string{
		"no JSON": "bash: nfsbench: not found", "empty": "[]", "another result": `[{"check":"x","result":"GREAT"}]`,
		"too many": "[" + strings.Repeat(`{"result":"OK"},`, 70) + `{"result":"OK"}]`, "too long": `[{"result":"OK","message":"` + strings.Repeat("x", 5000) + `"}]`,
	} {
		if _, err := runfile.ReadChecks(text); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
}
