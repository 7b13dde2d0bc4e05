package judge

// check adds the findings of one subject.
type check func(c *facts, found *findings)

// checks returns the checks that apply to the result: some apply to every result, others only to measured results or
// to those of one engine. Findings of one code and severity are shown in the order of their checks.
func (c *facts) checks() []check {
	all := []check{
		checkEnd, checkProtocol, checkDirectNFS, checkFilesystem, checkHomes, checkMTU, checkClocks, checkCollection,
		checkMissing, checkEmbedded, checkStandIn,
	}
	if c.Overall != nil {
		all = append(all,
			checkErrors, checkWire, checkPaths, checkCold, checkClientCache, checkServerCache, checkClientCPU,
			checkWakeUps, checkForeignLoad, checkForeignMount, checkArray, checkMoves, checkTime, checkVariation, checkCapacity,
			checkTogether, checkRecovery, checkFallback, checkPace, checkLocality, checkRedirection, checkLayoutType,
			checkQoS, checkServerPaths, checkSlotWaits, checkSlots, checkTransferSize, checkRetransmits,
			checkStorageCPU, checkCopy, checkStalls,
			checkOmission, checkCalibration, checkPauses,
		)
		all = append(all, c.engine.checks...)
	}
	return all
}

// find runs all checks.
func find(c *facts) findings {
	var found findings
	for _, check := range c.checks() {
		check(c, &found)
	}
	return found
}
