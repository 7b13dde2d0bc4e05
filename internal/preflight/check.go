// Package preflight checks a spec, and the survey of an array, before a run. It refuses a run that cannot work, or that
// would measure something else than the spec asks for, and names the wrong setting and its correction. All checks are
// pure. Unknown values pass: a run must not fail because an account may not read something.
package preflight

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Input holds the benchmark and its target.
type Input struct {
	Benchmark *v1alpha1.NFSBenchmark
	// Target has the survey, the backend, and the selected paths.
	Target plan.Target
}

// The codes of the checks, in CamelCase because they become the reason of a condition.
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
	Code    string // of the check
	Message string // the problem and its correction; empty if there is none, or nothing to check
}

// Check runs all checks, in a fixed order: the problem to correct first comes first. The caller shows the first result
// with a message.
func Check(in Input) []Result {
	checks := []struct {
		code string
		run  func(Input) string // returns the problem, or ""
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

// isONTAP reports whether the array takes ONTAP commands, which the messages then contain.
func (in Input) isONTAP() bool {
	s := in.Benchmark.Spec.Storage
	if in.Target.Backend != nil || s.Trident != nil {
		return true
	}
	return s.Array != nil && (s.Array.ONTAP != nil || s.Array.Prometheus != nil && s.Array.Prometheus.Harvest != nil)
}

// svm returns the name of the SVM for a command.
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

// isOff reports whether a setting is known to be off.
func isOff(v *bool) bool { return v != nil && !*v }
