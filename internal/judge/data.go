package judge

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// dataWords say what all clients found when they checked what they read, and what they had written.
func dataWords(r *runfile.Result) string {
	var all runfile.Verification
	known := false
	for _, c := range r.Clients {
		if v := c.Load.Verification; v != nil {
			known = true
			all.Add(v)
		}
	}
	if !known {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	const whole = "all %d blocks that were written were read back"
	const part = "%d of %d blocks that were written were read back"
	switch v := all; {
	case v.BlocksWrong > 0:
		add("%s", v.WrongBlocksWords())
	case v.WritesAcknowledged > 0 && v.WrittenBlocksChecked < v.BlocksWritten:
		add("0 of %d acknowledged writes found lost: "+part, v.WritesAcknowledged, v.WrittenBlocksChecked, v.BlocksWritten)
		if v.Cut {
			parts[0] += " in the time of one window"
		}
	case v.WritesAcknowledged > 0:
		add("0 of %d acknowledged writes lost: "+whole, v.WritesAcknowledged, v.BlocksWritten)
	case v.BlocksChecked > 0:
		add("%d blocks were read back and are right", v.BlocksChecked)
	}
	switch {
	case all.ReadsWrong > 0:
		add("%s", all.WrongReadsWords())
	case all.ReadsChecked > 0:
		add("%d of %d reads right", all.ReadsChecked, all.ReadsChecked)
	}
	if all.WritesSentAgain > 0 {
		add("%d writes were sent twice", all.WritesSentAgain)
	}
	if all.BlocksInDoubt > 0 {
		add("%d blocks are in doubt", all.BlocksInDoubt)
	}
	return strings.Join(parts, "; ")
}
