package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// find runs all checks. Each adds what it sees; their order does not matter.
func (c *judging) find() {
	c.checkEnd()
	c.checkProtocol()
	c.checkFilesystem()
	c.checkCollection()
	c.checkClocks()
	c.checkStandIn()
	c.checkMissing()
	c.checkHomes()
	c.checkDirectNFS()
	if c.overall == nil {
		return
	}
	c.checkErrors()
	c.checkWire()
	c.checkPaths()
	c.checkClientCPU()
	c.checkStorageCPU()
	c.checkForeignLoad()
	c.checkClientCache()
	c.checkServerCache()
	c.checkArray()
	c.checkLocality()
	c.checkRedirection()
	c.checkQoS()
	c.checkMoves()
	c.checkTime()
	c.checkTogether()
	c.checkCopy()
	c.checkTransferSize()
	c.checkRetransmits()
	c.checkPace()
	c.checkDatabase()
	c.checkCalibration()
}

func (c *judging) add(code Code, severity Severity, format string, args ...any) {
	c.findings = append(c.findings, Finding{Code: code, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// addOnce is add for what would be said again for each repetition.
func (c *judging) addOnce(code Code, severity Severity, format string, args ...any) {
	f := Finding{Code: code, Severity: severity, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(c.findings, f) {
		c.findings = append(c.findings, f)
	}
}

// sorted puts the gravest first and keeps the order of the table among equals.
func (c *judging) sorted() []Finding {
	order := Codes()
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		if d := cmp.Compare(b.Severity.rank(), a.Severity.rank()); d != 0 {
			return d
		}
		return cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code))
	})
	return c.findings
}

func (c *judging) raw() runfile.Raw {
	if r := c.result.Plan.Workload.Raw; r != nil {
		return *r
	}
	return runfile.Raw{}
}

func (c *judging) kernel() bool { return c.result.Plan.Engine.Client == runfile.ClientKernel }

// checkEmbedded says what a number of the embedded server is good for.
func (c *judging) checkEmbedded() {
	for _, s := range c.result.Plan.Collect.Sources {
		if s.Kind == runfile.SourceEmbedded {
			c.addOnce(EmbeddedServer, Info, "The storage was the NFS server that nfsbench brings along: the number describes this installation, its network and its CPUs, and not an array. Point spec.storage at an export or a claim.")
		}
	}
}

// checkEnd looks at how the run ended.
func (c *judging) checkEnd() {
	c.checkEmbedded()
	for _, cl := range c.result.Clients {
		l := cl.Load
		switch {
		case l.Failure != nil && l.Failure.Code == runfile.FailureVerify:
			c.add(VerificationFailed, Error, "Client %d: %s", cl.Index, l.Failure.Message)
		case l.Failure != nil:
			c.add(Partial, Error, "Client %d ended with %s: %s", cl.Index, l.Failure.Code, l.Failure.Message)
		case l.Partial:
			c.add(Partial, Error, "Client %d did not come to its planned end; the numbers are those until then. Run again, and look at its log.", cl.Index)
		}
		if v := l.Verification; v != nil && v.BlocksWrong > 0 && (l.Failure == nil || l.Failure.Code != runfile.FailureVerify) {
			c.add(VerificationFailed, Error, "Client %d: %d of %d blocks read back are not what was written. Do not use this storage for data before it is understood.", cl.Index, v.BlocksWrong, v.BlocksChecked)
		}
	}
	plan := c.result.Plan
	if n := len(c.result.Clients); n < int(plan.Clients) {
		c.add(Partial, Error, "%d of %d clients gave a result. Look at the pods of the others.", n, plan.Clients)
	}
	c.checkRounds()
	for _, s := range c.repetitions {
		if s.Clients < int32(len(c.result.Clients)) {
			c.add(Partial, Error, "Repetition %s was measured by %d of %d clients.", s.name(), s.Clients, len(c.result.Clients))
		}
	}
}

func (c *judging) checkProtocol() {
	if c.protocol.Mismatch {
		c.add(ProtocolMismatch, Error, "%s The number is not one of the declared protocol.", c.protocol.Message)
	}
}

func (c *judging) checkFilesystem() {
	if !c.kernel() {
		return
	}
	for _, cl := range c.result.Clients {
		m := cl.Load.Mount
		if m != nil && m.FilesystemType != "" && m.FilesystemType != "nfs" && m.FilesystemType != "nfs4" {
			c.add(NotNFS, Warning, "Client %d: %s is %s and not NFS. This is the speed of that file system; mount the export there, and set requireNFS.", cl.Index, c.result.Plan.Engine.MountPath, m.FilesystemType)
		}
	}
}

func (c *judging) checkCollection() {
	for _, cl := range c.result.Clients {
		if cl.Observed == nil {
			c.add(NotCollected, Info, "Client %d: no counters of CPU, network and storage were collected. Foreign load and CPU limits cannot be seen.", cl.Index)
			continue
		}
		for _, p := range cl.Observed.Problems {
			if c.isSilent(p.Source) {
				continue // ArrayMetricsPartial says it
			}
			c.add(NotCollected, Info, "Client %d: %s could not be read %d times: %s", cl.Index, p.Source, p.Count, p.Message)
		}
	}
}

func (c *judging) checkErrors() {
	errors, ops := int64(0), int64(0)
	for _, s := range c.repetitions {
		errors += s.Total.Errors
		ops += s.Total.Ops
	}
	if errors > 0 {
		c.add(IOErrors, Error, "%d of %d operations failed. Look at the logs of client and storage; the throughput counts only what succeeded.", errors, ops+errors)
	}
}
