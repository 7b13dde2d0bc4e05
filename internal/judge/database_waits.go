package judge

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkWaits looks for waits that say that something in the database, and not its
// storage, was the limit.
func checkWaits(c *facts, found *findings) {
	for _, w := range c.database.Waits {
		advice := notStorage(w, c.result.Plan.Database.Kind == runfile.DatabaseExternal)
		if advice == "" || w.Permille == nil || *w.Permille < waitsElsewhere {
			continue
		}
		found.add(WaitsNotStorage, Warning,
			"Sessions spent %s of their wait time on %s (class %s, %d waits). That is not a wait for storage, so the storage "+
				"may give more than was measured. %s", percent(int64(*w.Permille)), w.Name, w.Class, w.Waits, advice)
	}
}

// notStorage is what to do about a wait that is not for storage; empty for all
// others. Oracle's classes say what it is: Configuration is a resource of the database
// that is too small, Scheduler its resource manager, Concurrency and Application are
// sessions that wait for each other.
func notStorage(w DatabaseWait, external bool) string {
	parameters := "database.container.parameters"
	if external {
		parameters = "this database"
	}
	switch w.Name {
	case "log buffer space":
		return "" // a small buffer causes it, or slow storage of the redo logs
	case "log file switch (checkpoint incomplete)", "log file switch (private strand flush incomplete)",
		"log file switch completion":
		return "The redo logs are too small or too few for these updates: add larger ones, or lower updatePercent."
	case "log file switch (archiving needed)":
		return "The archiver is behind: switch archiving off for the benchmark, or give it a faster destination."
	case "free buffer waits", "write complete waits":
		return fmt.Sprintf("The database writer does not keep up with the changed blocks: raise db_cache_size or "+
			"db_writer_processes in %s, or lower updatePercent.", parameters)
	case "resmgr:cpu quantum":
		return "The resource manager delays sessions, because they use all of cpu_count. Oracle Database Free uses two " +
			"cores at most: use another edition for more, or raise cpu_count with the CPU of the container, or use fewer users."
	}
	switch w.Class {
	case "Application", "Concurrency":
		return "Sessions wait for each other: use more schemas or fewer users."
	case "Configuration":
		return fmt.Sprintf("Oracle counts this wait in its class Configuration, so a resource of the database is too small: "+
			"look up the wait, and change %s.", parameters)
	case "Scheduler":
		return "The resource manager of the database delays sessions: switch its plan off (resource_manager_plan), or " +
			"use fewer users."
	}
	return ""
}
