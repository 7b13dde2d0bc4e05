package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Code names a kind of finding. Codes are stable: people script against them.
type Code = string

// The codes. findings.md.tmpl explains each, and what to do; docs/findings.md is generated from it.
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
	ClientNoisy            Code = "ClientNoisy"
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
	Paused                 Code = "Paused"
	CapacityNotReached     Code = "CapacityNotReached"
	CapacityUncertain      Code = "CapacityUncertain"
	KnownDefect            Code = "KnownDefect"
	UnpatchedRelease       Code = "UnpatchedRelease"
	ReportDiffers          Code = "ReportDiffers"
	SessionSlots           Code = "SessionSlots"
	SlotsLimited           Code = "SlotsLimited"
	FewStatements          Code = "FewStatements"
)

// rank orders severities; Info is the lowest.
func rank(s bench.Severity) int {
	return slices.Index([]bench.Severity{bench.SeverityWarning, bench.SeverityError}, s)
}

// never is a rank that no severity reaches.
const never = 99

// effect names the severity from which findings of some codes make a run Suspect or Invalid.
type effect struct {
	suspect, invalid int
	codes            []Code
}

// effects returns the table of all findings, in the order in which they are shown. A finding that reports that a
// correctly measured number is low leaves the run Valid.
func effects() []effect {
	info, warning, failure := rank(bench.SeverityInfo), rank(bench.SeverityWarning), rank(bench.SeverityError)
	return []effect{
		{info, info, []Code{VerificationFailed}},
		{info, failure, []Code{ProtocolMismatch}},
		{info, info, []Code{DNFSNotActive}},
		{info, never, []Code{Partial}},
		{warning, never, []Code{IOErrors}},
		{never, never, []Code{ExpectationMissed, ExpectationNotMeasured}},
		{warning, never, []Code{
			AboveWireLimit, NotNFS, PathUnused, OranfstabNotUsed, SuspectLatency, BatchedReads, BufferedScan, ParameterDiffers,
			ColdCache, CacheSuspected, KnownDefect, WaitsNotStorage, AsyncIOExhausted, ClientCPUBound, ClientNoisy,
			ForeignLoad, ArrayDisagrees, VolumeMoved, NotSteady, TooShort, VariationHigh, CapacityUncertain, ClientsNotTogether,
			ChannelLost, ChannelReconnected, StateRecovered, LayoutFallback,
		}},
		{failure, never, []Code{LateOperations}},
		{never, never, []Code{
			BelowWireSpeed, LineSaturated, IndirectPath, PNFSNotRedirected, LayoutTypeUnsupported, LIFNotHome, QoSThrottled,
			PathImbalance, MTUDiffers, RACImbalance, ReportDiffers, MultiplePathsOnNFSv4, PathsNotTrunked, SlotsLimited,
			SessionSlots, SyncIO, FewStatements, LatencyLimitExceeded, CapacityNotReached, TransferSizeCapped,
			TransferSizeReduced, Retransmits, StorageCPUBound, HalfDuplexCopy, Paused, Stalls,
			CoordinatedOmission, ClockSkew, WireLimitUnknown, NotCollected, ArrayMetricsPartial, EmbeddedServer,
			LatencyResolution, UnpatchedRelease, CalibrationOnly, SimulatedStorage, SimulatedDatabase,
		}},
	}
}

// Codes returns all codes, in the order in which findings are shown.
func Codes() []Code {
	var codes []Code
	for _, e := range effects() {
		codes = append(codes, e.codes...)
	}
	return codes
}

// ValidityOf returns the worst validity of all findings.
func ValidityOf(findings []bench.Finding) bench.Validity {
	table := effects()
	v := bench.ValidityValid
	for _, f := range findings {
		for _, e := range table {
			switch rank := rank(f.Severity); {
			case !slices.Contains(e.codes, f.Code):
			case rank >= e.invalid:
				return bench.ValidityInvalid
			case rank >= e.suspect:
				v = bench.ValiditySuspect
			}
		}
	}
	return v
}

// findings collects the findings of the checks.
type findings []bench.Finding

func (fs *findings) fail(code Code, format string, args ...any) {
	fs.add(code, bench.SeverityError, format, args...)
}

func (fs *findings) warn(code Code, format string, args ...any) {
	fs.add(code, bench.SeverityWarning, format, args...)
}

func (fs *findings) info(code Code, format string, args ...any) {
	fs.add(code, bench.SeverityInfo, format, args...)
}

// add adds a finding unless the same one is there.
func (fs *findings) add(code Code, severity bench.Severity, format string, args ...any) {
	*fs = measure.WithNew(*fs, bench.Finding{Code: code, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// warningIf returns the severity of a finding that matters only sometimes.
func warningIf(matters bool) bench.Severity {
	if matters {
		return bench.SeverityWarning
	}
	return bench.SeverityInfo
}

// sorted returns the findings by descending severity, and in the order of the table within a severity.
func (fs findings) sorted() []bench.Finding {
	order := Codes()
	slices.SortStableFunc(fs, func(a, b bench.Finding) int {
		return cmp.Or(cmp.Compare(rank(b.Severity), rank(a.Severity)),
			cmp.Compare(slices.Index(order, a.Code), slices.Index(order, b.Code)))
	})
	return fs
}
