package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/trident"
)

// TestASilentTridentIsToldByWhatItDoes: on a backend that it works on, it is waited for until it
// can say why that fails; on somebody else's, until that is over; and one that is not there is
// said to be missing soon.
func TestASilentTridentIsToldByWhatItDoes(t *testing.T) {
	t.Parallel()
	own := func(w *world) { w.array.SetFaults(standin.Faults{Mute: w.array.management}) }
	silent := func(w *world) { w.array.SetFaults(standin.Faults{Silent: true}) }
	pods := func(w *world, state corev1.ContainerState) {
		silent(w)
		w.deployed(corev1.ConditionFalse, 1)
		w.controller(state)
	}
	const short, long = 2 * time.Minute, 16 * time.Minute
	cases := map[string]struct {
		world  func(*world)
		waits  time.Duration
		reason string // meanwhile
		says   []string
		not    string
		ends   string // the reason of the failure
	}{
		"OnThisBackend": {
			own, long, v1alpha1.ReasonProvisioning,
			[]string{"Trident works on TridentBackendConfig ", "waits 8 minutes"},
			"",
			v1alpha1.ReasonBackendFailed,
		},
		"OnAnother": {
			func(w *world) { w.busy(nil) },
			long, v1alpha1.ReasonTridentBusy,
			[]string{"Trident works on TridentBackendConfig ", "/aaa-other", "8 minutes"},
			"",
			v1alpha1.ReasonTridentBusy,
		},
		"OnThatOfAnotherTenant": {
			func(w *world) { w.busy(map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}) },
			long, v1alpha1.ReasonTridentBusy,
			[]string{"Trident works on the backend of another benchmark"},
			"aaa-other",
			v1alpha1.ReasonTridentBusy,
		},
		"OnWhatCannotBeSeen": {
			silent,
			long, v1alpha1.ReasonTridentBusy,
			[]string{"Trident runs and has not yet read"},
			"", v1alpha1.ReasonTridentBusy,
		},
		"NotAllowedToLook": {
			func(w *world) {
				silent(w)
				w.faults.refused = func(kind string) error {
					if kind == "Deployment" {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "trident-controller", errors.New("no"))
					}
					return nil
				}
			},
			long, v1alpha1.ReasonProvisioning,
			[]string{"may not see whether it runs"},
			"", v1alpha1.ReasonTridentMissing,
		},
		"NoDeployment": {func(w *world) { silent(w); w.undeployed() }, short, v1alpha1.ReasonProvisioning, []string{"there is no Deployment trident-controller"}, "", v1alpha1.ReasonTridentMissing},
		"ScaledToZero": {
			func(w *world) { silent(w); w.deployed(corev1.ConditionTrue, 0) },
			short, v1alpha1.ReasonProvisioning,
			[]string{"/trident-controller has no pod"},
			"", v1alpha1.ReasonTridentMissing,
		},
		"NoPods": {
			func(w *world) { silent(w); w.deployed(corev1.ConditionFalse, 0) },
			short, v1alpha1.ReasonProvisioning,
			[]string{"has no pod: Deployment does not have minimum availability"},
			"",
			v1alpha1.ReasonTridentMissing,
		},
		"Starting": {
			func(w *world) { silent(w); w.deployed(corev1.ConditionFalse, 1) },
			long, v1alpha1.ReasonTridentBusy,
			[]string{"no pod of Deployment ", "is ready", "15 minutes for each backend"},
			"",
			v1alpha1.ReasonTridentBusy,
		},
		"WithADeploymentOfAnotherName": {
			func(w *world) {
				silent(w)
				d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.array.ns, Name: trident.Deployment}}
				if err := w.c.Delete(w.Context(), d); err != nil {
					w.Fatal(err)
				}
			},
			long, v1alpha1.ReasonTridentBusy,
			[]string{"Trident runs and has not yet read"},
			"", v1alpha1.ReasonTridentBusy,
		},
		"WithoutAnImage": {
			func(w *world) {
				pods(w, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such tag"}})
			},
			short, v1alpha1.ReasonProvisioning,
			[]string{"/trident-controller-0 does not run: ImagePullBackOff: no such tag"},
			"", v1alpha1.ReasonTridentMissing,
		},
		"BetweenTwoCrashes": {
			func(w *world) {
				pods(w, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}})
			},
			short, v1alpha1.ReasonProvisioning,
			[]string{"container trident-main has ended with code 3"},
			"", v1alpha1.ReasonTridentMissing,
		},
		"Created": {
			func(w *world) {
				pods(w, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
			},
			5 * time.Minute, v1alpha1.ReasonProvisioning,
			[]string{"does not run: ContainerCreating"},
			"", v1alpha1.ReasonTridentMissing,
		},
		"Unschedulable": {
			func(w *world) {
				pods(w, corev1.ContainerState{})
				p := &corev1.Pod{}
				if err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.array.ns, Name: "trident-controller-0"}, p); err != nil {
					w.Fatal(err)
				}
				w.podStatus(p, func(st *corev1.PodStatus) {
					st.ContainerStatuses = nil
					st.Conditions = []corev1.PodCondition{{
						Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes",
					}}
				})
			},
			short, v1alpha1.ReasonProvisioning,
			[]string{"does not run: Unschedulable: 0/3 nodes"},
			"", v1alpha1.ReasonTridentMissing,
		},
		"RefusedByAQuota": {
			func(w *world) {
				silent(w)
				w.deployed(corev1.ConditionFalse, 0)
				d := &appsv1.Deployment{}
				if err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.array.ns, Name: trident.Deployment}, d); err != nil {
					w.Fatal(err)
				}
				d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: pods",
				})
				if err := w.c.Status().Update(w.Context(), d); err != nil {
					w.Fatal(err)
				}
			},
			short, v1alpha1.ReasonProvisioning,
			[]string{"has no pod: ", "exceeded quota: pods"},
			"", v1alpha1.ReasonTridentMissing,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			tc.world(w)
			w.create("demo", w.backend())
			w.turns()
			w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, "waiting for Trident to bind TridentBackendConfig")
			w.turnsAfter(20 * time.Second)
			check := func() {
				t.Helper()
				b := w.get("demo")
				w.wantPhase(b, v1alpha1.PhaseProvisioning, tc.says...)
				w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "Unknown", tc.reason)
				if tc.not != "" && strings.Contains(b.Status.Message, tc.not) {
					t.Errorf("the message says %q: %s", tc.not, b.Status.Message)
				}
			}
			check()
			left := w.promised().Sub(w.clock.Now()) // nothing else ends the wait
			if left > tc.waits || left < tc.waits-time.Minute {
				t.Errorf("the run promises to wait for %s: %s", left, w.get("demo").Status.Message)
			}
			w.turnsAfter(left - 2*time.Second)
			check()
			w.turnsAfter(4 * time.Second)
			b := w.get("demo")
			w.wantPhase(b, v1alpha1.PhaseFailed, tc.says...)
			w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", tc.ends)
			want := v1alpha1.FailureBenchmark
			if tc.ends == v1alpha1.ReasonTridentBusy { // which is not its fault
				want = v1alpha1.FailureInfrastructure
			}
			if b.Status.Failure != want {
				t.Errorf("status.failure is %s, want %s", b.Status.Failure, want)
			}
		})
	}
}

// promised is until when the run of demo says that it waits.
func (w *world) promised() time.Time {
	w.Helper()
	message := w.get("demo").Status.Message
	_, text, _ := strings.Cut(message, "the run waits until ")
	at, err := time.Parse("15:04:05", strings.TrimSuffix(text, " UTC"))
	if err != nil {
		w.Fatalf("no time in %q", message)
	}
	now := w.clock.Now().UTC()
	end := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	if end.Before(now) {
		return end.AddDate(0, 0, 1)
	}
	return end
}

// TestATridentThatStartsIsWaitedFor: its pod is not ready before it has initialized all backends, which one with
// a dead management LIF makes last 15 minutes. Then it has to do its work.
func TestATridentThatStartsIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*world){
		"BeforeItsBackend": func(w *world) { w.settle("demo") },
		"AfterItTookItsBackend": func(w *world) {
			w.array.SetFaults(standin.Faults{Mute: w.array.management})
			w.turns()
		},
		"BeforeItsVolume": func(w *world) {
			w.untilBackends(2)
			w.settle("demo")
		},
	} {
		for _, age := range []time.Duration{0, 2 * time.Minute} {
			t.Run(name+"At"+age.String(), func(t *testing.T) {
				t.Parallel()
				w := withTrident(t)
				other := w.array.backend
				other.ManagementLIF = newAddress()
				if err := w.c.Create(t.Context(), trident.NewBackendConfig(w.array.ns, "aaa-other", nil, other)); err != nil {
					t.Fatal(err)
				}
				for w.array.step(w) != "" { //nolint:revive // until it is bound
				}
				w.create("demo", w.backend())
				before(w)
				w.step(age)
				w.settle("demo")
				w.array.SetFaults(standin.Faults{Drops: other.ManagementLIF})
				w.array.Restart()
				w.deployed(corev1.ConditionFalse, 1)
				var end time.Time
				for _, wait := range []time.Duration{20 * time.Second, 14 * time.Minute} {
					w.turnsAfter(wait)
					b := w.get("demo")
					w.wantPhase(b, v1alpha1.PhaseProvisioning, "no pod of Deployment ", "15 minutes for each backend")
					w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "Unknown", v1alpha1.ReasonTridentBusy)
					end = w.promised()
				}
				w.step(40 * time.Second)
				w.deployed(corev1.ConditionTrue, 1)
				w.settle("demo")
				if b := w.get("demo"); b.Status.Phase != v1alpha1.PhaseProvisioning {
					t.Fatalf("at %s it has ended, and said that it waits until %s: %s", w.clock.Now(), end, b.Status.Message)
				}
				w.succeedsWithItsVolume()
			})
		}
	}
}

// TestARunThatWaitsForTridentHasAnEnd: Trident starts again and again.
func TestARunThatWaitsForTridentHasAnEnd(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.SetFaults(standin.Faults{Silent: true})
	w.create("demo", w.backend())
	w.settle("demo")
	for range 5 {
		w.deployed(corev1.ConditionFalse, 1)
		w.step(10 * time.Minute)
		w.settle("demo")
	}
	w.wantPhase(w.get("demo"), v1alpha1.PhaseFailed, "given up after 45m0s")
}

// TestADeploymentThatIsReplacedIsWaitedFor: trident-operator deletes it and makes it anew when it is upgraded, and
// that tells no time. Without it nobody works on what Trident has taken.
func TestADeploymentThatIsReplacedIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]bool{"Upgraded": true, "Uninstalled": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.array.SetFaults(standin.Faults{Mute: w.array.management})
			w.create("demo", w.backend())
			w.turns()
			w.turnsAfter(10 * time.Minute)
			w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, "Trident works on TridentBackendConfig")
			w.undeployed()
			for range 2 {
				w.turnsAfter(50 * time.Second)
				w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, "there is no Deployment trident-controller")
				if left := w.promised().Sub(w.clock.Now()); left > 2*time.Minute {
					t.Errorf("the run waits for %s", left)
				}
			}
			if comes {
				w.deployed(corev1.ConditionTrue, 1)
				w.array.SetFaults(standin.Faults{})
				w.succeedsWithItsVolume()
				return
			}
			w.turnsAfter(75 * time.Second)
			b := w.get("demo")
			w.wantPhase(b, v1alpha1.PhaseFailed, "there is no Deployment trident-controller")
			w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", v1alpha1.ReasonTridentMissing)
		})
	}
}

// succeedsWithItsVolume lets the array make the volume, and demands that the run succeeds.
func (w *world) succeedsWithItsVolume() {
	w.Helper()
	pvc := &corev1.PersistentVolumeClaim{}
	for range 60 {
		if w.find("nfsb-demo-data", pvc) && pvc.Status.Phase == corev1.ClaimBound {
			break
		}
		w.settle("demo")
		w.array.step(w)
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

// TestATridentThatEndsBeforeItsVolumeIsSaid.
func TestATridentThatEndsBeforeItsVolumeIsSaid(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend())
	w.untilBackends(1)
	w.busy(nil)
	w.deployed(corev1.ConditionTrue, 0)
	w.settle("demo")
	w.step(20 * time.Second)
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "/trident-controller has no pod")
}

// TestAnAnswerOfTridentShowsThatItWaitsForNoOtherBackend: with enableConcurrency it makes volumes meanwhile.
func TestAnAnswerOfTridentShowsThatItWaitsForNoOtherBackend(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.Concurrent = true
	class := w.class(nil)
	w.array.SetFaults(standin.Faults{Mute: w.busy(nil), Provisioning: "aggregate aggr1 is full"})
	w.step(5 * time.Second) // events have whole seconds
	w.create("demo", gen.TridentClass(class))
	w.turns()
	w.turnsAfter(20 * time.Second)
	b := w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "aggregate aggr1 is full")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", v1alpha1.ReasonProvisioningFailed)
	if strings.Contains(b.Status.Message, "Trident works on") {
		t.Errorf("another backend is said to keep Trident busy: %s", b.Status.Message)
	}
	w.turnsAfter(5 * time.Minute)
	b = w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, "is not bound after 5m")
	if b.Status.Failure != v1alpha1.FailureBenchmark {
		t.Errorf("status.failure is %s, want %s", b.Status.Failure, v1alpha1.FailureBenchmark)
	}
}

func TestTheErrorOfATridentThatTookLongIsShown(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.SetFaults(standin.Faults{Drops: w.array.management})
	w.create("demo", w.backend())
	w.turns()
	w.turnsAfter(standin.DeadLIF)
	b := w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "Trident refuses TridentBackendConfig", "context deadline exceeded")
	w.turnsAfter(301 * time.Second)
	b = w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, "Trident refuses TridentBackendConfig", "context deadline exceeded")
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", v1alpha1.ReasonBackendFailed)
	w.array.SetFaults(standin.Faults{}) // Trident was trying again
	w.finish("demo")
	w.wantMade()
}

// TestAManagementLIFIsTriedWhileTridentIsSilent: Trident says why after minutes only, or never, and
// nobody is told before who asks Trident's array.
func TestAManagementLIFIsTriedWhileTridentIsSilent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code int32
		said string
		says string
	}{
		"Drops": {1, "nfsbench: no connection to 10.0.0.9:443 within 5s: dial tcp 10.0.0.9:443: i/o timeout\n", "does not answer a pod of this namespace either: no connection to 10.0.0.9:443 within 5s: dial tcp 10.0.0.9:443: i/o timeout; the run waits until"},
		"Opens": {0, "", "accepts connections from a pod of this namespace"},
		"Odd":   {137, "killed", "; the run waits until"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.array.SetFaults(standin.Faults{Mute: w.array.management})
			w.create("demo", w.backend())
			w.turns()
			job := &batchv1.Job{}
			probe := manifest.NamesOf(w.get("demo")).Probe
			if w.find(probe, job) {
				t.Fatal("it is tried at once, though Trident takes a few seconds for every backend")
			}
			w.turnsAfter(20 * time.Second)
			if !w.find(probe, job) {
				t.Fatal("it is not tried")
			}
			w.startPods(job)
			pod := &corev1.Pod{}
			w.find(probe+"-0", pod)
			w.podStatus(pod, func(st *corev1.PodStatus) {
				st.ContainerStatuses = []corev1.ContainerStatus{{Name: manifest.ContainerProbe, State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{ExitCode: tc.code, Message: tc.said},
				}}}
			})
			w.turns()
			w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, tc.says)
			w.turnsAfter(17 * time.Minute)
			w.wantPhase(w.get("demo"), v1alpha1.PhaseFailed, strings.TrimSuffix(tc.says, "the run waits until"))
			w.array.SetFaults(standin.Faults{})
			w.finish("demo")
			if left := w.ours(); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestABenchmarkSucceedsThoughTridentWasBusyWithAnother: what Trident then says at first is not the
// end either, for it has not yet had the time to try again.
func TestABenchmarkSucceedsThoughTridentWasBusyWithAnother(t *testing.T) {
	t.Parallel()
	backend := func(*world) {}
	volume := func(w *world) {
		w.untilBackends(1)
	}
	for name, tc := range map[string]struct {
		before func(*world)
		waits  time.Duration
		then   []standin.Faults // one after the other, before the operator looks
		says   string
		again  bool // it is busy with another once more
	}{
		"BeforeItsBackend":        {backend, 9 * time.Minute, nil, "", false},
		"BeforeItsVolume":         {volume, 9 * time.Minute, nil, "", false},
		"ThenTheBackendIsRefused": {backend, 301 * time.Second, []standin.Faults{{Backend: "too many requests"}}, "too many requests: ask an administrator", false},
		"ThenTheVolumeIsRefused":  {volume, 301 * time.Second, []standin.Faults{{Provisioning: "aggregate is busy"}}, "aggregate is busy", false},
		"ThenItIsBusyAgain":       {volume, 9 * time.Minute, []standin.Faults{{Provisioning: "aggregate is busy"}}, "aggregate is busy", true},
		"ThenTheBackendIsOffline": {volume, 301 * time.Second, []standin.Faults{{}, {Offline: "LIF is down"}}, "LIF is down", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.create("demo", w.backend())
			tc.before(w)
			w.busy(nil)
			w.turns()
			w.turnsAfter(tc.waits)
			b := w.get("demo")
			w.wantPhase(b, v1alpha1.PhaseProvisioning, "works on TridentBackendConfig")
			w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "Unknown", v1alpha1.ReasonTridentBusy)
			for _, f := range tc.then {
				w.array.SetFaults(f)
				for w.array.step(w) != "" { //nolint:revive // until there is nothing to do
				}
			}
			if tc.says != "" {
				w.turns()
				w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, tc.says)
				w.turnsAfter(4 * time.Minute)
				w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning, tc.says)
			}
			if tc.again {
				w.busy(nil)
				w.turns()
				w.wantPhase(w.get("demo"), v1alpha1.PhaseProvisioning)
			}
			w.array.SetFaults(standin.Faults{})
			w.succeedsWithItsVolume()
		})
	}
}

// TestABackendThatIsTriedAgainKeepsTridentBusyToo: Failed stays in its status while Trident tries
// again, which takes minutes where the management LIF does not answer.
func TestABackendThatIsTriedAgainKeepsTridentBusyToo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		backendFirst bool
		labels       map[string]string
		says         string
		not          string
	}{
		"BeforeItsVolume": {true, nil, "Trident may be trying TridentBackendConfig ", ""},
		"OfAnotherTenant": {
			true,
			map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
			"Trident may be trying the backend of another benchmark again", "aaa-other",
		},
		"BeforeItsBackend": {false, nil, "Trident may be trying TridentBackendConfig ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.deployed(corev1.ConditionTrue, 1)
			w.create("demo", w.backend())
			for tc.backendFirst && len(w.ofTrident(trident.KindBackend)) == 0 {
				w.settle("demo")
				w.robot("demo")
			}
			lif := w.busy(tc.labels)
			w.array.SetFaults(standin.Faults{Backend: "context deadline exceeded"})
			w.array.step(w)
			w.array.SetFaults(standin.Faults{Mute: lif})
			w.turns()
			w.turnsAfter(20 * time.Second)
			b := w.get("demo")
			w.wantPhase(b, v1alpha1.PhaseProvisioning, tc.says)
			w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "Unknown", v1alpha1.ReasonTridentBusy)
			w.turnsAfter(22 * time.Minute)
			b = w.get("demo")
			w.wantPhase(b, v1alpha1.PhaseFailed, tc.says)
			w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", v1alpha1.ReasonTridentBusy)
			if b.Status.Failure != v1alpha1.FailureInfrastructure {
				t.Errorf("status.failure is %s, want Infrastructure", b.Status.Failure)
			}
			if tc.not != "" && strings.Contains(b.Status.Message, tc.not) {
				t.Errorf("the message says %q: %s", tc.not, b.Status.Message)
			}
		})
	}
}

func TestABackendThatTridentRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.array.backend.CredentialsSecretName = "late"
	w.create("demo", w.backend())
	w.turns()
	b := w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "backend credentials not found", "Trident tries again, and the run waits until ")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", v1alpha1.ReasonBackendFailed)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.array.ns, Name: "late"},
		StringData: map[string]string{"username": "vsadmin", "password": "xyzzy-2026"},
	}
	if err := w.c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

// orphaned is a world with a benchmark that was deleted while Trident made its volume. Controller
// and provisioner die before there is a PersistentVolume.
func orphaned(t *testing.T, o orphan, leftovers v1alpha1.LeftoversPolicy) (w *world, volume string) {
	t.Helper()
	w = withTrident(t)
	mod := o.storage(w)
	w.array.SetFaults(standin.Faults{Unanswered: true})
	w.create("demo", mod, gen.Leftovers(leftovers))
	for range 60 {
		w.settle("demo")
		w.robot("demo")
		if v := w.ofTrident(trident.KindVolume); len(v) > 0 {
			volume = v[0].GetName()
			break
		}
	}
	if volume == "" {
		t.Fatal("Trident makes no volume")
	}
	if o.before != nil {
		o.before(w)
	}
	w.delete("demo")
	w.turns()
	w.array.Restart()
	w.array.SetFaults(standin.Faults{})
	w.turns()
	return w, volume
}

type orphan struct {
	storage func(*world) gen.Mod
	before  func(*world) // the benchmark is deleted; nil = nothing
}

func orphans() map[string]orphan {
	backend := func(w *world) gen.Mod { return w.backend() }
	return map[string]orphan{
		"Backend": {backend, nil},
		"Class":   {func(w *world) gen.Mod { return gen.TridentClass(w.class(nil)) }, nil},
		"NotNoted": {backend, func(w *world) { // by an operator that was killed
			b := w.get("demo")
			b.Status.Resolved = nil
			if err := w.c.Status().Update(w.Context(), b); err != nil {
				w.Fatal(err)
			}
		}},
		"ClaimGoneBefore": {backend, func(w *world) { // which somebody deleted
			pvc := &corev1.PersistentVolumeClaim{}
			w.find("nfsb-demo-data", pvc)
			pvc.Finalizers = nil
			if err := errors.Join(w.c.Update(w.Context(), pvc), w.c.Delete(w.Context(), pvc)); err != nil {
				w.Fatal(err)
			}
		}},
	}
}

func TestAVolumeWhoseProvisioningWasInterruptedIsNamed(t *testing.T) {
	t.Parallel()
	for name, o := range orphans() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, volume := orphaned(t, o, v1alpha1.LeftoversWait)
			b := w.get("demo")
			if b == nil {
				t.Fatalf("the benchmark is gone and leaves %q", w.made())
			}
			w.turnsAfter(3 * time.Minute)
			b = w.get("demo")
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
			for _, word := range []string{
				"TridentVolume " + w.array.ns + "/" + volume + " (online, on the array trident_pvc_",
				"tridentctl -n " + w.array.ns + " delete volume " + volume, "spec.cleanup.leftovers",
			} {
				if !strings.Contains(b.Status.Message, word) {
					t.Errorf("the message does not say %q: %s", word, b.Status.Message)
				}
			}
			w.deleteVolume(volume)
			w.step(8 * time.Minute) // as long as the call that was interrupted could have taken
			w.turns()
			if b := w.get("demo"); b != nil {
				t.Errorf("it stays though the volume is gone: %s", b.Status.Message)
			}
			for _, m := range w.made() {
				if strings.Contains(m, "demo") {
					t.Errorf("left: %s", m)
				}
			}
		})
	}
}

// deleteVolume is tridentctl delete volume.
func (w *world) deleteVolume(name string) {
	w.Helper()
	for _, v := range w.ofTrident(trident.KindVolume) {
		if v.GetName() != name {
			continue
		}
		v.SetFinalizers(nil)
		if err := errors.Join(w.array.volumes.DeleteVolume(w.Context(), standin.InternalName(name)), w.c.Update(w.Context(), &v),
			w.c.Delete(w.Context(), &v)); err != nil {
			w.Fatal(err)
		}
	}
}

func TestAnAbandonedVolumeWithoutAPersistentVolumeIsListed(t *testing.T) {
	t.Parallel()
	for name, o := range orphans() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, volume := orphaned(t, o, v1alpha1.LeftoversAbandon)
			w.turnsAfter(3 * time.Minute)
			if b := w.get("demo"); b != nil {
				t.Fatalf("it stays: %s", b.Status.Message)
			}
			want := "left are TridentVolume " + w.array.ns + "/" + volume
			if told := strings.Join(w.rec.events, "\n"); !strings.Contains(told, want) {
				t.Errorf("no event says %q:\n%s", want, told)
			}
		})
	}
}

// TestAnAbandonedProvisioningIsListed: Trident makes the volume later, and only with class and
// backend does the provisioner remove it again.
func TestAnAbandonedProvisioningIsListed(t *testing.T) {
	t.Parallel()
	w := withTrident(t)
	w.create("demo", w.backend(), gen.Leftovers(v1alpha1.LeftoversAbandon))
	w.untilBackends(1)
	w.busy(nil)
	w.turns()
	pvc := &corev1.PersistentVolumeClaim{}
	w.find("nfsb-demo-data", pvc)
	name := manifest.TridentName(w.get("demo"))
	w.delete("demo")
	w.turns()
	w.turnsAfter(3 * time.Minute)
	if b := w.get("demo"); b != nil {
		t.Fatalf("it stays: %s", b.Status.Message)
	}
	want := "left are TridentVolume " + w.array.ns + "/pvc-" + string(pvc.UID) + ", which Trident may still make, StorageClass " +
		name + ", TridentBackendConfig " + w.array.ns + "/" + name
	if told := strings.Join(w.rec.events, "\n"); !strings.Contains(told, want) {
		t.Errorf("no event says %q:\n%s", want, told)
	}
	w.array.SetFaults(standin.Faults{})
	w.turns()
	w.wantMade("StorageClass", "TridentBackendConfig", "TridentBackend", "TridentBackendConfig", "TridentBackend")
}

// TestClassAndBackendStayUntilProvisioningIsOver: Trident makes a volume that it was asked for
// though the claim is gone, and without its class the provisioner would leave it there.
func TestClassAndBackendStayUntilProvisioningIsOver(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(*world){
		"WithAVolume":       func(w *world) { w.array.SetFaults(standin.Faults{}) },
		"WithAnError":       func(w *world) { w.array.SetFaults(standin.Faults{Provisioning: "aggregate aggr1 is full"}) },
		"WithAnInterrupted": func(w *world) { w.array.Restart(); w.step(11 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withTrident(t)
			w.create("demo", w.backend())
			w.untilBackends(1)
			w.busy(nil)
			w.turns()
			w.delete("demo")
			w.turns()
			b := w.get("demo")
			if b == nil || !strings.Contains(b.Status.Message, "the provisioning of claim nfsb-demo-data") {
				t.Fatalf("it does not wait for Trident: %+v", b)
			}
			class := &storagev1.StorageClass{}
			if err := w.c.Get(t.Context(), client.ObjectKey{Name: manifest.TridentName(b)}, class); err != nil {
				t.Fatalf("its class is gone: %v", err)
			}
			ends(w)
			w.turns()
			w.array.SetFaults(standin.Faults{})
			w.turns()
			if b := w.get("demo"); b != nil {
				t.Errorf("it stays: %s", b.Status.Message)
			}
			w.wantMade("TridentBackendConfig", "TridentBackend") // of the other
		})
	}
}
