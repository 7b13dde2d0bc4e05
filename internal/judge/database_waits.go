package judge

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkWaits looks for waits that show that the database, not its storage, was the limit. It adds up the waits:
// several short ones cost as much as a long one.
func checkWaits(c *facts, found *findings) {
	sum, parts, advice := int64(0), []string(nil), ""
	for _, w := range c.Database.Waits { // the longest first
		hint, least := c.notStorage(w), int32(1)
		if perhapsStorage(w.Name) {
			least = waitsPerhapsElsewhere
		}
		if hint == "" || w.Permille == nil || *w.Permille < least {
			continue
		}
		sum += int64(*w.Permille)
		parts = append(parts, fmt.Sprintf("%s (class %s, %d waits, %s)", w.Name, w.Class, w.Waits,
			human.Share(*w.Permille)))
		advice = cmp.Or(advice, hint)
	}
	if sum < waitsElsewhere {
		return
	}
	found.warn(WaitsNotStorage, "Sessions spent %s of their wait time on %s. That is not a wait for storage, so the "+
		"storage may give more than was measured. %s", human.Share(sum), listed(parts), advice)
}

// perhapsStorage reports whether small logs or too few writers can cause a wait. Slow storage causes a few percent of
// such waits, too.
func perhapsStorage(name string) bool {
	return strings.HasPrefix(name, "log file switch") || name == "free buffer waits" || name == "write complete waits"
}

// forStorage reports whether a wait is for another process that does I/O, whatever its Oracle class: the writers of
// logs and blocks, the control file, or another instance that grants the read of a block from storage.
func forStorage(name string) bool {
	return regexp.MustCompile(`^(log buffer space|checkpoint completed|rdbms ipc reply|flashback buf free by RVWR|` +
		`enq: (KO|RO|CF) .*|gc .*(grant|disk|multi block).*)$`).MatchString(name)
}

// notStorage returns the advice for a wait that is not for storage; empty for all others. It follows Oracle's
// classes: Configuration means that a resource of the database is too small, Scheduler its resource manager,
// Concurrency and Application waits of sessions for each other, Cluster waits for other instances. Other is mixed, so
// only its latches count. For a calibration, waits in the remaining classes are unclear.
func (c *facts) notStorage(w measure.DatabaseWait) string {
	if forStorage(w.Name) {
		return ""
	}
	parameters := "database.container.parameters"
	if c.Plan.Database.Kind == runfile.DatabaseExternal {
		parameters = "this database"
	}
	switch w.Name {
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
	case "Cluster":
		return "The instances wait for each other: use one service for each instance (database.external.services), and a " +
			"number of schemas that is a multiple of theirs."
	case "Network":
		return "Sessions wait to send to their clients: look at the network between the loader and the database."
	case "Administrative", "Queueing", "Other":
		if c.Plan.Workload.SLOB != nil && (w.Class != "Other" || strings.HasPrefix(w.Name, "latch")) {
			return "Look up the wait, and what the database does beside the load."
		}
	}
	return ""
}
