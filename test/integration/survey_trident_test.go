package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAPlanThatIsLostIsMadeAgainWithTheArrayThatTridentNamed: what Trident said
// before the start is not asked again, and is in no spec.
func TestAPlanThatIsLostIsMadeAgainWithTheArrayThatTridentNamed(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", gen.TridentClass(w.class(nil)), gen.ONTAP("", "", "reader"))
	b := w.settle("demo")
	for range 10 {
		w.array.step(w)
		b = w.settle("demo")
	}
	job := w.surveyJob(b)
	if job == nil {
		t.Fatalf("nobody asks the array: %s", b.Status.Message)
	}
	w.surveyed(b, gen.Survey("/exports/x", w.array.volumes.lif, otherLIF))
	b = w.settle("demo")
	if w.loadJob(b) == nil {
		t.Fatalf("the load has not begun: %s", b.Status.Message)
	}
	was := w.plan(b)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: manifest.NamesOf(b).Plan}}
	if err := w.c.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	is := w.plan(w.settle("demo"))
	if len(was.Collect.Sources) != 1 || len(is.Collect.Sources) != 1 || is.Collect.Sources[0].URL != "https://"+w.array.management {
		t.Fatalf("sources are %+v, and were %+v", is.Collect.Sources, was.Collect.Sources)
	}
	if is.Collect.Sources[0].Volume != was.Collect.Sources[0].Volume {
		t.Errorf("it asks for volume %q, and did for %q", is.Collect.Sources[0].Volume, was.Collect.Sources[0].Volume)
	}
}
