package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// lack records one missing requirement of a calibration.
type lack func(code, format string, args ...any)

// CheckCalibration returns everything that CALIBRATE_IO lacks in one error,
// with the code of the first problem. It changes nothing.
func (a *Admin) CheckCalibration(ctx context.Context) error {
	var first string
	var sentences []string
	note := func(code, format string, args ...any) {
		first, sentences = cmp.Or(first, code), append(sentences, fmt.Sprintf(format, args...))
	}
	for _, check := range []func(context.Context, lack) error{
		a.checkSession, a.checkInstances, a.checkFiles, a.checkStatus,
	} {
		if err := check(ctx, note); err != nil {
			return err
		}
	}
	if len(sentences) == 0 {
		return nil
	}
	return Fail(first, strings.Join(sentences, "; "), nil)
}

// checkSession requires SYSDBA.
func (a *Admin) checkSession(ctx context.Context, note lack) error {
	return a.each(ctx, "container_name", func(r *sql.Rows) error {
		var container, dba, cdb sql.NullString
		err := r.Scan(&container, &dba, &cdb)
		if dba.String != "TRUE" {
			note(runfile.FailurePrivilege,
				"CALIBRATE_IO must be called AS SYSDBA: use sys, or another user of the password file")
		}
		return err
	})
}

// checkInstances checks the states and init parameters of the instances.
func (a *Admin) checkInstances(ctx context.Context, note lack) error {
	instances, err := a.instances(ctx)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if i.status != "OPEN" {
			note(runfile.FailureDatabaseNotReady, "instance %s is %s: CALIBRATE_IO needs all of them OPEN", i.Name, i.status)
		}
	}
	values, err := a.Parameters(ctx, []string{"timed_statistics", "disk_asynch_io"})
	if v := values["timed_statistics"]; strings.Contains(v, "FALSE") {
		note(runfile.FailureTimedStatistics, "timed_statistics is %s: set it to TRUE, or statistics_level to TYPICAL", v)
	}
	if v := values["disk_asynch_io"]; strings.Contains(v, "FALSE") {
		note(runfile.FailureAsyncIO, "disk_asynch_io is %s: set it to TRUE and restart", v)
	}
	return err
}

// checkFiles requires asynchronous I/O on every datafile of every instance.
func (a *Admin) checkFiles(ctx context.Context, note lack) error {
	all, off, example := 0, 0, ""
	err := a.each(ctx, "async_files", func(r *sql.Rows) error {
		var instance, number int64
		var name, asynch, access sql.NullString
		err := r.Scan(&instance, &number, &name, &asynch, &access)
		all++
		if asynch.String != "ASYNC_ON" {
			off++
			example = fmt.Sprintf("%s: %s through %s", name.String, asynch.String, access.String)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case all == 0:
		note(runfile.FailureAsyncIO, "V$IOSTAT_FILE has no datafile: is this the root container, and is the database open?")
	case off > 0:
		var values map[string]string
		values, err = a.Parameters(ctx, []string{"filesystemio_options"})
		note(runfile.FailureAsyncIO, "%d of %d datafiles have no asynchronous I/O (%s) while filesystemio_options is %q: "+
			"set it to SETALL and restart, or use Direct NFS", off, all, example, values["filesystemio_options"])
	}
	return err
}

func (a *Admin) checkStatus(ctx context.Context, note lack) error {
	states, err := query(ctx, a, "calibrate_status", func(r *sql.Rows) (string, error) {
		var status, ended sql.NullString
		err := r.Scan(&status, &ended)
		return status.String, err
	})
	if slices.Contains(states, "IN PROGRESS") {
		note(runfile.FailureBusy, "another CALIBRATE_IO is in progress (V$IO_CALIBRATION_STATUS): wait for its end")
	}
	return err
}

// Calibrate calls CALIBRATE_IO with num_physical_disks and max_latency, which
// takes ten minutes or more. It returns the latency in whole milliseconds,
// which is 0 on fast storage.
func (a *Admin) Calibrate(ctx context.Context, disks, latencyMs int32) (runfile.Calibration, error) {
	var c runfile.Calibration
	begun := a.now()
	_, err := a.db.ExecContext(ctx, sqltext.Text("calibrate"), disks, latencyMs,
		sql.Out{Dest: &c.MaxIOPS}, sql.Out{Dest: &c.MaxMegabytesPerSecond}, sql.Out{Dest: &c.ActualLatencyMilliseconds})
	if err != nil {
		return runfile.Calibration{}, explained("calibrate", err)
	}
	c.Seconds = wholeSeconds(a.now().Sub(begun))
	instances, err := a.instances(ctx)
	if err != nil {
		return c, err
	}
	// DBA_RSRC_IO_CALIBRATE has the duration and, from 23ai on, additional information.
	name := "calibrate_result"
	for _, i := range instances {
		if release, err := sqltext.ReleaseOf(i.version); err == nil && release >= sqltext.Release23 {
			name = "calibrate_result_23"
		}
	}
	err = a.each(ctx, name, func(r *sql.Rows) error {
		var text sql.NullString
		var start, end sql.NullTime
		var iops, mbps, pmbps, latency, disks sql.NullInt64
		columns := []any{&start, &end, &iops, &mbps, &pmbps, &latency, &disks}
		if name == "calibrate_result_23" {
			columns = append(columns, &text)
		}
		err := r.Scan(columns...)
		if iops.Int64 != c.MaxIOPS {
			return err // the result of another call
		}
		c.AdditionalInfo = text.String
		if seconds := wholeSeconds(end.Time.Sub(start.Time)); seconds > 0 {
			c.Seconds = seconds
		}
		return err
	})
	return c, err
}

func wholeSeconds(d time.Duration) int64 { return int64(d.Round(time.Second).Seconds()) }
