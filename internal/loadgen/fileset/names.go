package fileset

import (
	"fmt"
	"regexp"
	"strings"
)

// The names of our files. Client and job count from 0.
const (
	markerFormat = "nfsbench-c%d.json"
	dataFormat   = "c%d-j%d.dat"
	copyFormat   = "c%d-j%d-copy.dat" // what a copying job writes
)

// isMarkerName reports whether name is that of a marker.
func isMarkerName(name string) bool { return match(`^nfsbench-c[0-9]+\.json$`, name) }

// isDataName reports whether name is that of a data file of any client.
func isDataName(name string) bool { return match(`^c[0-9]+-j[0-9]+(-copy)?\.dat$`, name) }

func match(pattern, name string) bool {
	ok, err := regexp.MatchString(pattern, name)
	return err == nil && ok
}

// isDataNameOf reports whether name is that of a data file of client.
func isDataNameOf(client int32, name string) bool {
	return isDataName(name) && strings.HasPrefix(name, fmt.Sprintf("c%d-", client))
}

// isForeign reports whether an entry is somebody's: not ours, and not one of
// those that a server or file system puts everywhere.
func isForeign(name string) bool {
	switch {
	case name == ".snapshot", name == "lost+found", strings.HasPrefix(name, ".nfs"):
		return false
	default:
		return !isMarkerName(name)
	}
}
