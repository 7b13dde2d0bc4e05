package slobconf

import (
	"errors"
	"fmt"
	"io/fs"
)

// CheckKit checks whether a SLOB kit can run with this number of database services.
func CheckKit(kit fs.FS, services int) error {
	for _, name := range []string{"runit.sh", "slob.conf"} {
		if _, err := fs.Stat(kit, name); err != nil {
			return fmt.Errorf("workload.slob.kit.directory must hold %s: %w", name, err)
		}
	}
	for _, name := range []string{"mywait", "trigger"} { // runit.sh starts all sessions together with them
		info, err := fs.Stat(kit, name)
		if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
			err = errors.New("it is no program that can be run")
		}
		if err != nil {
			return fmt.Errorf("workload.slob.kit.directory must hold the program %s: compile it with make in wait_kit of the "+
				"kit, in a container of the image that runs it: %w", name, err)
		}
	}
	if services < 2 {
		return nil
	}
	f, err := kit.Open("slob.conf")
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	conf, err := Parse(f)
	if err != nil {
		return fmt.Errorf("slob.conf: %w", err)
	}
	const most = "SQLNET_SERVICE_MAX"
	if !conf.Given("SQLNET_SERVICE_BASE") || !conf.Given(most) || conf.values[most] == "0" {
		return fmt.Errorf("database.external.services has %d entries, and the kit would use the first for all its sessions: "+
			"set SQLNET_SERVICE_BASE and SQLNET_SERVICE_MAX in slob.conf, or name one service", services)
	}
	return nil
}
