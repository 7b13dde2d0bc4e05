package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestThousandsOfLostPathsAreJudgedSoon: they took a minute and a half of the operator, and more in a larger result.
func TestThousandsOfLostPathsAreJudgedSoon(t *testing.T) {
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
	began := time.Now()
	if Judge(r); time.Since(began) > 20*time.Second {
		t.Errorf("it took %v", time.Since(began))
	}
}
