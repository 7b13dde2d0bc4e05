// Package preflight looks at a spec, and at what an array said of itself, before
// a run is made: what cannot work, or would measure something else than was
// asked for, is refused here with the setting that is wrong and what sets it
// right. All checks are pure; unknown values pass, because a run must not fail
// because an account may not read something.
package preflight

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
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
	DriverRefused        = v1alpha1.ReasonDriverRefused
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
	Message string // what is wrong and what sets it right; empty where nothing is, or there is nothing to look at
}

// Check runs all checks, in a fixed order: what must be set right first comes
// first. The first with a message is the one to show.
func Check(in Input) []Result {
	checks := []struct {
		code string
		run  func(Input) string // returns what is wrong, or nothing
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
		results = append(results, Result{Code: c.code, Message: c.run(in)})
	}
	return results
}

// isONTAP says that the array is one whose commands can be told.
func (in Input) isONTAP() bool {
	s := in.Benchmark.Spec.Storage
	if in.Target.Backend != nil || s.Trident != nil {
		return true
	}
	return s.Array != nil && (s.Array.ONTAP != nil || s.Array.Prometheus != nil && s.Array.Prometheus.Harvest != nil)
}

// svm is the name to put into a command.
func (in Input) svm() string {
	name := ""
	if b := in.Target.Backend; b != nil {
		name = b.SVM
	}
	if a := in.Benchmark.Spec.Storage.Array; name == "" && a != nil && a.ONTAP != nil {
		name = a.ONTAP.SVM
	}
	for _, s := range in.Target.Sources {
		name = cmp.Or(name, s.SVM)
	}
	return cmp.Or(name, "<svm>")
}

func (in Input) survey() runfile.Survey { return ptr.Deref(in.Target.Survey, runfile.Survey{}) }

func (in Input) volume() runfile.SurveyVolume {
	return ptr.Deref(in.survey().Volume, runfile.SurveyVolume{})
}

func (in Input) nfs() runfile.NFSService { return ptr.Deref(in.survey().NFS, runfile.NFSService{}) }

func (in Input) version() bench.NFSVersion {
	return cmp.Or(in.Benchmark.Spec.Protocol.Version, bench.NFSv3)
}

// isOff says that something is known to be switched off.
func isOff(v *bool) bool { return v != nil && !*v }
