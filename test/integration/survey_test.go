package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// otherLIF is on the second node where the benchmark names one address only.
const otherLIF = "10.99.99.61"

// ontap is an array beside an export, with the paths that are asked for. It is
// one of its own, because those of one array wait for each other.
func ontap(paths bench.PathSelection) gen.Mod {
	lif := newAddress()
	return func(b *v1alpha1.NFSBenchmark) {
		gen.ONTAP(lif, "svm1", "ontap-reader")(b)
		if paths != "" {
			gen.Select(paths)(b)
		}
	}
}

// surveyOf is what a good array reports about the export of a benchmark: its first
// address is on the node of the volume, the second on another.
func surveyOf(b *v1alpha1.NFSBenchmark) runfile.Survey {
	lifs := []string{b.Spec.Storage.Export.Servers[0], otherLIF}
	if len(b.Spec.Storage.Export.Servers) > 1 {
		lifs = b.Spec.Storage.Export.Servers
	}
	return gen.Survey(b.Spec.Storage.Export.Path, lifs[0], lifs[1])
}

// surveyed publishes a survey as the program of the Job does.
func (w *world) surveyed(b *v1alpha1.NFSBenchmark, s runfile.Survey) {
	w.Helper()
	var text strings.Builder
	if err := runfile.WriteSurvey(&text, s); err != nil {
		w.Fatal(err)
	}
	w.publish(b, func(cm *corev1.ConfigMap) { cm.Data[runfile.KeySurvey] = text.String() })
}

// surveyJob is the Job that asks the array; nil when there is none.
func (w *world) surveyJob(b *v1alpha1.NFSBenchmark) *batchv1.Job {
	w.Helper()
	job := &batchv1.Job{}
	if !w.find(manifest.NamesOf(b).Survey, job) {
		return nil
	}
	return job
}

// robotSurvey takes the survey one step further.
func (w *world) robotSurvey(b *v1alpha1.NFSBenchmark, job *batchv1.Job) string {
	w.Helper()
	pod := &corev1.Pod{}
	if !w.find(job.Name+"-0", pod) {
		w.startPods(job)
		return "the survey has its pod"
	}
	if w.results(b).Data[runfile.KeySurvey] == "" {
		w.surveyed(b, surveyOf(b))
		return "the array has answered"
	}
	w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded })
	w.jobEnds(job, "", "")
	return "the survey is complete"
}

// asking is a benchmark whose survey has its pod and has not answered.
func (w *world) asking(mods ...gen.Mod) (*v1alpha1.NFSBenchmark, *corev1.Pod) {
	w.Helper()
	w.create("demo", mods...)
	b := w.settle("demo")
	job := w.surveyJob(b)
	if job == nil {
		w.Fatalf("nobody asks the array: %s", b.Status.Message)
	}
	w.startPods(job)
	pod := &corev1.Pod{}
	if !w.find(job.Name+"-0", pod) {
		w.Fatal("the survey has no pod")
	}
	return w.settle("demo"), pod
}

func TestThePathsAreThoseThatTheArrayTells(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		paths bench.PathSelection
		want  []int // of the two servers
	}{
		"Local":  {bench.PathsLocal, []int{0}},
		"Remote": {bench.PathsRemote, []int{1}},
		"All":    {bench.PathsAll, []int{0, 1}},
		"None":   {"", []int{0, 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("demo", ontap(tc.paths))
			b := w.until("demo", v1alpha1.PhaseRunning)
			p, want := w.plan(b), "server: demo\n"
			for _, i := range tc.want {
				want += "path: " + b.Spec.Storage.Export.Servers[i] + "\n"
			}
			if tab := gen.Oranfstab(t, p); !strings.HasPrefix(tab, want+"nfs_version") {
				t.Errorf("oranfstab is\n%s, want\n%s", tab, want)
			}
			if p.Survey == nil || len(p.Collect.Sources) != 1 || p.Collect.Sources[0].Volume != "oradata" {
				t.Errorf("the plan has survey %+v and sources %+v", p.Survey, p.Collect.Sources)
			}
			w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "True", v1alpha1.ReasonPassed)
			asked := w.surveyJob(b)
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded)
			rs := b.Status.Resolved
			if !strings.HasSuffix(rs.Array, " of node a") || strings.HasPrefix(rs.Array, "volume ") || len(rs.Paths) != len(tc.want) {
				t.Fatalf("resolved: %+v", rs)
			}
			locality := []bench.Locality{bench.LocalityLocal, bench.LocalityRemote}
			for i, path := range rs.Paths {
				if path.Locality != locality[tc.want[i]] {
					t.Errorf("path %+v, want %s", path, locality[tc.want[i]])
				}
			}
			if w.surveyJob(b) != nil || asked == nil {
				t.Error("the survey stays behind, or never was")
			}
			if got := w.ours(); len(got) != 1 {
				t.Errorf("left: %q, want the result only", got)
			}
		})
	}
}

// TestAKernelMountOfAnExportWaitsForTheArray: it may be by an address that is not in the spec, if the policy
// lists that.
func TestAKernelMountOfAnExportWaitsForTheArray(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.limit = w.exports("10.0.0.0/8")
	b, _ := w.asking(gen.Kernel, ontap(bench.PathsRemote))
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "asking the array at https://"+b.Spec.Storage.Array.ONTAP.ManagementLIF)
	w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "Unknown", v1alpha1.ReasonSurveying)
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "Unknown", v1alpha1.ReasonSurveying)
	n := manifest.NamesOf(b)
	if w.find(n.Claim, &corev1.PersistentVolumeClaim{}) {
		t.Error("the export is mounted before anybody knows by which address")
	}
	w.surveyed(b, surveyOf(b))
	w.settle("demo")
	pv := &corev1.PersistentVolume{}
	if !w.find(n.Claim, &corev1.PersistentVolumeClaim{}) {
		t.Fatal("the export is not mounted")
	}
	if err := w.c.Get(t.Context(), keyOf(n.Volume), pv); err != nil || pv.Spec.NFS.Server != otherLIF {
		t.Errorf("the volume is of %+v, %v; want the LIF of the other node", pv.Spec.NFS, err)
	}
	b = w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	if b.Status.Resolved.Paths[0].Locality != bench.LocalityRemote {
		t.Errorf("resolved %+v", b.Status.Resolved.Paths)
	}
}

// exports lets the nodes mount these servers only.
func (w *world) exports(servers ...string) func(*policy.Policy) {
	return func(p *policy.Policy) {
		p.Exports = nil
		for _, s := range servers {
			p.Exports = append(p.Exports, policy.Export{Server: s, Path: "/vol/oradata", Namespaces: []string{w.ns}})
		}
	}
}

// TestASurveyChoosesAmongWhatThePolicyLetsTheNodesMount: the array may be a server of the tenant, and the
// survey is in a ConfigMap that the tenant may be able to write.
func TestASurveyChoosesAmongWhatThePolicyLetsTheNodesMount(t *testing.T) {
	t.Parallel()
	const stranger = "203.0.113.66"
	database := func(b *v1alpha1.NFSBenchmark) {
		gen.Oracle(b)
		gen.Calibrate(1)(b)
	}
	for name, tc := range map[string]struct {
		mods  []gen.Mod
		lifs  func(own string) [2]string // of the node with the volume, and of the other
		also  []string                   // servers that the policy allows
		wants func(own string) string    // the server of the volume; empty = the run fails
	}{
		"Remote":   {[]gen.Mod{gen.Kernel, ontap(bench.PathsRemote)}, func(own string) [2]string { return [2]string{own, stranger} }, nil, nil},
		"Local":    {[]gen.Mod{gen.Kernel, ontap(bench.PathsLocal)}, func(own string) [2]string { return [2]string{stranger, own} }, nil, nil},
		"Listed":   {[]gen.Mod{gen.Kernel, ontap(bench.PathsRemote)}, func(own string) [2]string { return [2]string{own, stranger} }, []string{stranger}, func(string) string { return stranger }},
		"All":      {[]gen.Mod{gen.Kernel, ontap("")}, func(own string) [2]string { return [2]string{stranger, own} }, nil, func(own string) string { return own }},
		"Database": {[]gen.Mod{ontap(""), database}, func(own string) [2]string { return [2]string{stranger, own} }, nil, func(own string) string { return own }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			own := newAddress()
			w.limit = w.exports(append(tc.also, own)...)
			b, _ := w.asking(append([]gen.Mod{gen.Export("/vol/oradata", own)}, tc.mods...)...)
			lifs := tc.lifs(own)
			w.surveyed(b, gen.Survey("/vol/oradata", lifs[0], lifs[1]))
			b = w.settle("demo")
			pv := &corev1.PersistentVolume{}
			err := w.c.Get(t.Context(), keyOf(manifest.NamesOf(b).Volume), pv)
			switch {
			case tc.wants == nil:
				if !apierrors.IsNotFound(err) || b.Status.Phase != v1alpha1.PhaseFailed || !strings.Contains(b.Status.Message, "policy.exports") {
					t.Errorf("volume %+v, phase %s: %s", pv.Spec.NFS, b.Status.Phase, b.Status.Message)
				}
			case err != nil || pv.Spec.NFS.Server != tc.wants(own):
				t.Errorf("volume of %+v, want %s: %v; %s", pv.Spec.NFS, tc.wants(own), err, b.Status.Message)
			}
		})
	}
}

func TestWhyThereIsNoSurveyEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		runfile.SurveyUnreachable, runfile.SurveyRefused, runfile.SurveyUntrusted,
		runfile.SurveyNoVolume, runfile.SurveyMoveFailed, runfile.SurveyFailed, "Nonsense",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.asking(ontap(""))
			w.surveyed(b, runfile.Survey{Problem: &runfile.SurveyProblem{Reason: reason, Message: "so it is: do this"}})
			want := reason
			if reason == "Nonsense" {
				want = runfile.SurveyFailed
			}
			b = w.wantFailed(want, "so it is: do this")
			w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "False", want)
			if w.loadJob(b) != nil {
				t.Error("the load runs all the same")
			}
			w.finish("demo")
			if got := w.ours(); len(got) != 1 {
				t.Errorf("left: %q, want the result only", got)
			}
		})
	}
}

func TestWhatTheArraySaysMayStandAgainstTheRun(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		paths  bench.PathSelection
		change func(*runfile.Survey)
		reason string
		words  string
	}{
		"ProtocolOff": {"", func(s *runfile.Survey) { s.NFS.V3 = new(false) }, "ProtocolDisabled", "v3"},
		"Moving":      {"", func(s *runfile.Survey) { s.Volume.Moving = true }, "VolumeMoving", "moved"},
		"NoRemoteLIF": {bench.PathsRemote, func(s *runfile.Survey) { s.LIFs = s.LIFs[:1] }, v1alpha1.ReasonNoPath, "create one"},
		"NoOwner":     {bench.PathsLocal, func(s *runfile.Survey) { s.Volume.Node = "" }, v1alpha1.ReasonNoPath, "does not report one owner of the volume"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.asking(ontap(tc.paths))
			s := surveyOf(b)
			tc.change(&s)
			w.surveyed(b, s)
			b = w.wantFailed(tc.reason, tc.words)
			w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "False", tc.reason)
		})
	}
}

func TestAMissingSecretIsNamedWithinSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, pod := w.asking(ontap(""))
	w.warn("Pod", pod, "FailedMount", `MountVolume.SetUp failed for volume "array-credentials" : secret "ontap-reader" not found`)
	w.step(7 * time.Second)
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, `there is no Secret "ontap-reader" in namespace "`+w.ns+`"`, "create it")
	w.step(4 * time.Second)
	b = w.wantFailed(v1alpha1.ReasonSecretNotFound, `Secret "ontap-reader"`, w.ns, "spec.storage.array")
	w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "False", v1alpha1.ReasonSecretNotFound)
}

func TestASurveyThatBreaksOffIsExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		breaks func(*world, *v1alpha1.NFSBenchmark, *corev1.Pod)
		reason string
		words  []string
	}{
		"Image": {func(w *world, _ *v1alpha1.NFSBenchmark, p *corev1.Pod) {
			w.podStatus(p, waitingFor("survey", "InvalidImageName", "bad"))
		}, v1alpha1.ReasonImagePullFailed, []string{"container survey", "image name"}},
		"Crash": {func(w *world, _ *v1alpha1.NFSBenchmark, p *corev1.Pod) {
			w.podStatus(p, func(st *corev1.PodStatus) {
				st.Phase = corev1.PodFailed
				st.ContainerStatuses = []corev1.ContainerStatus{{Name: "survey", State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "nfsbench: publish the survey: 403 Forbidden"},
				}}}
			})
		}, v1alpha1.ReasonContainerFailed, []string{"container survey", "403 Forbidden"}},
		"Deadline": {func(w *world, b *v1alpha1.NFSBenchmark, p *corev1.Pod) {
			w.jobEnds(w.surveyJob(b), batchv1.JobReasonDeadlineExceeded, "x")
			_ = w.c.Delete(w.Context(), p)
			w.step(4 * time.Second)
		}, runfile.FailureTimeout, []string{"took longer than 480 s"}},
		"Lost": {func(w *world, b *v1alpha1.NFSBenchmark, p *corev1.Pod) {
			w.podStatus(p, func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded })
			w.jobEnds(w.surveyJob(b), "", "")
			w.step(4 * time.Second)
		}, runfile.SurveyFailed, []string{"is not in ConfigMap nfsb-demo-result any more"}},
		"Unreadable": {func(w *world, b *v1alpha1.NFSBenchmark, _ *corev1.Pod) {
			w.publish(b, func(cm *corev1.ConfigMap) { cm.Data[runfile.KeySurvey] = `{"version":"nfsbench.io/survey/v1"` })
		}, runfile.SurveyFailed, []string{"cannot be read", "unexpected end of JSON input"}},
		"OtherVersion": {func(w *world, b *v1alpha1.NFSBenchmark, _ *corev1.Pod) {
			w.publish(b, func(cm *corev1.ConfigMap) { cm.Data[runfile.KeySurvey] = `{"version":"nfsbench.io/survey/v99"}` })
		}, runfile.SurveyFailed, []string{"cannot be read", "survey/v99"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pod := w.asking(ontap(""))
			tc.breaks(w, b, pod)
			b = w.wantFailed(tc.reason, tc.words...)
			w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "False", tc.reason)
		})
	}
}

func TestASurveyThatWasPublishedLateInTheJobsLifeCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pod := w.asking(ontap(""))
	w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase = corev1.PodSucceeded })
	w.jobEnds(w.surveyJob(b), "", "")
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "asking the array")
	w.surveyed(b, surveyOf(b)) // our watch was behind
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestTheArrayIsAskedOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.asking(ontap(bench.PathsRemote))
	job := w.surveyJob(b)
	w.restart()
	w.settle("demo")
	if again := w.surveyJob(b); again == nil || again.UID != job.UID {
		t.Fatal("a new manager asks again")
	}
	b = w.until("demo", v1alpha1.PhaseRunning)
	first, resolved := w.plan(b), b.Status.Resolved.DeepCopy()
	// The LIF moves while the load runs: what was chosen stays.
	moved := surveyOf(b)
	moved.LIFs[0].Node, moved.LIFs[1].Node = "b", "a"
	w.surveyed(b, moved)
	w.restart()
	b = w.settle("demo")
	if diff := cmp.Diff(resolved, b.Status.Resolved); diff != "" {
		t.Errorf("what is resolved is another (-was +is):\n%s", diff)
	}
	// Nor is it asked again when what it said is lost.
	cm := w.results(b)
	delete(cm.Data, runfile.KeySurvey)
	if err := w.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseRunning)
	if len(b.Status.Resolved.Paths) != 1 || !cmp.Equal(w.plan(b).Engine.Channels, first.Engine.Channels) {
		t.Errorf("the run under way lost its paths: %+v", b.Status.Resolved)
	}
	// When the plan is lost too, nothing tells what the load goes by.
	if err := w.c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: manifest.NamesOf(b).Plan}}); err != nil {
		t.Fatal(err)
	}
	b = w.wantFailed(v1alpha1.ReasonPlanChanged, "is lost")
	if diff := cmp.Diff(resolved, b.Status.Resolved); diff != "" {
		t.Errorf("what was resolved is another (-was +is):\n%s", diff)
	}
}

func TestAnArrayThatCannotBeAskedIsSampledAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Exporter("filer", "http://10.98.0.7:9100/metrics"))
	b := w.until("demo", v1alpha1.PhaseRunning)
	if w.surveyJob(b) != nil || len(b.Status.Resolved.Paths) != 2 {
		t.Errorf("survey %v, resolved %+v", w.surveyJob(b), b.Status.Resolved)
	}
	if s := w.plan(b).Collect.Sources; len(s) != 1 || s[0].Kind != runfile.SourceExporter {
		t.Errorf("sources %+v", s)
	}
	b = w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	if slices.ContainsFunc(b.Status.Conditions, isPreflight) {
		t.Error("nothing was asked, and a condition says how that went")
	}
}
