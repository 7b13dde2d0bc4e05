package judge

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheDataOfAllClientsAreSummedUpInWords(t *testing.T) {
	t.Parallel()
	clean := runfile.Verification{ReadsChecked: 10, WritesAcknowledged: 8000, BlocksWritten: 600, BlocksChecked: 600, WrittenBlocksChecked: 600}
	with := func(change func(*runfile.Verification)) *runfile.Verification {
		v := clean
		change(&v)
		return &v
	}
	for name, tc := range map[string]struct {
		clients []*runfile.Verification
		want    string
	}{
		"nothing":       {[]*runfile.Verification{nil, nil}, ""},
		"clean":         {[]*runfile.Verification{&clean, &clean}, "0 of 16000 acknowledged writes lost: all 1200 blocks that were written were read back; 20 of 20 reads right"},
		"one silent":    {[]*runfile.Verification{&clean, nil}, "0 of 8000 acknowledged writes lost: all 600 blocks that were written were read back; 10 of 10 reads right"},
		"only read":     {[]*runfile.Verification{{ReadsChecked: 7, BlocksChecked: 128}}, "128 blocks were read back and are right; 7 of 7 reads right"},
		"only the load": {[]*runfile.Verification{{ReadsChecked: 7}}, "7 of 7 reads right"},
		"a sample": {
			[]*runfile.Verification{with(func(v *runfile.Verification) { v.WrittenBlocksChecked = 50 })},
			"0 of 8000 acknowledged writes found lost: 50 of 600 blocks that were written were read back; 10 of 10 reads right",
		},
		"cut": {
			[]*runfile.Verification{&clean, with(func(v *runfile.Verification) { v.WrittenBlocksChecked, v.Cut = 50, true })},
			"0 of 16000 acknowledged writes found lost: 650 of 1200 blocks that were written were read back in the time for that; 20 of 20 reads right",
		},
		"one was killed in its window": {
			[]*runfile.Verification{&clean, nil, {ReadsChecked: 5}},
			"0 of 8000 acknowledged writes lost: all 600 blocks that were written by the other clients were read back; " +
				"15 of 15 reads right; what client 1, client 2 wrote was not read back",
		},
		"the only one was stopped in its window": {
			[]*runfile.Verification{{ReadsChecked: 5}},
			"5 of 5 reads right; what client 0 wrote was not read back",
		},
		"wrong": {
			[]*runfile.Verification{&clean, with(func(v *runfile.Verification) {
				v.BlocksWrong, v.WrongBlocks = 3, runfile.Faults{Lost: 1, Misplaced: 2}
				v.ReadsWrong, v.WrongReads = 1, runfile.Faults{Corrupted: 1}
			})},
			"3 of 1200 blocks read back are not what was written (1 lost, 2 misplaced); 1 of 20 reads of the load did not give what was written (1 corrupted)",
		},
		"sent twice": {
			[]*runfile.Verification{with(func(v *runfile.Verification) { v.WritesSentAgain, v.BlocksInDoubt = 4, 1 })},
			"0 of 8000 acknowledged writes lost: all 600 blocks that were written were read back; 10 of 10 reads right; 4 writes were sent twice; 1 blocks are in doubt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := runfile.Result{}
			for i, v := range tc.clients {
				c := runfile.ClientResult{Index: int32(i), Load: runfile.Load{Verification: v}}
				if strings.HasSuffix(name, "in its window") {
					c.Load.Repetitions = []runfile.Repetition{{Write: &runfile.Ops{Count: 1}}}
				}
				r.Clients = append(r.Clients, c)
			}
			if got := dataWords(measure.Of(r).Clients); got != tc.want {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}
