package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Code names a kind of finding. Codes are stable: people script against them.
type Code = string

// The codes. docs/findings.md says what each means and what to do.
const (
	VerificationFailed     Code = runfile.FailureVerify
	ProtocolMismatch       Code = "ProtocolMismatch"
	Partial                Code = "Partial"
	IOErrors               Code = "IOErrors"
	ExpectationMissed      Code = "ExpectationMissed"
	ExpectationNotMeasured Code = "ExpectationNotMeasured"
	AboveWireLimit         Code = "AboveWireLimit"
	BelowWireSpeed         Code = "BelowWireSpeed"
	LineSaturated          Code = "LineSaturated"
	WireLimitUnknown       Code = "WireLimitUnknown"
	PathUnused             Code = "PathUnused"
	PathImbalance          Code = "PathImbalance"
	MTUDiffers             Code = "MTUDiffers"
	ChannelLost            Code = "ChannelLost"
	ChannelReconnected     Code = "ChannelReconnected"
	NotNFS                 Code = runfile.FailureNotNFS
	ClientCPUBound         Code = "ClientCPUBound"
	StorageCPUBound        Code = "StorageCPUBound"
	ForeignLoad            Code = "ForeignLoad"
	CacheSuspected         Code = "CacheSuspected"
	NotSteady              Code = "NotSteady"
	TooShort               Code = "TooShort"
	VariationHigh          Code = "VariationHigh"
	ClientsNotTogether     Code = "ClientsNotTogether"
	ClockSkew              Code = "ClockSkew"
	HalfDuplexCopy         Code = "HalfDuplexCopy"
	TransferSizeReduced    Code = "TransferSizeReduced"
	Retransmits            Code = "Retransmits"
	LateOperations         Code = "LateOperations"
	NotCollected           Code = "NotCollected"
	EmbeddedServer         Code = "EmbeddedServer"
	SimulatedStorage       Code = "SimulatedStorage"
	IndirectPath           Code = "IndirectPath"
	ArrayDisagrees         Code = "ArrayDisagrees"
	TransferSizeCapped     Code = "TransferSizeCapped"
	PNFSNotRedirected      Code = "PNFSNotRedirected"
	LIFNotHome             Code = "LIFNotHome"
	QoSThrottled           Code = "QoSThrottled"
	VolumeMoved            Code = "VolumeMoved"
	ArrayMetricsPartial    Code = "ArrayMetricsPartial"
	DNFSNotActive          Code = "DNFSNotActive"
	OranfstabNotUsed       Code = "OranfstabNotUsed"
	SuspectLatency         Code = "SuspectLatency"
	ColdCache              Code = "ColdCache"
	BatchedReads           Code = "BatchedReads"
	WaitsNotStorage        Code = "WaitsNotStorage"
	AsyncIOExhausted       Code = "AsyncIOExhausted"
	BufferedScan           Code = "BufferedScan"
	ParameterDiffers       Code = "ParameterDiffers"
	LatencyLimitExceeded   Code = "LatencyLimitExceeded"
	SyncIO                 Code = "SyncIO"
	MultiplePathsOnNFSv4   Code = "MultiplePathsOnNFSv4"
	RACImbalance           Code = "RACImbalance"
	LatencyResolution      Code = "LatencyResolution"
	CalibrationOnly        Code = "CalibrationOnly"
	SimulatedDatabase      Code = "SimulatedDatabase"
	LayoutFallback         Code = "LayoutFallback"
	LayoutTypeUnsupported  Code = "LayoutTypeUnsupported"
	StateRecovered         Code = "StateRecovered"
	PathsNotTrunked        Code = "PathsNotTrunked"
	CoordinatedOmission    Code = "CoordinatedOmission"
	Stalls                 Code = "Stalls"
	CapacityNotReached     Code = "CapacityNotReached"
	CapacityUncertain      Code = "CapacityUncertain"
	KnownDefect            Code = "KnownDefect"
	UnpatchedRelease       Code = "UnpatchedRelease"
	SessionSlots           Code = "SessionSlots"
	FewStatements          Code = "FewStatements"
)

func rank(s bench.Severity) int {
	switch s {
	case bench.SeverityError:
		return 2
	case bench.SeverityWarning:
		return 1
	default:
		return 0
	}
}

// never is a rank that no severity reaches.
const never = 99

// check looks for findings of one subject.
type check func(c *facts, found *findings)

// rule names the severity from which a code makes a run Suspect or Invalid,
// and which check makes it. A check that makes several codes stands in the first
// of their rows only; the others name it in a comment.
type rule struct {
	code             Code
	suspect, invalid int
	check            check
}

// rules is the table of all findings, in the order in which they are shown.
// A finding that says that a correctly measured number is low leaves the run Valid.
func rules() []rule {
	info, warning, failure := rank(bench.SeverityInfo), rank(bench.SeverityWarning), rank(bench.SeverityError)
	return []rule{
		{VerificationFailed, info, info, checkEnd},
		{ProtocolMismatch, info, failure, checkProtocol},
		{DNFSNotActive, info, info, checkDirectNFS},
		{Partial, info, never, nil}, // checkEnd
		{IOErrors, warning, never, ifMeasured(checkErrors)},
		{ExpectationMissed, never, never, nil},      // expect
		{ExpectationNotMeasured, never, never, nil}, // expect
		{AboveWireLimit, warning, never, ifMeasured(checkWire)},
		{NotNFS, warning, never, checkFilesystem},
		{PathUnused, warning, never, ifMeasured(checkPaths)},
		{OranfstabNotUsed, warning, never, ifDatabase(checkOranfstab)},
		{SuspectLatency, warning, never, all(ifDatabase(checkServiceTime), ifDatabase(checkUserTime))},
		{BatchedReads, warning, never, ifDatabase(checkBatches)},
		{BufferedScan, warning, never, ifDatabase(checkScan)},
		{ParameterDiffers, warning, never, ifDatabase(checkParameters)},
		{ColdCache, warning, never, ifMeasured(checkCold)},
		{CacheSuspected, warning, never, all(ifMeasured(checkClientCache), ifMeasured(checkServerCache),
			ifDatabase(checkBufferCache))},
		{KnownDefect, warning, never, ifDatabase(checkRelease)},
		{WaitsNotStorage, warning, never, ifDatabase(checkWaits)},
		{AsyncIOExhausted, warning, never, ifDatabase(checkAsyncLimit)},
		{ClientCPUBound, warning, never, ifMeasured(checkClientCPU)},
		{ForeignLoad, warning, never, all(ifMeasured(checkForeignLoad), ifMeasured(checkForeignMount),
			ifDatabase(checkForeignReads), ifDatabase(checkForeignSessions))},
		{ArrayDisagrees, warning, never, ifMeasured(checkArray)},
		{VolumeMoved, warning, never, ifMeasured(checkMoves)},
		{NotSteady, warning, never, ifMeasured(checkTime)},
		{TooShort, warning, never, nil}, // checkTime
		{VariationHigh, warning, never, ifMeasured(checkVariation)},
		{CapacityUncertain, warning, never, ifMeasured(checkCapacity)},
		{ClientsNotTogether, warning, never, ifMeasured(checkTogether)},
		{ChannelLost, warning, never, nil},        // checkPaths
		{ChannelReconnected, warning, never, nil}, // checkPaths
		{StateRecovered, warning, never, ifMeasured(checkRecovery)},
		{LayoutFallback, warning, never, ifMeasured(checkFallback)},
		{LateOperations, failure, never, ifMeasured(checkPace)},
		{BelowWireSpeed, never, never, nil}, // checkWire
		{LineSaturated, never, never, nil},  // checkWire
		{IndirectPath, never, never, ifMeasured(checkLocality)},
		{PNFSNotRedirected, never, never, ifMeasured(checkRedirection)},
		{LayoutTypeUnsupported, never, never, ifMeasured(checkLayoutType)},
		{LIFNotHome, never, never, checkHomes},
		{QoSThrottled, never, never, ifMeasured(checkQoS)},
		{PathImbalance, never, never, nil}, // checkPaths
		{MTUDiffers, never, never, checkMTU},
		{RACImbalance, never, never, ifDatabase(checkInstances)},
		{MultiplePathsOnNFSv4, never, never, ifDatabase(checkTrunking)},
		{PathsNotTrunked, never, never, ifMeasured(checkServerPaths)},
		{SessionSlots, never, never, ifMeasured(checkSlots)},
		{SyncIO, never, never, ifDatabase(checkAsync)},
		{FewStatements, never, never, ifDatabase(checkStatements)},
		{LatencyLimitExceeded, never, never, nil}, // checkCalibration
		{CapacityNotReached, never, never, nil},   // checkCapacity
		{TransferSizeCapped, never, never, ifMeasured(checkTransferSize)},
		{TransferSizeReduced, never, never, nil}, // checkTransferSize
		{Retransmits, never, never, ifMeasured(checkRetransmits)},
		{StorageCPUBound, never, never, ifMeasured(checkStorageCPU)},
		{HalfDuplexCopy, never, never, ifMeasured(checkCopy)},
		{Stalls, never, never, ifMeasured(checkStalls)},
		{CoordinatedOmission, never, never, ifMeasured(checkOmission)},
		{ClockSkew, never, never, checkClocks},
		{WireLimitUnknown, never, never, nil}, // checkWire
		{NotCollected, never, never, all(checkCollection, ifDatabase(checkTimeUnit))},
		{ArrayMetricsPartial, never, never, checkMissing},
		{EmbeddedServer, never, never, checkEmbedded},
		{LatencyResolution, never, never, nil}, // checkCalibration
		{UnpatchedRelease, never, never, nil},  // checkRelease
		{CalibrationOnly, never, never, ifMeasured(checkCalibration)},
		{SimulatedStorage, never, never, checkStandIn},
		{SimulatedDatabase, never, never, nil}, // checkStandIn
	}
}

// Codes are all codes, in the order in which findings are shown.
func Codes() []Code {
	table := rules()
	codes := make([]Code, 0, len(table))
	for _, e := range table {
		codes = append(codes, e.code)
	}
	return codes
}

// ValidityOf returns the worst validity of all findings.
func ValidityOf(findings []bench.Finding) bench.Validity {
	table := rules()
	v := bench.ValidityValid
	for _, f := range findings {
		for _, e := range table {
			switch rank := rank(f.Severity); {
			case e.code != f.Code:
			case rank >= e.invalid:
				return bench.ValidityInvalid
			case rank >= e.suspect:
				v = bench.ValiditySuspect
			}
		}
	}
	return v
}

// findings collects what the checks find.
type findings []bench.Finding

func (fs *findings) add(code Code, severity bench.Severity, format string, args ...any) {
	*fs = append(*fs, bench.Finding{Code: code, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// addOnce adds a finding unless the same one is there.
func (fs *findings) addOnce(code Code, severity bench.Severity, format string, args ...any) {
	f := bench.Finding{Code: code, Severity: severity, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(*fs, f) {
		*fs = append(*fs, f)
	}
}

// find runs all checks in the order of the table.
func find(c *facts) findings {
	var found findings
	for _, r := range rules() {
		if r.check != nil {
			r.check(c, &found)
		}
	}
	return found
}

// all runs several checks that make one code.
func all(checks ...check) check {
	return func(c *facts, found *findings) {
		for _, run := range checks {
			run(c, found)
		}
	}
}

// ifMeasured runs a check of numbers only where there are any.
func ifMeasured(run check) check {
	return func(c *facts, found *findings) {
		if c.overall != nil {
			run(c, found)
		}
	}
}

// ifDatabase runs a check only where a database was measured.
func ifDatabase(run check) check {
	return ifMeasured(func(c *facts, found *findings) {
		if c.result.Plan.Database != nil {
			run(c, found)
		}
	})
}

// sorted puts the gravest first and keeps the order of the table among equals.
func (fs findings) sorted() []bench.Finding {
	order := Codes()
	slices.SortStableFunc(fs, func(a, b bench.Finding) int {
		return cmp.Or(cmp.Compare(rank(b.Severity), rank(a.Severity)),
			cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code)))
	})
	return fs
}
