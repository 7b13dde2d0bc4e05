package preflight

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// Input is what a run would be made of.
type Input struct {
	Benchmark *v1alpha1.NFSBenchmark
	// Target has the survey, the backend, and the paths that were chosen.
	Target plan.Target
}

// The codes of the checks. Each is CamelCase, for it becomes the reason of a
// condition.
const (
	DriverRefused        = "DriverRefused"
	ServiceDisabled      = "ServiceDisabled"
	ProtocolDisabled     = "ProtocolDisabled"
	UnknownLIF           = "UnknownLIF"
	LIFDown              = "LIFDown"
	TooManyPaths         = "TooManyPaths"
	SameSubnet           = "SameSubnet"
	TransferSizeTooSmall = "TransferSizeTooSmall"
	VolumeOffline        = "VolumeOffline"
	VolumeMoving         = "VolumeMoving"
	ExportPolicyDenies   = "ExportPolicyDenies"
	VolumeFull           = "VolumeFull"
)

// Result is the answer of one check.
type Result struct {
	Code    string // which check
	OK      bool   // it found nothing wrong, or had nothing to look at
	Message string // what is wrong and what sets it right; empty when OK
}

// check returns what is wrong, or nothing.
type check func(Input) string

// Check runs all checks, in a fixed order: what must be set right first comes
// first. The first that is not OK is the one to show.
func Check(in Input) []Result {
	checks := []struct {
		code string
		run  check
	}{
		{DriverRefused, driver},
		{UnknownLIF, unknownLIF},
		{ServiceDisabled, service},
		{ProtocolDisabled, protocol},
		{VolumeOffline, offline},
		{VolumeMoving, moving},
		{ExportPolicyDenies, exportPolicy},
		{TooManyPaths, tooManyPaths},
		{SameSubnet, sameSubnet},
		{LIFDown, lifDown},
		{TransferSizeTooSmall, transferSize},
		{VolumeFull, full},
	}
	results := make([]Result, 0, len(checks))
	for _, c := range checks {
		message := c.run(in)
		results = append(results, Result{Code: c.code, OK: message == "", Message: message})
	}
	return results
}
