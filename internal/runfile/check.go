package runfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// The results of a Check.
const (
	CheckOK   = "OK"
	CheckWarn = "WARN" // the run may work, or its number may mean something else
	CheckFail = "FAIL" // the run cannot work
)

// Check is a precondition of a benchmark, and whether it is met.
type Check struct {
	Check   string `json:"check"`             // the precondition
	Result  string `json:"result"`            // OK, WARN or FAIL
	Message string `json:"message,omitempty"` // the reason; with a fix unless OK
}

const (
	maxChecks = 64
	// maxChecksBytes is the part of a container's last message that Kubernetes keeps.
	maxChecksBytes = 4096
)

// ShortChecks returns the list as JSON of at most 4096 bytes. It cuts the longest messages first.
func ShortChecks(checks []Check) ([]byte, error) {
	checks = slices.Clone(checks[:min(len(checks), maxChecks)])
	for most := 1 << 10; ; most /= 2 {
		for i := range checks {
			if m := checks[i].Message; len(m) > most {
				checks[i].Message = string(bytes.ToValidUTF8([]byte(m[:most]), nil)) + "..."
			}
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(checks); err != nil || b.Len() <= maxChecksBytes || most == 0 {
			return b.Bytes(), err
		}
	}
}

// ReadChecks reads the output of ShortChecks. The text comes from the user's image, which is not trusted.
func ReadChecks(text string) ([]Check, error) {
	var checks []Check
	if len(text) > maxChecksBytes {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxChecksBytes)
	}
	if err := json.Unmarshal([]byte(text), &checks); err != nil {
		return nil, err
	}
	if len(checks) == 0 || len(checks) > maxChecks {
		return nil, fmt.Errorf("the answer has %d checks", len(checks))
	}
	for _, c := range checks {
		if !slices.Contains([]string{CheckOK, CheckWarn, CheckFail}, c.Result) {
			return nil, fmt.Errorf("the answer has a check with the result %q", c.Result)
		}
	}
	return checks, nil
}
