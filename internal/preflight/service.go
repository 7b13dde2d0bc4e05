package preflight

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/human"
)

// The smallest tcp-max-xfer-size of ONTAP, and its granularity.
const (
	leastTransferBytes = 8192
	transferStepBytes  = 4096
)

// driver refuses the Trident drivers that do not serve NFS from ONTAP. trident.Refusal refuses, when the target is
// resolved, the drivers whose volumes cannot be measured.
func driver(in Input) string {
	b := in.Target.Backend
	if b == nil {
		return ""
	}
	if slices.Contains([]string{"", "ontap-nas", "ontap-nas-flexgroup"}, b.Driver) {
		return ""
	}
	return fmt.Sprintf("Trident backend %s uses the driver %s, which does not serve NFS from ONTAP: use a StorageClass "+
		"with a backend of ontap-nas", b.Name, b.Driver)
}

func service(in Input) string {
	if !isOff(in.nfs().Enabled) {
		return ""
	}
	if in.isONTAP() {
		return fmt.Sprintf("the NFS service of SVM %s is off: vserver nfs modify -vserver %s -access true",
			in.svm(), in.svm())
	}
	return "the NFS service of the array is off: switch it on there, or point storage at another"
}

// protocol checks that the server enables the versions that protocol.version needs: pNFS is a part of NFSv4.1 with a
// switch of its own.
func protocol(in Input) string {
	type need struct {
		name, option string
		offered      *bool
	}
	var needs []need
	n := in.nfs()
	switch in.version() {
	case bench.NFSv3:
		needs = []need{{"NFSv3", "-v3", n.V3}}
	case bench.NFSv40:
		needs = []need{{"NFSv4.0", "-v4.0", n.V40}}
	case bench.NFSv41, bench.NFSv42: // ONTAP serves NFSv4.2 if NFSv4.1 is on
		needs = []need{{"NFSv4.1", "-v4.1", n.V41}}
	case bench.PNFS:
		needs = []need{{"NFSv4.1", "-v4.1", n.V41}, {"pNFS", "-v4.1-pnfs", n.PNFS}}
	}
	var names []string
	options := ""
	for _, need := range needs {
		if isOff(need.offered) {
			names, options = append(names, need.name), options+" "+need.option+" enabled"
		}
	}
	missing := strings.Join(names, " and ")
	switch {
	case missing == "":
		return ""
	case in.isONTAP():
		return fmt.Sprintf("protocol.version is %s and SVM %s does not offer %s: vserver nfs modify -vserver %s%s, or "+
			"choose another protocol.version", in.version(), in.svm(), missing, in.svm(), options)
	default:
		return fmt.Sprintf("protocol.version is %s and the array does not offer %s for this file system: enable it there, "+
			"or choose another protocol.version", in.version(), missing)
	}
}

func transferSize(in Input) string {
	wanted, most := in.Benchmark.Spec.Protocol.TransferSize, in.nfs().TransferSizeBytes
	if wanted == nil || most == nil || *most <= 0 || wanted.Value() <= *most {
		return ""
	}
	if !in.isONTAP() {
		return fmt.Sprintf("protocol.transferSize is %d bytes and the array moves at most %d in one READ or WRITE: lower "+
			"protocol.transferSize to that", wanted.Value(), *most)
	}
	raise := max((wanted.Value()+transferStepBytes-1)/transferStepBytes*transferStepBytes, leastTransferBytes)
	return fmt.Sprintf("protocol.transferSize is %d bytes and SVM %s moves at most %d in one READ or WRITE: vserver "+
		"nfs modify -vserver %s -tcp-max-xfer-size %d (set -privilege advanced; it holds for new mounts), or lower "+
		"protocol.transferSize", wanted.Value(), in.svm(), *most, in.svm(), raise)
}

// offline refuses a volume in a state in which it serves no client. An unknown state passes.
func offline(in Input) string {
	v := in.volume()
	if !slices.Contains([]string{"offline", "restricted", "error", "mixed", "destroyed"}, v.State) {
		return ""
	}
	if in.isONTAP() {
		return fmt.Sprintf("volume %s is %s: volume online -vserver %s -volume %s", v.Name, v.State, in.svm(), v.Name)
	}
	return fmt.Sprintf("file system %s is %s: bring it back on the array, or point storage at another", v.Name, v.State)
}

// moving refuses a volume that somebody else moves: the operator's own move ends before the survey.
func moving(in Input) string {
	v := in.volume()
	if !v.Moving {
		return ""
	}
	return fmt.Sprintf("volume %s is being moved, which is a load of its own and may change the node in the middle of "+
		"the run: wait for its end (volume move show -vserver %s -volume %s), or end it (volume move abort -vserver %s "+
		"-volume %s)", v.Name, in.svm(), v.Name, in.svm(), v.Name)
}

// full compares the available space with the size of the files. Kept files of an earlier run may already exist, and
// need no more space: with Retain the size of the volume counts.
func full(in Input) string {
	v := in.volume()
	w := in.Benchmark.Spec.Workload.Raw
	room, what := v.AvailableBytes, "has left"
	if in.Benchmark.Spec.Cleanup.OnSuccess == v1alpha1.CleanupRetain {
		room, what = v.SizeBytes, "holds"
	}
	if w == nil || room == nil || *room < 0 {
		return ""
	}
	clients := max(in.Benchmark.Spec.Clients, 1)
	files, words := int64(max(w.Jobs, 1))*int64(clients), ""
	if w.Pattern == bench.PatternCopy {
		files, words = files*2, " x 2 files of a copy"
	}
	// Clamp: more than an int64 holds never fits.
	need := min(float64(max(w.FileSize.Value(), 0))*float64(files), math.MaxInt64)
	if need <= float64(*room) {
		return ""
	}
	more := "use a larger volume or a smaller workload.raw.fileSize"
	if in.isONTAP() {
		more = fmt.Sprintf("volume size -vserver %s -volume %s -new-size ..., or a smaller workload.raw.fileSize",
			in.svm(), v.Name)
	}
	if in.Benchmark.Spec.Storage.Trident != nil {
		more = "raise storage.trident.size, or lower workload.raw.fileSize"
	}
	return fmt.Sprintf("the files need %s (fileSize %s x %d jobs x %d clients%s) and volume %s %s only %s: %s",
		human.Beyond(need, float64(*room), human.Bytes), w.FileSize.String(), max(w.Jobs, 1), clients, words, v.Name, what,
		human.Bytes(*room), more)
}
