package oracle

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Admin asks and tells a database what only an administrator may. It is meant
// for one goroutine, on a pool of SYSDBA connections to the root container.
type Admin struct {
	db  *sql.DB
	now func() time.Time
}

// NewAdmin makes an Admin on a pool that was opened with the role SYSDBA.
func NewAdmin(db *sql.DB, now func() time.Time) *Admin { return &Admin{db: db, now: now} }

var errSoon = errors.New("not yet")

// Describe says what database this is: banner, version, instances, and the
// parameters that are not at their defaults.
func (a *Admin) Describe(ctx context.Context) (runfile.Oracle, error) {
	return runfile.Oracle{}, errSoon
}

// Parameters returns the values of init parameters by name. One that the
// database does not show has no entry; where instances differ, the value says
// so.
func (a *Admin) Parameters(ctx context.Context, names []string) (map[string]string, error) {
	return nil, errSoon
}

// SetParameters writes init parameters into the spfile, for all instances; they
// count from the next start on.
func (a *Admin) SetParameters(ctx context.Context, parameters map[string]string) error {
	return errSoon
}

// CheckCalibration says what is missing for CALIBRATE_IO: all of it in one
// error, whose code is that of the first.
func (a *Admin) CheckCalibration(ctx context.Context) error { return errSoon }

// Calibrate calls CALIBRATE_IO, which takes ten minutes and more.
func (a *Admin) Calibrate(ctx context.Context, disks, latencyMs int32) (runfile.Calibration, error) {
	return runfile.Calibration{}, errSoon
}

// CheckIdle fails with FailureBusy where sessions of others are at work.
func (a *Admin) CheckIdle(ctx context.Context) error { return errSoon }

// Watch makes a reader of what Direct NFS counts.
func (a *Admin) Watch() *Watch { return &Watch{admin: a} }
