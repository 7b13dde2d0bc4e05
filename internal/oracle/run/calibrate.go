package run

import (
	"context"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// calibrate calls CALIBRATE_IO again and again: first to warm caches, then for
// the record.
func (r *runner) calibrate(ctx context.Context) error {
	c := r.plan.Workload.Calibrate
	err := r.course.During(ctx, nil, func(ctx context.Context) error {
		if err := r.admin.CheckCalibration(ctx); err != nil {
			return err
		}
		return r.admin.CheckIdle(ctx)
	})
	if err != nil {
		return err
	}
	for i := range c.WarmupRuns + r.plan.Schedule.Repetitions {
		step := runfile.Step{Kind: runfile.StepCalibrate, Round: i + 1, Warmup: i < c.WarmupRuns}
		if !step.Warmup {
			step.Round = i - c.WarmupRuns + 1
		}
		err := r.repeat(ctx, i+1, func(ctx context.Context) error { return r.calibrateOnce(ctx, i+1, step) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) calibrateOnce(ctx context.Context, index int32, step runfile.Step) error {
	c := r.plan.Workload.Calibrate
	var found *runfile.Calibration
	began := r.opt.Now()
	r.course.Tell("CALIBRATE_IO takes about 10 minutes, which is an estimate, for it does not tell how far it is")
	err := r.measure(ctx, index, step, func(ctx context.Context) error {
		got, err := r.admin.Calibrate(ctx, c.PhysicalDisks, c.MaxLatencyMilliseconds)
		if err != nil {
			return fmt.Errorf("call CALIBRATE_IO: %w", err)
		}
		found = &got
		return nil
	}, func(rep *runfile.Repetition) {
		if rep.Oracle != nil {
			rep.Oracle.Calibration = found
			rep.Read = readsOfFiles(rep)
		}
	})
	if err == nil {
		r.left.calibration = r.opt.Now().Sub(began)
	}
	return err
}

// readsOfFiles are the reads that V$IOSTAT_FILE counted, where V$SYSSTAT, which
// counts what sessions read, missed some: CALIBRATE_IO is made by processes of
// its own.
func readsOfFiles(rep *runfile.Repetition) *runfile.Ops {
	var files runfile.Ops
	for _, f := range rep.Oracle.Files {
		files.Count += f.SmallReads + f.LargeReads
		files.Bytes += (f.SmallReadMegabyte + f.LargeReadMegabyte) << 20
	}
	if rep.Read != nil && rep.Read.Count >= files.Count {
		return rep.Read
	}
	return &files
}
