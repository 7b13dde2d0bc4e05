package survey

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// room leaves some of a survey's bytes for the sentences that say what was
	// left out.
	room = runfile.MaxSurveyBytes - 2<<10
	// maxMessage bounds what an array's error may fill a status with.
	maxMessage = 2000
)

// fit leaves out of a survey what it has no room for, and says so. Export rules
// go first and all together: a part of them would mean something else.
func fit(s *runfile.Survey) {
	if p := s.Problem; p != nil && len(p.Message) > maxMessage {
		p.Message = strings.ToValidUTF8(p.Message[:maxMessage], "") + "…"
	}
	if n := len(s.Rules); n > 0 && size(s) > room {
		s.Rules = nil
		s.Missing = append(s.Missing, runfile.MissingFact{What: "the export rules", Why: fmt.Sprintf("the policy has %d, more than a survey has room for", n)})
	}
	all := len(s.LIFs)
	for len(s.LIFs) > 1 && size(s) > room {
		s.LIFs = s.LIFs[:len(s.LIFs)/2]
	}
	if len(s.LIFs) < all {
		s.Missing = append(s.Missing, runfile.MissingFact{What: "some LIFs", Why: fmt.Sprintf("there are %d, and a survey has room for the first %d", all, len(s.LIFs))})
	}
	for len(s.Missing) > 1 && size(s) > room {
		s.Missing = s.Missing[:len(s.Missing)/2]
	}
}

func size(s *runfile.Survey) int {
	raw, err := json.Marshal(s)
	if err != nil {
		return 0 // these types always have JSON
	}
	return len(raw)
}

// redacted takes secrets out of the sentences of a survey. Those who write them
// keep secrets out of them; this is for the day when one does not.
func redacted(s *runfile.Survey, secrets []string) *runfile.Survey {
	const tooShort = 4 // would be found in words
	for _, secret := range secrets {
		if len(secret) < tooShort {
			continue
		}
		clean := func(text string) string { return strings.ReplaceAll(text, secret, "(secret)") }
		if s.Problem != nil {
			s.Problem.Message = clean(s.Problem.Message)
		}
		for i := range s.Missing {
			m := &s.Missing[i]
			m.What, m.Why, m.Fix = clean(m.What), clean(m.Why), clean(m.Fix)
		}
	}
	return s
}
