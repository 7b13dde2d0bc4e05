package judge

import (
	"fmt"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// TestThousandsOfLostPathsAreJudgedSoon: they took a minute and a half of the operator, and more in a larger result.
func TestThousandsOfLostPathsAreJudgedSoon(t *testing.T) {
	const most = 256 << 20 // 12 GiB when each lost path looked at all samples
	r := good(t)
	for i := range 32 {
		r.Plan.Engine.Channels = append(r.Plan.Engine.Channels, bench.ResolvedPath{Path: fmt.Sprintf("10.2.1.%d", i)})
	}
	for k := range r.Clients[0].Load.Repetitions {
		rep := &r.Clients[0].Load.Repetitions[k]
		for i := range 4096 - len(rep.Channels) {
			rep.Channels = append(rep.Channels, runfile.Channel{
				ID: int32(i + 10), Path: fmt.Sprintf("10.9.%d.%d", i/250, i%250), State: bench.PathDown, BytesRead: 1,
				DownMilliseconds: 2000,
			})
		}
	}
	took := memory.Allocated(func() { Judge(r) })
	t.Logf("%d MiB", took>>20)
	if took > most {
		t.Errorf("it allocated %d MiB", took>>20)
	}
}
