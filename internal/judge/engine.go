package judge

import (
	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
)

// engine holds what a judgement needs to know about the program that made the load. newFacts sets it.
type engine struct {
	// evidence determines what carried the load.
	evidence func(*facts) Evidence
	// checks are those of a measured result, besides the checks of all engines.
	checks []check
	// database says that a database did the I/O. The loader then does not know how its files are used, and has only the
	// counts of the views of the database, some of them in whole milliseconds.
	database bool
	// calibration begins the sentence of CalibrationOnly.
	calibration string
	// unused says what was not used up where the storage limits a capacity.
	unused string
}

// engineOf returns the engine with a name of package measure.
func engineOf(name string) engine {
	switch name {
	case measure.EngineOracle:
		return engine{
			evidence: evidenceOfDatabase,
			checks: []check{
				checkOranfstab, checkServiceTime, checkUserTime, checkBatches, checkScan, checkParameters, checkBufferCache,
				checkRelease, checkWaits, checkAsyncLimit, checkForeignReads, checkForeignSessions, checkInstances, checkReport,
				checkTrunking, checkAsync, checkStatements, checkTimeUnit, checkPhases,
			},
			database: true, calibration: "CALIBRATE_IO",
			unused: "neither the links nor the CPUs that were sampled were used up; whether the sessions were is not " +
				"known",
		}
	case measure.EngineNative:
		return engine{
			evidence: evidenceOfLoader, calibration: "What CALIBRATE_IO does",
			unused: "neither the links nor the CPUs that were sampled nor the I/Os outstanding were used up",
		}
	default:
		panic("no engine " + name)
	}
}

// evidenceOfLoader takes the channels of our Direct NFS, or the mount of the kernel.
func evidenceOfLoader(c *facts) Evidence {
	switch {
	case c.Overall == nil || c.Overall.Total.Bytes == 0:
		return nothingMeasured()
	case c.Plan.Engine.Client == bench.ClientDirectNFS:
		return c.directEvidence()
	default:
		return c.kernelEvidence()
	}
}

// evidenceOfDatabase takes everything that the database observed.
func evidenceOfDatabase(c *facts) Evidence {
	switch {
	case c.Overall != nil && len(c.Databases) > 0:
		return c.databaseEvidence()
	case c.Overall == nil || c.Overall.Total.Bytes == 0:
		return nothingMeasured()
	default:
		return Evidence{Message: "The database's own counters were not read, so no protocol was seen under load."}
	}
}

func nothingMeasured() Evidence {
	return Evidence{Message: "Nothing was measured, so no protocol was seen under load."}
}
