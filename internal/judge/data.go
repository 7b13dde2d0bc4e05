package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// verifications adds up what the clients found, and names those that wrote and read nothing back.
func verifications(r *runfile.Result) (all *runfile.Verification, unread []string) {
	wrote := func(rep runfile.Repetition) bool { return bench.OrZero(rep.Write).Count > 0 }
	for _, c := range r.Clients {
		v := c.Load.Verification
		if v != nil && all == nil {
			all = new(runfile.Verification{})
		}
		if v != nil {
			all.Add(v)
		}
		if bench.OrZero(v).BlocksChecked == 0 && slices.ContainsFunc(c.Load.Repetitions, wrote) {
			unread = append(unread, fmt.Sprintf("client %d", c.Index))
		}
	}
	return all, unread
}

// dataWords say what all clients found when they checked what they read, and what they had written. Each reads back
// its own files; one that breaks off before that reads back nothing.
func dataWords(r *runfile.Result) string {
	all, unread := verifications(r)
	if all == nil {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	written := "blocks that were written"
	if len(unread) > 0 {
		written += " by the other clients"
	}
	whole, part := "all %d "+written+" were read back", "%d of %d "+written+" were read back"
	switch v := *all; {
	case v.BlocksWrong > 0:
		add("%s", v.WrongBlocksWords())
	case v.WritesAcknowledged > 0 && v.WrittenBlocksChecked < v.BlocksWritten:
		add("0 of %d acknowledged writes found lost: "+part, v.WritesAcknowledged, v.WrittenBlocksChecked, v.BlocksWritten)
		if v.Cut {
			parts[0] += " in the time for that"
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
	if len(unread) > 0 {
		add("what %s wrote was not read back", listed(unread))
	}
	return strings.Join(parts, "; ")
}
