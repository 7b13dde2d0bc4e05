package judge

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// dataWords describes the results of all clients' checks of the data that they read and of the data that they had
// written. Each client reads back its own files; a client that ends early reads back nothing.
func dataWords(clients []measure.Client) string {
	var all runfile.Verification
	known := false
	for _, c := range clients {
		if v := c.Verification; v != nil {
			known = true
			all.Add(v)
		}
	}
	if !known {
		return ""
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	unread := readNothingBack(clients)
	written := "blocks that were written"
	if len(unread) > 0 {
		written += " by the other clients"
	}
	whole, part := "all %d "+written+" were read back", "%d of %d "+written+" were read back"
	switch v := all; {
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

// readNothingBack names the clients that wrote, but ended before they read back.
func readNothingBack(clients []measure.Client) (names []string) {
	for _, c := range clients {
		if c.Wrote && bench.OrZero(c.Verification).BlocksChecked == 0 {
			names = append(names, fmt.Sprintf("client %d", c.Index))
		}
	}
	return names
}
