package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkEmbedded says what the numbers of the embedded server mean.
func checkEmbedded(c *facts, found *findings) {
	for _, s := range c.Plan.Collect.Sources {
		if s.Kind == runfile.SourceEmbedded {
			found.info(EmbeddedServer, "This was a trial: the storage was the embedded NFS server. The number describes this "+
				"cluster, its network and its CPUs, and not an array. Set spec.storage to an export or a claim.")
		}
	}
}

// checkEnd reports how the run ended.
func checkEnd(c *facts, found *findings) {
	for _, cl := range c.Clients {
		switch {
		case cl.Failure != nil && cl.Failure.Code == runfile.FailureVerify:
			found.fail(VerificationFailed, "Client %d: %s", cl.Index, cl.Failure.Message)
		case cl.Failure != nil:
			found.fail(Partial, "Client %d ended with %s: %s", cl.Index, cl.Failure.Code, cl.Failure)
		case cl.Partial:
			found.fail(Partial, "Client %d did not reach its planned end; the numbers cover the run until then. Look at its "+
				"log, and run again.", cl.Index)
		}
		if v := cl.Verification; v != nil && v.Wrong() > 0 && bench.OrZero(cl.Failure).Code != runfile.FailureVerify {
			found.fail(VerificationFailed, "Client %d: %s. Do not use this storage for data until you know the cause.",
				cl.Index, v.Describe())
		}
	}
	if n := len(c.Clients); n < int(c.Plan.Clients) {
		found.fail(Partial, "%d of %d clients gave a result. Look at the pods of the others.", n, c.Plan.Clients)
	}
	checkRounds(c, found)
	for _, s := range c.Repetitions {
		if s.Clients < int32(len(c.Clients)) {
			found.fail(Partial, "Repetition %s was measured by %d of %d clients.", repetitionName(s.Summary), s.Clients,
				len(c.Clients))
		}
	}
}

func checkProtocol(c *facts, found *findings) {
	switch {
	case c.protocol.Mismatch:
		found.fail(ProtocolMismatch, "%s The number does not describe the declared protocol.", c.protocol.Message)
	case c.protocol.Doubted:
		found.warn(ProtocolMismatch, "%s The number describes the declared protocol in part only.", c.protocol.Message)
	}
}

func checkFilesystem(c *facts, found *findings) {
	if !c.Kernel() {
		return
	}
	for _, cl := range c.Clients {
		m := cl.Mount
		if m != nil && m.FilesystemType != "" && m.FilesystemType != "nfs" && m.FilesystemType != "nfs4" {
			found.warn(NotNFS, "Client %d: %s is %s and not NFS. The number describes that file system. Mount the export "+
				"there, and leave out storage.claim.nonNFS (--allow-non-nfs), which allows others.",
				cl.Index, c.Plan.Engine.MountPath, m.FilesystemType)
		}
	}
}

func checkCollection(c *facts, found *findings) {
	for _, problem := range c.Unreadable {
		found.info(NotCollected, "The latency histogram cannot be read (%s); latency is unknown. Use the nfsbench that "+
			"wrote the file.", problem)
	}
	silent := map[string]bool{} // sources without any window: ArrayMetricsPartial reports them
	for _, s := range c.Silent {
		silent[s.Source] = s.Repetitions == len(c.Shown())
	}
	for _, cl := range c.Clients {
		if !cl.Collected {
			found.info(NotCollected, "Client %d: no counters of CPU, network and storage were collected. Foreign load and "+
				"CPU limits cannot be seen.", cl.Index)
			continue
		}
		for _, p := range cl.Problems {
			if !silent[p.Source] {
				found.info(NotCollected, "Client %d: %s could not be read %d times: %s", cl.Index, p.Source, p.Count, p.Message)
			}
		}
	}
}

func checkErrors(c *facts, found *findings) {
	errors, ops := int64(0), int64(0)
	for _, s := range c.Repetitions {
		errors += s.Total.Errors
		ops += s.Total.Ops
	}
	if errors > 0 {
		found.fail(IOErrors, "%d of %d operations failed. Look at the logs of client and storage. The throughput counts "+
			"only operations that succeeded.", errors, ops+errors)
	}
}

// checkRounds reports missing steps and repetitions.
func checkRounds(c *facts, found *findings) {
	want, n, what := int(c.Plan.Schedule.Repetitions), len(c.Repetitions), "repetitions"
	switch slob := c.Plan.Workload.SLOB; {
	case c.Plan.Workload.Calibrate != nil:
		n, what = len(measure.Filtered(c.Calibrations, measure.Calibration.Complete)), "calibrations"
	case len(c.Bounds) > 0:
		n, what = len(c.Searches), "searches for capacity"
	case slob != nil && len(slob.Ramp()) > 0:
		var short []string
		for _, users := range slob.Ramp() {
			if n := len(c.RoundsOf(runfile.StepUsers, users)); n < want {
				short = append(short, fmt.Sprintf("%d users %d", users, n))
			}
		}
		if len(short) > 0 {
			found.fail(Partial, "Not all steps were measured %d times: %s.", want, strings.Join(short, ", "))
		}
		return
	}
	failed := slices.ContainsFunc(c.Clients, func(cl measure.Client) bool { return cl.Failure != nil })
	if n < want && (n > 0 || !failed) { // a failure says enough of a run that measured nothing
		found.fail(Partial, "%d of %d %s were measured.", n, want, what)
	}
}
