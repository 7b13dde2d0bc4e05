package loadgen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// TestAnExaminationEndsWhereAMountHangs: a system call on a dead mount does not end with its context.
func TestAnExaminationEndsWhereAMountHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		plan := runfile.Plan{Engine: runfile.Engine{Client: bench.ClientKernel, MountTimeoutSeconds: 20}}
		open := func(context.Context) (target.Target, error) {
			<-hang
			return nil, errors.New("too late")
		}
		var said []runfile.Check
		start := time.Now()
		Examine(t.Context(), Options{Plan: plan, Open: open}, func(c runfile.Check) { said = append(said, c) })
		if took := time.Since(start); took != 50*time.Second {
			t.Errorf("it took %s, want twice the time to mount and 10 s", took)
		}
		want := runfile.Check{Check: checkExport, Result: runfile.CheckFail, Message: "the storage does not answer"}
		if len(said) != 1 || said[0] != want {
			t.Errorf("said %+v", said)
		}
		close(hang)
	})
}

// TestAnExaminationSaysThatItSeesNoLayouts: a server may take pNFS and give no layout.
func TestAnExaminationSaysThatItSeesNoLayouts(t *testing.T) {
	t.Parallel()
	for version, want := range map[bench.NFSVersion]bool{bench.NFSv41: false, bench.PNFS: true} {
		open := func(context.Context) (target.Target, error) { return &targettest.Memory{}, nil }
		plan := runfile.Plan{
			Engine:   runfile.Engine{Client: bench.ClientKernel, NFSVersion: version, MountTimeoutSeconds: 20},
			Workload: bench.Workload{Raw: &bench.RawWorkload{Jobs: 1}},
		}
		said := map[string]string{}
		Examine(t.Context(), Options{Plan: plan, Open: open, Now: time.Now}, func(c runfile.Check) { said[c.Check] = c.Result })
		if got := said[checkLayout] == runfile.CheckWarn; got != want || said[checkExport] != runfile.CheckOK {
			t.Errorf("%s: %+v", version, said)
		}
	}
}
