package judge

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkEmbedded says what a number of the embedded server is good for.
func checkEmbedded(c *facts, found *findings) {
	for _, s := range c.result.Plan.Collect.Sources {
		if s.Kind == runfile.SourceEmbedded {
			found.addOnce(EmbeddedServer, bench.SeverityInfo,
				"The storage was the embedded NFS server: the number describes this cluster, its network and its CPUs, and "+
					"not an array. Set spec.storage to an export or a claim.")
		}
	}
}

// checkEnd looks at how the run ended.
func checkEnd(c *facts, found *findings) {
	for _, cl := range c.result.Clients {
		l := cl.Load
		switch {
		case l.Failure != nil && l.Failure.Code == runfile.FailureVerify:
			found.add(VerificationFailed, bench.SeverityError, "Client %d: %s", cl.Index, l.Failure.Message)
		case l.Failure != nil:
			found.add(Partial, bench.SeverityError, "Client %d ended with %s: %s", cl.Index, l.Failure.Code, l.Failure.Message)
		case l.Partial:
			found.add(Partial, bench.SeverityError,
				"Client %d did not reach its planned end; the numbers cover the run until then. "+
					"Look at its log, and run again.", cl.Index)
		}
		if v := l.Verification; v != nil && v.Wrong() > 0 &&
			(l.Failure == nil || l.Failure.Code != runfile.FailureVerify) {
			found.add(VerificationFailed, bench.SeverityError,
				"Client %d: %s. Do not use this storage for data until you know the cause.", cl.Index, v.Describe())
		}
	}
	plan := c.result.Plan
	if n := len(c.result.Clients); n < int(plan.Clients) {
		found.add(Partial, bench.SeverityError,
			"%d of %d clients gave a result. Look at the pods of the others.", n, plan.Clients)
	}
	checkRounds(c, found)
	for _, s := range c.repetitions {
		if s.Clients < int32(len(c.result.Clients)) {
			found.add(Partial, bench.SeverityError, "Repetition %s was measured by %d of %d clients.", s.name(), s.Clients,
				len(c.result.Clients))
		}
	}
}

func checkProtocol(c *facts, found *findings) {
	switch {
	case c.protocol.Mismatch:
		found.add(ProtocolMismatch, bench.SeverityError,
			"%s The number does not describe the declared protocol.", c.protocol.Message)
	case c.protocol.Doubted:
		found.add(ProtocolMismatch, bench.SeverityWarning, "%s The number describes the declared protocol in part only.",
			c.protocol.Message)
	}
}

func checkFilesystem(c *facts, found *findings) {
	if !c.kernel() {
		return
	}
	for _, cl := range c.result.Clients {
		m := cl.Load.Mount
		if m != nil && m.FilesystemType != "" && m.FilesystemType != "nfs" && m.FilesystemType != "nfs4" {
			found.add(NotNFS, bench.SeverityWarning,
				"Client %d: %s is %s and not NFS. The number describes that file system. Mount the "+
					"export there, and set requireNFS.", cl.Index, c.result.Plan.Engine.MountPath, m.FilesystemType)
		}
	}
}

func checkCollection(c *facts, found *findings) {
	for _, problem := range c.unreadable {
		found.add(NotCollected, bench.SeverityInfo,
			"The latency histogram cannot be read (%s); latency is unknown. Use the nfsbench "+
				"that wrote the file.", problem)
	}
	silent := map[string]bool{} // sources without any window, which ArrayMetricsPartial reports
	for _, s := range c.result.Plan.Collect.Sources {
		n, _ := c.silence(s)
		silent[s.Name] = n > 0 && n == len(c.shown())
	}
	for _, cl := range c.result.Clients {
		if cl.Observed == nil {
			found.add(NotCollected, bench.SeverityInfo,
				"Client %d: no counters of CPU, network and storage were collected. Foreign load "+
					"and CPU limits cannot be seen.", cl.Index)
			continue
		}
		for _, p := range cl.Observed.Problems {
			if silent[p.Source] {
				continue
			}
			found.add(NotCollected, bench.SeverityInfo,
				"Client %d: %s could not be read %d times: %s", cl.Index, p.Source, p.Count, p.Message)
		}
	}
}

func checkErrors(c *facts, found *findings) {
	errors, ops := int64(0), int64(0)
	for _, s := range c.repetitions {
		errors += s.Total.Errors
		ops += s.Total.Ops
	}
	if errors > 0 {
		found.add(IOErrors, bench.SeverityError,
			"%d of %d operations failed. Look at the logs of client and storage. The throughput "+
				"counts only operations that succeeded.", errors, ops+errors)
	}
}

// checkRounds looks for steps and repetitions that are missing.
func checkRounds(c *facts, found *findings) {
	plan := c.result.Plan
	want := int(plan.Schedule.Repetitions)
	switch {
	case plan.Workload.Calibrate != nil:
		if n := c.completeCalibrations(); n < want {
			found.add(Partial, bench.SeverityError, "%d of %d calibrations were measured.", n, want)
		}
	case len(c.bounds()) > 0:
		if n := len(c.searches); n < want {
			found.add(Partial, bench.SeverityError, "%d of %d searches for capacity were measured.", n, want)
		}
	case plan.Workload.SLOB != nil && len(plan.Workload.SLOB.Ramp()) > 0:
		var short []string
		for _, users := range plan.Workload.SLOB.Ramp() {
			if n := len(c.roundsOf(runfile.StepUsers, users)); n < want {
				short = append(short, fmt.Sprintf("%d users %d", users, n))
			}
		}
		if len(short) > 0 {
			found.add(Partial, bench.SeverityError, "Not all steps were measured %d times: %s.", want, strings.Join(short, ", "))
		}
	default:
		if n := len(c.repetitions); n < want {
			found.add(Partial, bench.SeverityError, "%d of %d repetitions were measured.", n, want)
		}
	}
}

// completeCalibrations are those that count and went through both phases.
func (c *facts) completeCalibrations() int {
	n := 0
	for _, r := range c.calibrationRuns() {
		native := r.large != nil && r.least != nil
		oracle := r.oracle != nil && c.oracleCalibration(*r.oracle) != nil
		if !r.warmup && (native || oracle) {
			n++
		}
	}
	return n
}
