package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// componentRecord labels the ConfigMaps that keep runs.
const componentRecord = "suite-record"

// The annotations of a record: what a history needs, so that nobody has to read
// all records for it.
const (
	annotationPhase    = "nfsbench.io/phase"    // absent while the run is under way
	annotationVerdict  = "nfsbench.io/verdict"  // at its end
	annotationStarted  = "nfsbench.io/started"  // RFC 3339
	annotationEnded    = "nfsbench.io/ended"    // RFC 3339
	annotationWorkflow = "nfsbench.io/workflow" // whose phase follows
	annotationWritten  = "nfsbench.io/written"  // RFC 3339
)

// runName names the run that a suite without a schedule asks for. It hangs on what
// cannot change in such a suite, and on the annotation that asks for another; the
// UID tells it from an earlier suite of the same name, whose objects may still go.
func runName(suite *v1alpha1.NFSBenchmarkSuite) string {
	sp := suite.Spec
	raw, err := json.Marshal([]any{
		suite.UID, suite.Annotations[v1alpha1.AnnotationRerun],
		sp.Template, sp.Axes, sp.Include, sp.Exclude, sp.Repetitions, sp.Order, sp.Blocks,
	})
	if err != nil {
		raw = []byte(suite.UID) // a spec that came as JSON always has one
	}
	sum := sha256.Sum256(raw)
	return suite.Name + "-" + hex.EncodeToString(sum[:4])
}

func recordName(run string) string { return run + "-record" }

// attemptOf reads from the name of a workflow which attempt of its run it is: 0 of
// the first, 1 of the one that ends in -2.
func attemptOf(run, workflow string) int32 {
	n, err := strconv.ParseInt(strings.TrimPrefix(workflow, run+"-"), 10, 32)
	if err != nil || n < 2 {
		return 0
	}
	return int32(n) - 1
}
