package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// clinic is a cluster in which the pods of Jobs answer at once.
type clinic struct {
	*shell
	status    corev1.PodStatus // of the pod of each Job
	created   metav1.Time      // the pod of each Job; zero: too long ago to wait for it
	refuse    error            // for pods
	refuseNFS error            // for pods with a volume of type nfs
	jobs      []batchv1.Job    // that were created
}

func newClinic(t *testing.T, objects ...client.Object) *clinic {
	t.Helper()
	c := &clinic{shell: newShell(t, objects...)}
	c.answer(runfile.Check{Check: "Direct NFS", Result: runfile.CheckOK, Message: "on"})
	c.client = interceptor.NewClient(c.client, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if pod, is := o.(*corev1.Pod); is {
				nfs := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.NFS != nil })
				switch {
				case c.refuse != nil:
					return c.refuse
				case nfs && c.refuseNFS != nil:
					return c.refuseNFS
				}
			}
			if err := w.Create(ctx, o, opts...); err != nil {
				return err
			}
			if job, is := o.(*batchv1.Job); is {
				c.jobs = append(c.jobs, *job.DeepCopy())
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: job.Namespace, Name: job.Name + "-abcde", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
					CreationTimestamp: c.created,
				}, Spec: job.Spec.Template.Spec, Status: c.status}
				return w.Create(ctx, pod)
			}
			return nil
		},
	})
	return c
}

// answer is what the container of the user's image says.
func (c *clinic) answer(checks ...runfile.Check) {
	text, err := runfile.ShortChecks(checks)
	if err != nil {
		c.t.Fatal(err)
	}
	c.status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "database", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(text)}},
	}}}
}

// answerOfArray is what the container that asks the array says, beside the other one.
func (c *clinic) answerOfArray(check runfile.Check) {
	other := c.status.ContainerStatuses[0]
	c.answer(check)
	c.status.ContainerStatuses = append([]corev1.ContainerStatus{other}, c.status.ContainerStatuses...)
}

// TestTheDoctorMountsTheAddressThatTheRunMounts: an export is mounted at the first path that is used.
func TestTheDoctorMountsTheAddressThatTheRunMounts(t *testing.T) {
	t.Parallel()
	c := newClinic(t, inOrder()...)
	c.doctor(gen.Benchmark("x", gen.Calibrate(1), gen.Oracle, gen.Export("/vol/oradata", "10.0.1.61", "10.0.2.61"), gen.Paths([2]string{"", "10.0.2.61"})))
	if len(c.jobs) == 0 {
		t.Fatal("there was no pod")
	}
	for _, v := range c.jobs[0].Spec.Template.Spec.Volumes {
		if v.NFS != nil && v.NFS.Server == "10.0.2.61" && v.NFS.Path == "/vol/oradata" {
			return
		}
	}
	t.Errorf("volumes %+v", c.jobs[0].Spec.Template.Spec.Volumes)
}

// doctor examines a benchmark.
func (c *clinic) doctor(b *v1alpha1.NFSBenchmark, args ...string) outcome {
	c.t.Helper()
	b.Namespace = ""
	text, err := yaml.Marshal(b)
	if err != nil {
		c.t.Fatal(err)
	}
	c.in = string(text)
	o := c.run(append([]string{"doctor", "-f", "-"}, args...)...)
	var jobs batchv1.JobList
	if err := c.client.List(context.WithoutCancel(c.ctx), &jobs); err != nil || len(jobs.Items) > 0 {
		c.t.Errorf("jobs are left: %d, %v", len(jobs.Items), err)
	}
	var benchmarks v1alpha1.NFSBenchmarkList
	if err := c.client.List(context.WithoutCancel(c.ctx), &benchmarks); err != nil || len(benchmarks.Items) > 0 {
		c.t.Errorf("benchmarks were created: %d, %v", len(benchmarks.Items), err)
	}
	return o
}

// TestTheDoctorExaminesALoadWithoutADatabase by the program that would make it.
func TestTheDoctorExaminesALoadWithoutADatabase(t *testing.T) {
	t.Parallel()
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}}
	c := newClinic(t, append(inOrder(), driver, class("driven", driver.Name), class("driverless", "csi.example.org"))...)
	c.answer(runfile.Check{Check: "export", Result: runfile.CheckFail, Message: "no such export"})
	c.answerOfArray(runfile.Check{Check: "array", Result: runfile.CheckFail, Message: "401"})
	array := gen.ONTAP("10.0.9.1", "svm1", "oracle") // its Secret has the label
	c.doctor(gen.Benchmark("x", gen.Export("/vol/oradata", "10.0.1.61"), gen.Clients(8), array)).mustEnd(t, cli.ExitFailed).mustSay(t,
		"OK    policy", "FAIL  array           401", "OK    storage         /vol/oradata at 10.0.1.61", "FAIL  export          no such export", "2 of")
	if len(c.jobs) != 1 || *c.jobs[0].Spec.Parallelism != 1 || *c.jobs[0].Spec.Completions != 1 {
		t.Fatalf("Jobs %+v", c.jobs)
	}
	pod := c.jobs[0].Spec.Template.Spec
	want := []string{"load", "--check", "--plan", "/etc/nfsbench/plan.json", "--answers", "/dev/termination-log"}
	if diff := cmp.Diff(want, pod.Containers[0].Args); diff != "" || len(pod.Containers) != 2 || len(pod.InitContainers) != 0 || pod.ServiceAccountName != "" {
		t.Errorf("pod %+v\n%s", pod, diff)
	}
	if request := c.jobs[0].Spec.Template.Annotations["nfsbench.io/request"]; !strings.Contains(request, "10.0.9.1") || !strings.Contains(request, `"/vol/oradata"`) {
		t.Errorf("the array is asked %s", request)
	}
	closed := newClinic(t, oracleSecret(false, nil), operator(), policyOf(allowAll))
	closed.answerOfArray(runfile.Check{Check: "array", Result: runfile.CheckOK})
	closed.doctor(gen.Benchmark("x", gen.Export("/vol/oradata", "10.0.1.61"), array)).mustSay(t, "FAIL  secret", "WARN  array           it was not asked")
	if len(closed.jobs) != 1 || strings.Contains(fmt.Sprintf("%+v", closed.jobs[0].Spec), "Secret:&") {
		t.Errorf("a Secret is used that benchmarks may not use: %+v", closed.jobs)
	}
	deny := newClinic(t, gold(), policyOf("storageClasses: []"))
	typo := deny.run("doctor", "--storage-class", "golt")
	if typo.mustSay(t, "FAIL  storage"); strings.Contains(typo.out, "policy") {
		t.Errorf("the policy hides the typo:\n%s", typo.out)
	}
	deny.run("doctor", "--storage-class", "gold").mustSay(t, "FAIL  policy")
	for args, says := range map[string]string{
		"--embedded 8Gi":                    "OK    storage         the run starts its own NFS server",
		"--storage-class gold":              `OK    storage         StorageClass "gold" exists`,
		"--storage-class driven":            `OK    storage         StorageClass "driven" exists`,
		"--storage-class driverless":        `WARN  storage         StorageClass "driverless" names the provisioner "csi.example.org", and no CSIDriver`,
		"--storage-class golt":              `FAIL  storage         there is no StorageClass "golt"; did you mean "gold"?`,
		"--export 192.0.2.1:/vol/oradata":   "OK    storage         /vol/oradata at 192.0.2.1",
		"":                                  "nothing to check",
		"-f x.yaml --export 192.0.2.1:/vol": "--export does not go with -f",
	} {
		c.run(append([]string{"doctor"}, strings.Fields(args)...)...).mustSay(t, says)
	}
}

func oracleSecret(allowed bool, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "oracle"}, Data: map[string][]byte{}}
	if allowed {
		s.Labels = map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed}
	}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func operator() client.Object {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "nfsbench-system", Name: "nfsbench"}, Spec: appsv1.DeploymentSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"--image=registry.example/nfsbench:v7"}}}}},
	}}
}

func policyOf(text string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "nfsbench-system", Name: "nfsbench-policy"}, Data: map[string]string{"policy.yaml": text}}
}

const allowAll = `exports: [{server: 10.0.0.0/8, path: /vol, namespaces: ["*"]}]
storageClasses: [{name: "*", namespaces: ["*"]}]
embedded: {maxSize: 100Ti, nodeMounts: ["*"]}`

func gold() client.Object { return class("gold", "example.org/nfs") }

func class(name, provisioner string) client.Object {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
}

func inOrder() []client.Object {
	return []client.Object{gold(), oracleSecret(true, map[string]string{"password": "Abc_123"}), operator(), policyOf(allowAll)}
}

func slobInDatabase(mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	return gen.Benchmark("bench", append([]gen.Mod{gen.SLOB(bench.SLOBRandomRead, 1, 2), gen.Oracle}, mods...)...)
}

func TestABenchmarkWhosePreconditionsAreMetIsHealthy(t *testing.T) {
	t.Parallel()
	c := newClinic(t, inOrder()...)
	o := c.doctor(slobInDatabase()).mustEnd(t, 0)
	for _, want := range []string{
		`OK    benchmark       the API server takes "bench"`, "OK    policy ", "OK    secret ", "OK    storage         /vol/oradata at 10.0.1.61, 10.0.2.61",
		"OK    memory and CPU  sga_target 2048M, pga_aggregate_target 512M, cpu_count 2, of 4 GiB\n", "OK    size            the tables of the load and the database take 2.08 GiB", "OK    namespace ",
		"OK    images          pulled: registry.example/nfsbench:v7, registry.example/oracle:19.3.0.0", "OK    Direct NFS      on\n",
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("no %q in\n%s%s", want, o.out, o.err)
		}
	}
	if len(c.jobs) != 1 || !strings.Contains(fmt.Sprint(c.jobs[0].Spec.Template.Spec.Containers[0].Args), "--min-free 2231369728 ") {
		t.Errorf("jobs %+v", c.jobs)
	}
	huge := gen.OracleMod(func(c *v1alpha1.DatabaseContainer) {
		c.Parameters = map[string]v1alpha1.ParameterValue{"sga_target": "8128M"}
		c.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("4Gi"), "hugepages-2Mi": resource.MustParse("8Gi")}}
	})
	editor := newClinic(t, oracleSecret(true, map[string]string{"password": "Abc_1\r\n"}), operator(), policyOf(allowAll))
	editor.doctor(slobInDatabase()).mustEnd(t, 0).mustSay(t, "has the label and the keys")
	c.doctor(slobInDatabase(huge)).mustEnd(t, 0).mustSay(t, "sga_target 8128M, pga_aggregate_target 512M, cpu_count 2, of 4 GiB and 8 GiB of huge pages\n")
	var got struct{ Checks []runfile.Check }
	if o := c.doctor(slobInDatabase(), "-o", "json").mustEnd(t, 0); json.Unmarshal([]byte(o.out), &got) != nil || len(got.Checks) != 9 {
		t.Errorf("%+v of %s", got, o.out)
	}
}

// TestWhatIsNotMetFailsWithTheFix: each mistake fails one check, and the exit code is 1.
func TestWhatIsNotMetFailsWithTheFix(t *testing.T) {
	t.Parallel()
	password := func(text string) []client.Object {
		return []client.Object{oracleSecret(true, map[string]string{"password": text}), operator(), policyOf(allowAll)}
	}
	bound := func(phase corev1.PersistentVolumeClaimPhase) []client.Object {
		return append(inOrder(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "data"}, Status: corev1.PersistentVolumeClaimStatus{Phase: phase}})
	}
	large := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.SLOB.Scale = resource.MustParse("13Gi") }
	cases := map[string]struct {
		objects []client.Object
		mods    []gen.Mod
		want    string
	}{
		"no Secret":            {objects: []client.Object{operator(), policyOf(allowAll)}, want: `FAIL  secret          there is no Secret "oracle" in namespace "bench", which spec.database.container.passwordSecretRef names: create it with the label`},
		"Secret without label": {objects: []client.Object{oracleSecret(false, nil), operator()}, want: "kubectl -n bench label secret oracle nfsbench.io/allow-use=true"},
		"Secret without key":   {objects: []client.Object{oracleSecret(true, map[string]string{"pw": "x"}), operator()}, want: `has no key "password": create it again`},
		"empty password":       {objects: password(""), want: `has nothing in key "password"`},
		"line break":           {objects: password("Abc\ndef\n"), want: `has a line break within key "password"`},
		"nothing but a line":   {objects: password("\r\n"), want: `has nothing in key "password"`},
		"characters":           {objects: password("a$b"), want: "has other characters than letters, digits and _"},
		"policy":               {objects: []client.Object{oracleSecret(true, map[string]string{"password": "x"}), operator(), policyOf("exports: []")}, want: "FAIL  policy "},
		"memory": {objects: inOrder(), mods: []gen.Mod{gen.OracleMod(func(c *v1alpha1.DatabaseContainer) {
			c.Parameters = map[string]v1alpha1.ParameterValue{"sga_target": "1M"}
		})}, want: "FAIL  memory and CPU  database.container.parameters: sga_target is 1M"},
		"no claim":              {objects: inOrder(), mods: []gen.Mod{gen.Claim("data")}, want: `FAIL  storage         there is no PersistentVolumeClaim "data"`},
		"claim not bound":       {objects: bound(corev1.ClaimPending), mods: []gen.Mod{gen.Claim("data")}, want: "FAIL  storage         claim \"data\" is Pending and not Bound"},
		"too large for Trident": {objects: inOrder(), mods: []gen.Mod{large, gen.TridentClass("gold")}, want: "and storage.trident.size is"},
		"redo too large": {objects: inOrder(), mods: []gen.Mod{gen.TridentClass("gold"), gen.OracleMod(func(c *v1alpha1.DatabaseContainer) {
			c.RedoLogSize = new(resource.MustParse("2Gi"))
		})}, want: "FAIL  size            the tables of the load and the database take 10.1 GiB, and storage.trident.size is 10 GiB: raise it, or lower workload.slob.scale, schemas, redoLogSize or undoSize"},
		"a byte too large": {objects: inOrder(), mods: []gen.Mod{gen.TridentClass("gold"), func(b *v1alpha1.NFSBenchmark) {
			b.Spec.Storage.Trident.Size = *resource.NewQuantity(plan.DatabaseBytes(b)-1, resource.BinarySI)
		}}, want: "take a little more than 2.08 GiB, and storage.trident.size is 2.08 GiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t, tc.objects...)
			o := c.doctor(slobInDatabase(tc.mods...)).mustEnd(t, 1)
			for _, job := range c.jobs {
				if strings.Contains(fmt.Sprintf("%+v", job.Spec.Template.Spec.Volumes), "PersistentVolumeClaim:&") {
					t.Error("the pod waits for a claim that cannot serve")
				}
				if name == "policy" && strings.Contains(fmt.Sprintf("%+v", job.Spec.Template.Spec), "10.0.1.61") {
					t.Error("the pod uses an export that the policy does not allow")
				}
			}
			o.mustSay(t, tc.want, "correct them before you run this benchmark")
			if n := strings.Count("\n"+o.out, "\nFAIL"); n != 1 {
				t.Errorf("%d checks failed:\n%s", n, o.out)
			}
		})
	}
}

func TestTheSecretOfAnExistingDatabaseHasTwoKeys(t *testing.T) {
	t.Parallel()
	b := func() *v1alpha1.NFSBenchmark { return slobInDatabase(gen.External("scan.example:1521/ORCL")) }
	newClinic(t, oracleSecret(true, map[string]string{"password": "a$b"}), operator()).doctor(b()).mustEnd(t, 1).mustSay(t, `has no key "username"`)
	newClinic(t, oracleSecret(true, map[string]string{"username": "sys\nme", "password": "x"}), operator()).doctor(b()).mustEnd(t, 1).mustSay(t, `within key "username"`)
	c := newClinic(t, oracleSecret(true, map[string]string{"username": "sys\n", "password": "a$b\n"}), operator())
	c.doctor(b()).mustEnd(t, 0).mustSay(t, "of the database that exists", "WARN  policy ")
}

// TestAPodThatTellsNothingIsExplained: by the API server, by the kubelet, or by its last words.
func TestAPodThatTellsNothingIsExplained(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	waiting := func(reason string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "database", Image: "registry.example/oracle:19.3.0.0", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "unauthorized"}},
		}}}
	}
	ended := waiting("")
	ended.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "exec format \x1b[31merror"}}
	cases := map[string]struct {
		status corev1.PodStatus
		refuse error
		code   int
		want   string
		never  string
	}{
		"Pod Security":  {refuse: apierrors.NewForbidden(pods, "x", fmt.Errorf(`violates PodSecurity "restricted:latest": (container "database" must set ...)`)), code: 1, want: "namespace bench enforces the Pod Security Standard restricted", never: "images "},
		"quota":         {refuse: apierrors.NewForbidden(pods, "x", fmt.Errorf("exceeded quota: memory")), code: 1, want: "refuses the pods of job nfsbench-doctor: pods \"x\" is forbidden: exceeded quota: memory"},
		"the user":      {refuse: fmt.Errorf("wrapped: %w", apierrors.NewForbidden(pods, "x", fmt.Errorf(`User "joe" cannot create resource "pods" in API group "" in the namespace "bench"`))), want: "WARN  namespace "},
		"image":         {status: waiting("ImagePullBackOff"), code: 1, want: "FAIL  pod             image registry.example/oracle:19.3.0.0 cannot be pulled for container database"},
		"no answer":     {status: ended, code: 1, want: "ended with exit code 2 and gave no answer: exec format ?[31merror", never: "\x1b"},
		"answers, FAIL": {code: 1, want: "FAIL  volume          read only?\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t, inOrder()...)
			c.refuse = tc.refuse
			switch {
			case tc.status.Phase != "":
				c.status = tc.status
			case tc.code == 1:
				c.answer(runfile.Check{Check: "volume", Result: runfile.CheckFail, Message: "read\nonly\x1b"})
			}
			o := c.doctor(slobInDatabase()).mustEnd(t, tc.code)
			o.mustSay(t, tc.want)
			if tc.never != "" && strings.Contains(o.out, tc.never) {
				t.Errorf("%q in\n%s", tc.never, o.out)
			}
		})
	}
}

// TestANamespaceThatRefusesNFSVolumesIsNoFault: the run mounts a claim there.
func TestANamespaceThatRefusesNFSVolumesIsNoFault(t *testing.T) {
	t.Parallel()
	c := newClinic(t, inOrder()...)
	c.refuseNFS = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New(`violates PodSecurity "restricted:latest": restricted volume types (volume "data" uses restricted volume type "nfs")`))
	kernel := gen.Benchmark("x", gen.Kernel, gen.Export("/vol/oradata", "10.0.1.61"), gen.ONTAP("10.0.9.1", "svm1", "oracle"))
	c.doctor(kernel).mustEnd(t, 0).mustSay(t, "WARN  storage         namespace bench refuses a pod with a volume of type nfs", "check that with --claim",
		"WARN  array           it was not asked")
	if len(c.jobs) != 0 {
		t.Errorf("Jobs that look at nothing: %+v", c.jobs)
	}
	c.doctor(slobInDatabase(gen.Kernel)).mustEnd(t, 0).mustSay(t, "WARN  storage ", "OK    namespace ", "OK    Direct NFS")
	c.refuse = c.refuseNFS
	c.doctor(kernel).mustEnd(t, 1).mustSay(t, "FAIL  namespace       the cluster refuses the pods of job nfsbench-doctor")
}

// TestTheDoctorComputesTheTimeOfTheRun, as the operator does.
func TestTheDoctorComputesTheTimeOfTheRun(t *testing.T) {
	t.Parallel()
	c := newClinic(t, operator(), policyOf(allowAll+"\nlimits: {maxHold: 200s}"))
	large := gen.Benchmark("x", gen.Export("/vol/oradata", "10.0.1.61"), func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Raw.FileSize = resource.MustParse("10Ti")
	})
	c.doctor(large).mustEnd(t, 1).mustSay(t, "FAIL  policy          spec.workload.raw.fileSize: writing 2 files of 10Ti",
		"make workload.raw.fileSize smaller")
}

// TestAnInterruptedExaminationRemovesItsJob, as clinic.doctor asserts. Until then it says what the pod waits for.
func TestAnInterruptedExaminationRemovesItsJob(t *testing.T) {
	t.Parallel()
	c := newClinic(t, inOrder()...)
	c.status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "Insufficient\x1b cpu",
	}}}
	c.created = metav1.NewTime(now())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	inner := c.client
	c.ctx = ctx
	looks := 0
	c.client = interceptor.NewClient(inner, interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if _, is := l.(*corev1.PodList); is {
			if looks++; looks == 3 {
				cancel()
			}
		}
		return w.List(ctx, l, o...)
	}})
	o := c.doctor(slobInDatabase())
	if o.code == 0 {
		t.Errorf("exit code 0:\n%s", o.out)
	}
	if strings.Count(o.err, "waiting: no node takes pod") != 1 || !strings.Contains(o.err, "Insufficient? cpu") {
		t.Errorf("what the pod waits for is not said once:\n%s", o.err)
	}
	if len(c.jobs) != 1 {
		t.Errorf("%d jobs were created", len(c.jobs))
	}
}

func TestDoctorNeedsOneBenchmark(t *testing.T) {
	t.Parallel()
	c := newClinic(t, inOrder()...)
	c.run("doctor").mustEnd(t, 2).mustSay(t, "nothing to check")
	c.doctor(slobInDatabase(), "-o", "yaml").mustEnd(t, 2).mustSay(t, "use json")
	c.doctor(slobInDatabase(), "--timeout", "1s").mustEnd(t, 2).mustSay(t, "--timeout is 1s")
	newClinic(t, oracleSecret(true, map[string]string{"password": "x"})).doctor(slobInDatabase()).mustEnd(t, 2).mustSay(t, "give --image")
}

// TestTheAnswersOfAllContainersAreWaitedFor: the array may answer after the export.
func TestTheAnswersOfAllContainersAreWaitedFor(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.answerOfArray(runfile.Check{Check: "array", Result: runfile.CheckOK})
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 2)}, Status: c.status}
	ended := pod.Status.ContainerStatuses[1].State
	for name, change := range map[string]func(){
		"runs":      func() { pod.Status.ContainerStatuses[1].State = corev1.ContainerState{} },
		"not there": func() { pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:1] },
	} {
		pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:2]
		pod.Status.ContainerStatuses[1].State = ended
		d := &doctor{}
		if change(); d.readAnswers(pod) || len(d.checks) > 0 {
			t.Errorf("%s: %+v", name, d.checks)
		}
	}
	pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:2]
	pod.Status.ContainerStatuses[1].State = ended
	if d := (&doctor{}); !d.readAnswers(pod) || len(d.checks) != 3 {
		t.Errorf("%+v", d.checks)
	}
}
