package diagnose_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// patient is the grace of a benchmark whose database has 45 minutes.
func patient() diagnose.Grace {
	g := diagnose.DefaultGrace()
	g.Database = 45 * time.Minute
	return g
}

func databaseIs(st corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Namespace = "bench"
		st.Name, st.Image = "database", "sha256:0123"
		p.Spec.InitContainers = []corev1.Container{{Name: "collector"}, {Name: "database", Image: "container-registry.oracle.com/database/enterprise:19.3.0.0"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{
			{Name: "collector", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(born)}}}, st,
		}
	}
}

// since is a database whose container has run since the tenth second.
func since(ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Started: &ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(born.Add(10 * time.Second))}},
	}
}

// ended is a database that the kubelet has started again after it ran for so
// long.
func ended(code int32, reason, message string, ran time.Duration) corev1.ContainerStatus {
	from := born.Add(10 * time.Second)
	return corev1.ContainerStatus{
		RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, Message: message, StartedAt: metav1.NewTime(from), FinishedAt: metav1.NewTime(from.Add(ran)),
		}},
	}
}

func loaderEnded(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "loader", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: born} }

func TestADatabaseIsGivenTheTimeThatItHasAndNoMore(t *testing.T) {
	oradism := "time=2026-11-22 level=INFO msg=x\nnfsbench: OradismNotSetuid: /opt/oracle/bin/oradism is not setuid root: run root.sh in the image\n"
	cases := map[string]struct {
		reason string
		pod    corev1.Pod
		after  time.Duration
		want   string
		fatal  bool
		says   []string
	}{
		"Creating":    {"Half an hour is not long for DBCA", pod(databaseIs(since(false))), 44 * time.Minute, "", false, nil},
		"AlmostLate":  {"Its own program may say why a minute later", pod(databaseIs(since(false))), 46 * time.Minute, "", false, nil},
		"Late":        {"Nothing comes from it any more", pod(databaseIs(since(false))), 46*time.Minute + 11*time.Second, runfile.FailureDatabaseNotReady, true, []string{"not ready within 45m0s", "startupTimeoutSeconds", "spec.cleanup.onFailure Retain to look at its log"}},
		"ReadyLong":   {"Ready is ready", pod(databaseIs(since(true)), loaderRuns), 5 * time.Hour, "", false, nil},
		"Pulling":     {"An image of 9 GB", pod(databaseIs(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}})), 20 * time.Minute, "", false, nil},
		"NeverPulled": {"But not forever", pod(databaseIs(corev1.ContainerStatus{})), 52 * time.Minute, runfile.FailureTimeout, true, []string{"has not started within 51m0s"}},
		"Oradism":     {"Its last words are the reason, at once", pod(databaseIs(ended(1, "Error", oradism, time.Second))), 12 * time.Second, "OradismNotSetuid", true, []string{"oradism is not setuid root: run root.sh"}},
		"StillDown": {
			"Before the kubelet starts it again", pod(databaseIs(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 1, Message: oradism,
			}}})), 12 * time.Second, "OradismNotSetuid", true, nil,
		},
		"StartedAgain": {
			"Once it runs again", pod(databaseIs(func() corev1.ContainerStatus {
				st := ended(1, "Error", oradism, time.Second)
				st.State = since(false).State
				return st
			}())), time.Minute, "OradismNotSetuid", true, nil,
		},
		"Mute":       {"It said nothing that we know", pod(databaseIs(ended(3, "Error", "ORA-00205\nshutdown", time.Minute))), time.Minute, runfile.FailureDatabaseEnded, true, []string{"exit code 3", "ORA-00205 shutdown", "spec.cleanup.onFailure Retain"}},
		"NotAReason": {"A code that is none", pod(databaseIs(ended(3, "Error", "nfsbench: not a code: x", time.Minute))), time.Minute, runfile.FailureDatabaseEnded, true, []string{"not a code"}},
		"Probe":      {"The kubelet ends what its startup probe never found ready", pod(databaseIs(ended(0, "Completed", "", 45*time.Minute))), time.Hour, runfile.FailureDatabaseNotReady, true, []string{"not ready within 45m0s"}},
		"OutOfMemory": {
			"What to do about it", pod(databaseIs(ended(137, "OOMKilled", oradism, time.Minute))), time.Minute,
			runfile.FailureDatabaseEnded, true,
			[]string{"spec.database.container.resources.limits.memory", "SGA"},
		},
		"UnderLoadEarly": {"The load has a word to say itself", pod(databaseIs(ended(1, "Error", "", 50*time.Second)), loaderRuns), 70 * time.Second, runfile.FailureDatabaseEnded, false, nil},
		"UnderLoadLate":  {"Or has not", pod(databaseIs(ended(1, "Error", "", 50*time.Second)), loaderRuns), 91 * time.Second, runfile.FailureDatabaseEnded, true, nil},
		"AfterTheLoad":   {"It is told to stop when the load has ended", pod(databaseIs(ended(143, "Error", "", time.Minute)), loaderEnded, phase(corev1.PodRunning)), time.Hour, "", false, nil},
		"Deleted":        {"And when the pod is deleted", pod(databaseIs(ended(143, "Error", "", time.Minute)), deleted, phase(corev1.PodRunning)), time.Hour, "", false, nil},
		"Image": {
			"Whose image, and what Oracle's registry wants", pod(databaseIs(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "unauthorized"}}})),
			31 * time.Second, v1alpha1.ReasonImagePullFailed, true,
			[]string{"spec.database.container.image", "imagePullSecrets", "wants a login", "unauthorized"},
		},
		"Permissions": {
			"What an init container said", pod(phase(corev1.PodFailed), func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "permissions", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 1, Message: "nfsbench: AccessDenied: the export squashes root\n",
				}}}}
			}), time.Second, "AccessDenied", true, []string{"the export squashes root"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, diagnose.Pods([]corev1.Pod{tc.pod}, nil, born.Add(tc.after), patient()), tc.reason, tc.want, tc.fatal, tc.says)
		})
	}
}

func TestAMountThatFailedOnceDoesNotMatterToADatabaseThatIsCreated(t *testing.T) {
	events := []corev1.Event{event("u", "FailedMount", "Unable to attach or mount volumes: timed out")}
	if got := diagnose.Pods([]corev1.Pod{pod(databaseIs(since(false)))}, events, born.Add(10*time.Minute), patient()); got != nil {
		t.Errorf("got %+v", got)
	}
	if got := diagnose.Pods([]corev1.Pod{pod(databaseIs(corev1.ContainerStatus{}), func(p *corev1.Pod) {
		p.Status.InitContainerStatuses[0].State = corev1.ContainerState{}
	})}, events, born.Add(10*time.Minute), patient()); got == nil || got.Reason != v1alpha1.ReasonMountFailed {
		t.Errorf("a pod none of whose containers has run: got %+v", got)
	}
}

// TestABusyKubeletIsNotTakenForAStorageThatRefuses: it tells in the same kind of
// event that it has not seen a ConfigMap yet.
func TestABusyKubeletIsNotTakenForAStorageThatRefuses(t *testing.T) {
	events := []corev1.Event{
		event("u", "FailedMount", `MountVolume.SetUp failed for volume "plan" : failed to sync configmap cache: timed out waiting for the condition`),
		event("u", "FailedMount", `Unable to attach or mount volumes: unmounted volumes=[data plan token]: error processing PVC bench/data: `+
			`failed to fetch PVC from API server: persistentvolumeclaims "data" is forbidden: User "system:node:n1" cannot get resource `+
			`"persistentvolumeclaims" in API group "" in the namespace "bench": no relationship found between node 'n1' and this object`),
	}
	if got := diagnose.Pods([]corev1.Pod{pod()}, events, born.Add(2*time.Minute), diagnose.DefaultGrace()); got != nil {
		t.Errorf("it is taken for %+v", got)
	}
	events = append(events, event("u", "FailedMount", "access denied by server"))
	if got := diagnose.Pods([]corev1.Pod{pod()}, events, born.Add(2*time.Minute), diagnose.DefaultGrace()); got == nil || got.Reason != v1alpha1.ReasonMountFailed {
		t.Errorf("a refusal beside it is overlooked: %+v", got)
	}
}

func TestWhereADatabaseStands(t *testing.T) {
	cases := map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"none":     {[]corev1.Pod{pod(loaderRuns)}, "<nil>"},
		"no pods":  {nil, "<nil>"},
		"waiting":  {[]corev1.Pod{pod(databaseIs(corev1.ContainerStatus{}))}, "runs: false, ready: false"},
		"starting": {[]corev1.Pod{pod(databaseIs(since(false)))}, "runs: true, ready: false, since 10s"},
		"ready":    {[]corev1.Pod{pod(databaseIs(since(true)))}, "runs: true, ready: true, since 10s"},
	}
	for name, tc := range cases {
		got := "<nil>"
		if d := diagnose.DatabaseOf(tc.pods); d != nil {
			got = fmt.Sprintf("runs: %t, ready: %t", d.Running, d.Ready)
			if d.Running {
				got += ", since " + d.Since.Sub(born).String()
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestTheEndOfADatabaseIsExplainedAfterTheLoadToo(t *testing.T) {
	stopped := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	cases := map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"none":          {pod(loaderRuns), ""},
		"runs":          {pod(databaseIs(since(true)), loaderRuns), ""},
		"told to stop":  {pod(databaseIs(stopped), loaderEnded), ""},
		"out of memory": {pod(databaseIs(ended(137, "OOMKilled", "", time.Minute)), loaderEnded), "limits.memory"},
		"ended well":    {pod(databaseIs(ended(0, "Completed", "", time.Minute)), loaderEnded), "exit code 0"},
	}
	for name, tc := range cases {
		got := diagnose.DatabaseEnd([]corev1.Pod{tc.pod})
		if (got == nil) != (tc.want == "") || got != nil && !strings.Contains(got.Message, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}

func TestANamespaceThatRefusesADatabaseIsToldItsLabel(t *testing.T) {
	const told = `pods "x" is forbidden: violates PodSecurity "%s:latest": allowPrivilegeEscalation != false (container %s must set securityContext.allowPrivilegeEscalation=false)`
	cases := map[string]struct {
		level, container string
		database         bool
		says             []string
		silent           string
	}{
		"Restricted":  {"restricted", `"database"`, true, []string{"kubectl label --overwrite namespace bench pod-security.kubernetes.io/enforce=baseline", "oradism", "setuid", "falls back"}, "setPermissions"},
		"Permissions": {"restricted", `"permissions"`, true, []string{"setPermissions", "enforce=baseline"}, "oradism"},
		"Baseline":    {"baseline", `"database"`, true, []string{"enforce=privileged"}, "enforce=baseline"},
		"Other":       {"baseline", `"sidecar-of-a-mesh"`, true, []string{"see what the cluster says", "sidecar-of-a-mesh"}, "oradism"},
		"NoDatabase":  {"restricted", `"loader"`, false, []string{"the cluster refuses the pods of job load", "violates PodSecurity"}, "kubectl label"},
	}
	for name, tc := range cases {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "load", UID: "u", CreationTimestamp: metav1.NewTime(born)}}
		if tc.database {
			job.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "database"}}
		}
		got := diagnose.NoPods(job, []corev1.Event{event("u", "FailedCreate", fmt.Sprintf(told, tc.level, tc.container))}, born.Add(time.Second), patient())
		check(t, got, name, v1alpha1.ReasonPodRefused, false, tc.says)
		if strings.Contains(got.Message, tc.silent) {
			t.Errorf("%s: %q is said, which has nothing to do with it: %s", name, tc.silent, got.Message)
		}
	}
}

func TestASecretOfADatabaseIsMissing(t *testing.T) {
	volume := corev1.Volume{Name: "database-credentials", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "oracle"}}}
	loader := corev1.Container{Name: "loader", VolumeMounts: []corev1.VolumeMount{{Name: volume.Name}}}
	inContainer := func(p *corev1.Pod) {
		databaseIs(corev1.ContainerStatus{})(p)
		p.Status.InitContainerStatuses = nil
		p.Spec.Volumes, p.Spec.Containers = []corev1.Volume{volume}, []corev1.Container{loader}
		p.Spec.InitContainers[1].Env = []corev1.EnvVar{{Name: "ORACLE_PWD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "oracle"},
		}}}}
	}
	external := func(p *corev1.Pod) {
		p.Namespace = "bench"
		p.Spec.Volumes, p.Spec.Containers = []corev1.Volume{volume}, []corev1.Container{loader}
	}
	config := func(message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "database", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: message},
			}}}
		}
	}
	const field, other, array = "spec.database.container.passwordSecretRef", "spec.database.external.credentialsSecretRef", "spec.storage.array"
	cases := map[string]struct {
		pod  corev1.Pod
		told string // in an event; empty = in the state of the container
		want []string
	}{
		"Volume":      {pod(inContainer), `MountVolume.SetUp failed for volume "database-credentials" : secret "oracle" not found`, []string{`no Secret "oracle" in namespace "bench"`, field}},
		"VolumeKey":   {pod(inContainer), `MountVolume.SetUp failed for volume "database-credentials" : references non-existent secret key: password`, []string{`Secret "oracle" in namespace "bench" has no key "password"`, field}},
		"Env":         {pod(inContainer, config(`secret "oracle" not found`)), "", []string{`no Secret "oracle"`, field}},
		"EnvKey":      {pod(inContainer, config(`couldn't find key password in Secret bench/oracle`)), "", []string{`Secret "oracle" in namespace "bench" has no key "password"`, field}},
		"External":    {pod(external), `MountVolume.SetUp failed for volume "database-credentials" : references non-existent secret key: username`, []string{`has no key "username"`, other}},
		"OfTheArray":  {pod(inContainer), `MountVolume.SetUp failed for volume "array" : secret "ontap" not found`, []string{`no Secret "ontap"`, array}},
		"UnknownName": {pod(inContainer), `MountVolume.SetUp failed for volume "mesh" : references non-existent secret key: x`, []string{`Secret "mesh"`, array}},
	}
	for name, tc := range cases {
		var events []corev1.Event
		if tc.told != "" {
			events = append(events, event("u", "FailedMount", tc.told))
		}
		for after, fatal := range map[time.Duration]bool{9 * time.Second: false, 11 * time.Second: true} {
			check(t, diagnose.Pods([]corev1.Pod{tc.pod}, events, born.Add(after), patient()), name, v1alpha1.ReasonSecretNotFound, fatal, tc.want)
		}
	}
}
