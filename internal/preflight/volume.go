package preflight

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// offline knows the states in which a volume serves nobody; a word that it does
// not know passes.
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

// moving looks for a move of somebody else: ours is done when a survey is made.
func moving(in Input) string {
	v := in.volume()
	if !v.Moving {
		return ""
	}
	return fmt.Sprintf("volume %s is being moved, which is a load of its own and may change the node in the middle of "+
		"the run: wait for its end (volume move show -vserver %s -volume %s), or end it (volume move abort -vserver %s "+
		"-volume %s)", v.Name, in.svm(), v.Name, in.svm(), v.Name)
}

// full compares the space that is left with what the files need. Files that are
// kept may be there from the run before, and take no more: then all of the
// volume counts.
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
	factors := []int64{w.FileSize.Value(), int64(max(w.Jobs, 1)), int64(clients)}
	words := fmt.Sprintf("fileSize %s x %d jobs x %d clients", w.FileSize.String(), max(w.Jobs, 1), clients)
	if w.Pattern == v1alpha1.PatternCopy {
		factors, words = append(factors, 2), words+" x 2 files of a copy"
	}
	need := product(factors)
	if need <= *room {
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
	return fmt.Sprintf("the files need %s (%s) and volume %s %s %s: %s", gibibytes(need), words, v.Name, what,
		gibibytes(*room), more)
}

// product multiplies what is not negative; more than fits is as much as fits.
func product(factors []int64) int64 {
	p := uint64(1)
	for _, f := range factors {
		high, low := bits.Mul64(p, uint64(max(f, 0))) //nolint:gosec // not negative
		if high != 0 || low > math.MaxInt64 {
			return math.MaxInt64
		}
		p = low
	}
	return int64(p) //nolint:gosec // compared above
}

func gibibytes(b int64) string { return fmt.Sprintf("%.2f GiB", float64(b)/(1<<30)) }
