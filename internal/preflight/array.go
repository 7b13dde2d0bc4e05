package preflight

import (
	"cmp"
	"fmt"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

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

func (in Input) volume() runfile.SurveyVolume {
	if s := in.Target.Survey; s != nil && s.Volume != nil {
		return *s.Volume
	}
	return runfile.SurveyVolume{}
}

func (in Input) nfs() runfile.NFSService {
	if s := in.Target.Survey; s != nil && s.NFS != nil {
		return *s.NFS
	}
	return runfile.NFSService{}
}

func (in Input) version() v1alpha1.NFSVersion {
	return cmp.Or(in.Benchmark.Spec.Protocol.Version, v1alpha1.NFSv3)
}

// isOff says that something is known to be switched off.
func isOff(v *bool) bool { return v != nil && !*v }

// driver refuses the Trident drivers whose volumes cannot be measured alone.
func driver(in Input) string {
	b := in.Target.Backend
	if b == nil {
		return ""
	}
	switch b.Driver {
	case "", "ontap-nas", "ontap-nas-flexgroup":
		return ""
	case "ontap-nas-economy":
		return fmt.Sprintf("Trident backend %s uses the driver ontap-nas-economy: its volumes are qtrees that share one "+
			"FlexVol and its counters, so none can be measured alone; use a StorageClass with a backend of ontap-nas", b.Name)
	default:
		return fmt.Sprintf("Trident backend %s uses the driver %s, which does not serve NFS from ONTAP: use a "+
			"StorageClass with a backend of ontap-nas", b.Name, b.Driver)
	}
}
