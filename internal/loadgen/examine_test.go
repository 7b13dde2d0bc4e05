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
