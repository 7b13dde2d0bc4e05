package nfs4

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

// TestMeasureClosingWithADeadDataServer: its good-bye may take the time of one that nobody
// takes, not that of a call.
func TestMeasureClosingWithADeadDataServer(t *testing.T) {
	x := startChecked(t, &nfs4test.Server{LeaveState: true}, striped2)
	x.d.during(t, x.s, func() {})
	x.Kill(dsAddress(1))
	begun := time.Now()
	x.close(t)
	measure.Expect(t, "closing with a dead data server", "s", measure.AtMost(3), time.Since(begun).Seconds())
}
