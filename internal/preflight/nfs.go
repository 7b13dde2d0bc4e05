package preflight

import (
	"fmt"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// The least value of ONTAP's tcp-max-xfer-size, and what it must be a multiple of.
const (
	leastTransferBytes = 8192
	transferStepBytes  = 4096
)

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

// protocol looks for the versions that protocol.version needs: pNFS is a part
// of NFSv4.1 that is switched on by itself.
func protocol(in Input) string {
	type need struct {
		name, option string
		offered      *bool
	}
	var needs []need
	n := in.nfs()
	switch in.version() {
	case v1alpha1.NFSv3:
		needs = []need{{"NFSv3", "-v3", n.V3}}
	case v1alpha1.NFSv40:
		needs = []need{{"NFSv4.0", "-v4.0", n.V40}}
	case v1alpha1.NFSv41:
		needs = []need{{"NFSv4.1", "-v4.1", n.V41}}
	case v1alpha1.PNFS:
		needs = []need{{"NFSv4.1", "-v4.1", n.V41}, {"pNFS", "-v4.1-pnfs", n.PNFS}}
	}
	names, options := "", ""
	for _, need := range needs {
		if !isOff(need.offered) {
			continue
		}
		if names != "" {
			names += " and "
		}
		names += need.name
		options += " " + need.option + " enabled"
	}
	switch {
	case names == "":
		return ""
	case in.isONTAP():
		return fmt.Sprintf("protocol.version is %s and SVM %s does not offer %s: vserver nfs modify -vserver %s%s, or "+
			"choose another protocol.version", in.version(), in.svm(), names, in.svm(), options)
	default:
		return fmt.Sprintf("protocol.version is %s and the array does not offer %s for this file system: enable it there, "+
			"or choose another protocol.version", in.version(), names)
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
