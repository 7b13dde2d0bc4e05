package judge

// Code names a kind of finding. Codes are stable: people script against them.
type Code string

// The codes. docs/findings.md says what each means and what to do.
const (
	VerificationFailed     Code = "VerificationFailed"
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
	ChannelLost            Code = "ChannelLost"
	ChannelReconnected     Code = "ChannelReconnected"
	NotNFS                 Code = "NotNFS"
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
	BufferedScan           Code = "BufferedScan"
	ParameterDiffers       Code = "ParameterDiffers"
	LatencyLimitExceeded   Code = "LatencyLimitExceeded"
	SyncIO                 Code = "SyncIO"
	MultiplePathsOnNFSv4   Code = "MultiplePathsOnNFSv4"
	RACImbalance           Code = "RACImbalance"
	LatencyResolution      Code = "LatencyResolution"
	CalibrationOnly        Code = "CalibrationOnly"
	SimulatedDatabase      Code = "SimulatedDatabase"
)

// Severity says how much a finding matters.
type Severity string

// The severities, from least to most.
const (
	Info    Severity = "Info"
	Warning Severity = "Warning"
	Error   Severity = "Error"
)

func (s Severity) rank() int {
	switch s {
	case Error:
		return 2
	case Warning:
		return 1
	case Info:
		return 0
	default:
		return 0
	}
}

// Finding is one thing that was seen, with its numbers, and what to do.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
}

// never is a rank that no severity reaches.
const never = 99

// effect says from which severity on a code makes a run Suspect or Invalid.
type effect struct {
	code             Code
	suspect, invalid int
}

// effects is the table of validity, in the order in which findings are shown.
// What says that a number is low, but rightly measured, leaves the run Valid.
func effects() []effect {
	info, warning, failure := Info.rank(), Warning.rank(), Error.rank()
	return []effect{
		{VerificationFailed, info, info},
		{ProtocolMismatch, info, info},
		{DNFSNotActive, info, info},
		{Partial, info, never},
		{IOErrors, warning, never},
		{ExpectationMissed, never, never},
		{ExpectationNotMeasured, never, never},
		{AboveWireLimit, warning, never},
		{NotNFS, warning, never},
		{PathUnused, warning, never},
		{OranfstabNotUsed, warning, never},
		{SuspectLatency, warning, never},
		{BufferedScan, warning, never},
		{ParameterDiffers, warning, never},
		{ColdCache, warning, never},
		{CacheSuspected, warning, never},
		{ClientCPUBound, warning, never},
		{ForeignLoad, warning, never},
		{ArrayDisagrees, warning, never},
		{VolumeMoved, warning, never},
		{NotSteady, warning, never},
		{TooShort, warning, never},
		{VariationHigh, warning, never},
		{ClientsNotTogether, warning, never},
		{ChannelLost, warning, never},
		{ChannelReconnected, warning, never},
		{LateOperations, failure, never},
		{BelowWireSpeed, never, never},
		{LineSaturated, never, never},
		{IndirectPath, never, never},
		{PNFSNotRedirected, never, never},
		{LIFNotHome, never, never},
		{QoSThrottled, never, never},
		{PathImbalance, never, never},
		{RACImbalance, never, never},
		{MultiplePathsOnNFSv4, never, never},
		{SyncIO, never, never},
		{LatencyLimitExceeded, never, never},
		{TransferSizeCapped, never, never},
		{TransferSizeReduced, never, never},
		{Retransmits, never, never},
		{StorageCPUBound, never, never},
		{HalfDuplexCopy, never, never},
		{ClockSkew, never, never},
		{WireLimitUnknown, never, never},
		{NotCollected, never, never},
		{ArrayMetricsPartial, never, never},
		{EmbeddedServer, never, never},
		{LatencyResolution, never, never},
		{CalibrationOnly, never, never},
		{SimulatedStorage, never, never},
		{SimulatedDatabase, never, never},
	}
}

// Codes are all codes, in the order in which findings are shown.
func Codes() []Code {
	table := effects()
	codes := make([]Code, 0, len(table))
	for _, e := range table {
		codes = append(codes, e.code)
	}
	return codes
}

// validity is the worst that any finding says.
func validity(findings []Finding) Validity {
	table := effects()
	v := Valid
	for _, f := range findings {
		for _, e := range table {
			switch rank := f.Severity.rank(); {
			case e.code != f.Code:
			case rank >= e.invalid:
				return Invalid
			case rank >= e.suspect:
				v = Suspect
			}
		}
	}
	return v
}
