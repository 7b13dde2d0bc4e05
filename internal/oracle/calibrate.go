package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// lack is one thing that a calibration needs and does not have.
type lack struct{ code, sentence string }

// CheckCalibration says what is missing for CALIBRATE_IO: all of it in one
// error, whose code is that of the first. It changes nothing.
func (a *Admin) CheckCalibration(ctx context.Context) error {
	var all []lack
	for _, check := range []func(context.Context) ([]lack, error){
		a.checkSession, a.checkInstances, a.checkParameters,
		a.checkFiles, a.checkStatus,
	} {
		found, err := check(ctx)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil
	}
	sentences := make([]string, len(all))
	for i, l := range all {
		sentences[i] = l.sentence
	}
	return Fail(all[0].code, strings.Join(sentences, "; "), nil)
}

// checkSession asks who and where we are.
func (a *Admin) checkSession(ctx context.Context) ([]lack, error) {
	lists, err := query(ctx, a, "container_name", func(r *sql.Rows) ([]lack, error) {
		var container, dba, cdb sql.NullString
		if err := r.Scan(&container, &dba, &cdb); err != nil {
			return nil, err
		}
		var list []lack
		if dba.String != "TRUE" {
			list = append(list, lack{
				runfile.FailurePrivilege,
				"CALIBRATE_IO must be called AS SYSDBA: use sys, or another user of the password file",
			})
		}
		if cdb.String == "YES" && container.String != "CDB$ROOT" {
			list = append(list, lack{runfile.FailureUnsupported, fmt.Sprintf(
				"CALIBRATE_IO runs in CDB$ROOT, and the connection is to %s: connect to a service of the root container",
				container.String)})
		}
		return list, nil
	})
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	return lists[0], nil
}

func (a *Admin) checkInstances(ctx context.Context) ([]lack, error) {
	instances, err := a.instances(ctx)
	var list []lack
	for _, i := range instances {
		if i.status != "OPEN" {
			list = append(list, lack{
				runfile.FailureDatabaseNotReady,
				fmt.Sprintf("instance %s is %s: CALIBRATE_IO needs all of them OPEN", i.Name, i.status),
			})
		}
	}
	return list, err
}

func (a *Admin) checkParameters(ctx context.Context) ([]lack, error) {
	values, err := a.Parameters(ctx, []string{"timed_statistics", "disk_asynch_io"})
	var list []lack
	if v := values["timed_statistics"]; strings.Contains(v, "FALSE") {
		list = append(list, lack{
			runfile.FailureTimedStatistics,
			"timed_statistics is " + v + ": set it to TRUE, or statistics_level to TYPICAL",
		})
	}
	if v := values["disk_asynch_io"]; strings.Contains(v, "FALSE") {
		list = append(list, lack{runfile.FailureAsyncIO, "disk_asynch_io is " + v + ": set it to TRUE and restart"})
	}
	return list, err
}

// checkFiles wants asynchronous I/O on every datafile of every instance.
func (a *Admin) checkFiles(ctx context.Context) ([]lack, error) {
	type file struct{ name, asynch, access string }
	files, err := query(ctx, a, "async_files", func(r *sql.Rows) (file, error) {
		var instance, number int64
		var name, asynch, access sql.NullString
		err := r.Scan(&instance, &number, &name, &asynch, &access)
		return file{name.String, asynch.String, access.String}, err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return []lack{{
			runfile.FailureAsyncIO,
			"V$IOSTAT_FILE has no datafile: is this the root container, and is the database open?",
		}}, nil
	}
	off, example := 0, file{}
	for _, f := range files {
		if f.asynch != "ASYNC_ON" {
			off++
			example = f
		}
	}
	if off == 0 {
		return nil, nil
	}
	values, err := a.Parameters(ctx, []string{"filesystemio_options"})
	return []lack{{runfile.FailureAsyncIO, fmt.Sprintf(
		"%d of %d datafiles have no asynchronous I/O (%s: %s through %s) while filesystemio_options is %q: set it to "+
			"SETALL and restart, or use Direct NFS",
		off, len(files), example.name, example.asynch, example.access, values["filesystemio_options"])}}, err
}

func (a *Admin) checkStatus(ctx context.Context) ([]lack, error) {
	states, err := query(ctx, a, "calibrate_status", func(r *sql.Rows) (string, error) {
		var status, ended sql.NullString
		err := r.Scan(&status, &ended)
		return status.String, err
	})
	if slices.Contains(states, "IN PROGRESS") {
		return []lack{{
			runfile.FailureBusy,
			"another CALIBRATE_IO is in progress (V$IO_CALIBRATION_STATUS): wait for its end",
		}}, err
	}
	return nil, err
}

// Calibrate calls CALIBRATE_IO with num_physical_disks and max_latency, which
// takes ten minutes and more. The latency that comes back is in whole
// milliseconds, and 0 on fast storage.
func (a *Admin) Calibrate(ctx context.Context, disks, latencyMs int32) (runfile.Calibration, error) {
	var c runfile.Calibration
	begun := a.now()
	_, err := a.db.ExecContext(ctx, sqltext.Text("calibrate"), disks, latencyMs,
		sql.Out{Dest: &c.MaxIOPS}, sql.Out{Dest: &c.MaxMegabytesPerSecond}, sql.Out{Dest: &c.ActualLatencyMilliseconds})
	if err != nil {
		return runfile.Calibration{}, explained("calibrate", err)
	}
	c.Seconds = int64(a.now().Sub(begun).Round(time.Second).Seconds())
	info, seconds, err := a.calibration(ctx, c.MaxIOPS)
	if seconds > 0 {
		c.Seconds = seconds
	}
	c.AdditionalInfo = info
	return c, err
}

// calibration returns what DBA_RSRC_IO_CALIBRATE adds to the call that gave so
// many IOPS: what there was to say, from 23ai on, and how long it took.
func (a *Admin) calibration(ctx context.Context, maxIOPS int64) (info string, seconds int64, err error) {
	instances, err := a.instances(ctx)
	if err != nil {
		return "", 0, err
	}
	name := "calibrate_result"
	for _, i := range instances {
		if release, err := sqltext.ReleaseOf(i.version); err == nil && release >= sqltext.Release23 {
			name = "calibrate_result_23"
		}
	}
	var said sql.NullString
	err = a.each(ctx, name, func(r *sql.Rows) error {
		var text sql.NullString
		var start, end sql.NullTime
		var iops, mbps, pmbps, latency, disks sql.NullInt64
		columns := []any{&start, &end, &iops, &mbps, &pmbps, &latency, &disks}
		if name == "calibrate_result_23" {
			columns = append(columns, &text)
		}
		err := r.Scan(columns...)
		if iops.Int64 != maxIOPS {
			return err // of another call
		}
		said, seconds = text, int64(end.Time.Sub(start.Time).Round(time.Second).Seconds())
		return err
	})
	if err != nil {
		return "", 0, err
	}
	return said.String, seconds, nil
}
