package manifest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/test/gen"
)

const (
	enterprise19   = "container-registry.oracle.com/database/enterprise:19.3.0.0"
	databaseSecret = "database-credentials"
)

type containerMod = func(*v1alpha1.DatabaseContainer)

func memoryLimit(size string) containerMod {
	return func(c *v1alpha1.DatabaseContainer) {
		c.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}}
	}
}

// databaseInputs are the benchmarks with a database, by name: each image that is
// known, with both clients.
func databaseInputs() map[string][]gen.Mod {
	tuned := func(c *v1alpha1.DatabaseContainer) {
		c.SID, c.PDB = "BENCH", "SLOB"
		c.Parameters = map[string]v1alpha1.ParameterValue{"db_cache_size": "40M", "sga_target": "554M"}
		c.Environment = map[string]string{"ORACLE_CHARACTERSET": "AL32UTF8", "INIT_SGA_SIZE": "3000"}
		shm := resource.MustParse("1Gi")
		c.SharedMemory, c.SetPermissions, c.ShutdownTimeoutSeconds = &shm, bench.Disabled, 300
	}
	own := func(c *v1alpha1.DatabaseContainer) {
		c.Command, c.HealthCommand = []string{"/start.sh", "a b"}, []string{"/health.sh"}
	}
	free := func(ref string, mods ...containerMod) gen.Mod {
		return gen.Container(ref, v1alpha1.EditionFree, mods...)
	}
	scan := gen.SLOB(bench.SLOBFullTableScan, 1, 4)
	return map[string][]gen.Mod{
		"native-calibrate":   {gen.Calibrate(1)},
		"native-slob-kernel": {gen.Kernel, gen.SLOB(bench.SLOBRandomRead, 1, 2, 4)},
		"ee19-direct":        {gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise, memoryLimit("8Gi"))},
		"ee19-redo":          {gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise), gen.RedoPath("/vol/oraredo")},
		"ee19-kernel":        {gen.Kernel, scan, gen.Kit("kit", "SLOB"), gen.Container(enterprise19, v1alpha1.EditionStandard, tuned)},
		"free23-direct":      {gen.Calibrate(1), free("container-registry.oracle.com/database/free:23.7.0.0")},
		"free26-kernel":      {gen.Kernel, scan, free("container-registry.oracle.com/database/free:latest", memoryLimit("4Gi"))},
		"own-pnfs":           {gen.Version(bench.PNFS), gen.Calibrate(1), free("registry.example/oracle-free:23", own)},
		"ee19-claim":         {gen.Claim("data"), gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise)},
		"external-rac":       {scan, gen.External("scan.example:1521/ORCL", "rac1.example:1521/slob1", "rac2.example:1521/slob2"), gen.MountedAt("/u02/oradata")},
		"external-kernel":    {gen.Kernel, gen.Calibrate(1), gen.External("db1.example:1521/ORCL")},
	}
}

// withoutPrivileged leaves out the two containers of a pod that no standard but
// baseline allows.
func withoutPrivileged(spec *corev1.PodSpec) {
	spec.InitContainers = slices.DeleteFunc(slices.Clone(spec.InitContainers), func(c corev1.Container) bool {
		return c.Name == manifest.ContainerDatabase || c.Name == manifest.ContainerPermissions
	})
}

// loadPod is the pod of a run with a database.
func loadPod(t *testing.T, b *v1alpha1.NFSBenchmark) pod {
	t.Helper()
	list := pods(objects(t, b))
	if len(list) != 1 || list[0].name != manifest.NamesOf(b).Load {
		t.Fatalf("%d pods: a run in a database cleans nothing up", len(list))
	}
	return list[0]
}

func withDatabase(t *testing.T) map[string]*v1alpha1.NFSBenchmark {
	t.Helper()
	out := inputs(t)
	for name, b := range out {
		if b.Spec.Database == nil {
			delete(out, name)
		}
	}
	if len(out) < 9 {
		t.Fatalf("%d benchmarks with a database only", len(out))
	}
	return out
}

func find(t *testing.T, p pod, name string) *corev1.Container {
	t.Helper()
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		if c.Name == name {
			return &c
		}
	}
	return nil
}

func TestPodsWithADatabaseMeetBaseline(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(p pod, level api.Level) (out []string) {
		for _, r := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &p.meta, &p.spec) {
			if !r.Allowed {
				out = append(out, r.ForbiddenReason+": "+r.ForbiddenDetail)
			}
		}
		return out
	}
	for name, b := range withDatabase(t) {
		p := loadPod(t, b)
		if no := allowed(p, api.LevelBaseline); len(no) > 0 {
			t.Errorf("%s: %v", name, no)
		}
	}
	// An image that needs nothing gets nothing: the whole pod is restricted.
	if no := allowed(loadPod(t, withDatabase(t)["ee19-kernel"]), api.LevelRestricted); len(no) > 0 {
		t.Errorf("Enterprise over the kernel, without setPermissions: %v", no)
	}
}

func TestOnlyWhoNeedsItMayEscalate(t *testing.T) {
	want := map[string]bool{
		"ee19-direct": true, "ee19-redo": true, "ee19-kernel": false, "ee19-claim": true, "free23-direct": true, "free26-kernel": true, "own-pnfs": true,
	}
	got := map[string]bool{}
	all := withDatabase(t)
	xe := all["ee19-kernel"].DeepCopy()
	xe.Spec.Database.Container.Edition = v1alpha1.EditionExpress
	all["xe21-kernel"], want["xe21-kernel"] = xe, true
	for name, b := range all {
		c := find(t, loadPod(t, b), manifest.ContainerDatabase)
		if c == nil {
			continue
		}
		s := c.SecurityContext
		got[name] = *s.AllowPrivilegeEscalation
		// The defaults of a runtime add nothing, and those of a narrow one take nothing away.
		var add []corev1.Capability
		if got[name] {
			add = []corev1.Capability{"SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "NET_BIND_SERVICE", "AUDIT_WRITE"}
		}
		if s.Privileged != nil || !slices.Equal(s.Capabilities.Add, add) || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.RunAsUser != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("escalation (-want +got):\n%s", diff)
	}
}

func TestTheContainersOfAPodWithADatabase(t *testing.T) {
	container := []string{"tools", "permissions", "collector", "database", "loader"}
	orders := map[string][]string{
		"ee19-direct": container, "ee19-redo": container, "ee19-claim": container, "free23-direct": container, "free26-kernel": container, "own-pnfs": container,
		"ee19-kernel":     {"tools", "collector", "database", "loader"}, // permissions are not wanted
		"external-rac":    {"tools", "collector", "loader"},
		"external-kernel": {"tools", "collector", "loader"},
	}
	for name, b := range withDatabase(t) {
		p := loadPod(t, b)
		var got []string
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			got = append(got, c.Name)
			sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
			if sidecar != (c.Name == "collector" || c.Name == "database") {
				t.Errorf("%s: %s is a sidecar: %t", name, c.Name, sidecar)
			}
		}
		if !slices.Equal(got, orders[name]) {
			t.Errorf("%s: containers %q, want %q", name, got, orders[name])
		}
		s := p.spec.SecurityContext
		if *s.RunAsUser != 54321 || *s.RunAsGroup != 54321 || *s.FSGroup != 54321 || !slices.Equal(s.SupplementalGroups, []int64{54322}) || !*s.RunAsNonRoot {
			t.Errorf("%s: the pod runs as %+v", name, s)
		}
		if len(p.spec.Containers) != 1 {
			t.Errorf("%s: %d main containers", name, len(p.spec.Containers))
		}
	}
}

// TestEachDatabaseHasTheSameValidHostName in each benchmark: the images keep it on the volume. The
// controller of Indexed Jobs replaces the host name of the template, so the Job must not be one.
func TestEachDatabaseHasTheSameValidHostName(t *testing.T) {
	build := func(b *v1alpha1.NFSBenchmark) *batchv1.Job {
		p, err := plan.Build(b, plan.Target{Export: "/x", Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}}})
		if err != nil {
			t.Fatal(err)
		}
		return manifest.LoadJob(b, p, "data", images())
	}
	seen := map[string]bool{}
	for name, b := range withDatabase(t) {
		b.Name += name
		job := build(b)
		host, mode := job.Spec.Template.Spec.Hostname, *job.Spec.CompletionMode
		if b.Spec.Database.Container == nil {
			if host != "" || mode != batchv1.IndexedCompletion {
				t.Errorf("%s: host name %q of a pod without a database, completion %s", name, host, mode)
			}
			continue
		}
		seen[host] = true
		if mode != batchv1.NonIndexedCompletion || *job.Spec.Completions != 1 || *job.Spec.Parallelism != 1 {
			t.Errorf("%s: %s completion of %d pods", name, mode, *job.Spec.Completions)
		}
		if bad := validation.IsDNS1123Label(host); len(bad) > 0 { // Oracle takes no underscore either
			t.Errorf("%s: host name %q: %q", name, host, bad)
		}
	}
	if len(seen) != 1 {
		t.Errorf("host names %v, want one", seen)
	}
}

// mounts are the volumes of a container by where they are, with rw or ro.
func mounts(c *corev1.Container) map[string]string {
	out := map[string]string{}
	for _, m := range c.VolumeMounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		out[m.MountPath] = strings.TrimSuffix(m.Name+":"+m.SubPath, ":") + " " + mode
	}
	return out
}

func TestWhatEachContainerSees(t *testing.T) {
	all := withDatabase(t)
	const data = "/opt/oracle/oradata"
	with := func(more map[string]string) map[string]string {
		out := map[string]string{"/etc/nfsbench": "plan ro", "/run/nfsbench": "run rw"}
		maps.Copy(out, more)
		return out
	}
	loader := map[string]string{"/opt/nfsbench": "tools ro", "/etc/nfsbench-database": "database-credentials ro", "/tmp": "tmp rw"}
	cases := map[string]map[string]map[string]string{
		"ee19-direct": {
			"tools":       {"/opt/nfsbench": "tools rw"},
			"permissions": {data: "data rw"},
			"collector":   with(map[string]string{data: "data ro", "/var/run/secrets/kubernetes.io/serviceaccount": "token ro"}),
			"database":    {"/opt/nfsbench": "tools ro", "/run/nfsbench": "run rw", "/dev/shm": "memory rw", "/etc/oranfstab": "plan:oranfstab ro", "/etc/nfsbench": "plan ro", data: "data rw"},
			"loader":      with(map[string]string{"/opt/nfsbench": "tools ro", "/etc/nfsbench-database": "database-credentials ro", "/tmp": "tmp rw", data: "data ro"}),
		},
		"ee19-kernel": {
			"database": {"/opt/nfsbench": "tools ro", "/run/nfsbench": "run rw", "/dev/shm": "memory rw", data: "data rw", "/opt/slob": "kit ro"},
			"loader":   with(map[string]string{"/opt/nfsbench": "tools ro", "/etc/nfsbench-database": "database-credentials ro", "/tmp": "tmp rw", data: "data ro", "/opt/slob": "kit ro"}),
		},
		"external-rac": {"loader": with(loader), "tools": {"/opt/nfsbench": "tools rw"}},
	}
	for name, containers := range cases {
		p := loadPod(t, all[name])
		for c, want := range containers {
			if diff := cmp.Diff(want, mounts(find(t, p, c))); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, c, diff)
			}
		}
	}
}

func TestThePasswordIsReadAndNeverWritten(t *testing.T) {
	for name, b := range withDatabase(t) {
		p := loadPod(t, b)
		want := []corev1.KeyToPath{{Key: "password", Path: "password"}}
		if b.Spec.Database.External != nil {
			want = []corev1.KeyToPath{{Key: "username", Path: "username"}, {Key: "password", Path: "password"}}
		}
		at := slices.IndexFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.Name == databaseSecret })
		if at < 0 {
			t.Fatalf("%s: nobody gets the password", name)
		}
		if v := p.spec.Volumes[at].Secret; v.SecretName != "oracle" || !cmp.Equal(v.Items, want) || *v.DefaultMode != 0o440 {
			t.Errorf("%s: secret %+v", name, v)
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			if sees := mounts(&c)["/etc/nfsbench-database"] != ""; sees != (c.Name == "loader") {
				t.Errorf("%s: container %s sees the password: %t", name, c.Name, sees)
			}
			var refs []string
			for _, e := range c.Env {
				if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
					refs = append(refs, fmt.Sprintf("%s=%s/%s", e.Name, e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key))
				}
			}
			switch {
			case c.Name != "database" && len(refs) > 0, c.Name == "database" && len(refs) != 1:
				t.Errorf("%s: container %s has secrets %q", name, c.Name, refs)
			case c.Name == "database" && refs[0] != "ORACLE_PWD=oracle/password":
				t.Errorf("%s: the image is told %q", name, refs)
			}
		}
	}
	other := gen.Container(enterprise19, v1alpha1.EditionEnterprise, func(c *v1alpha1.DatabaseContainer) { c.PasswordSecretRef.Key = "sys" })
	raw, err := json.Marshal(loadPod(t, gen.Benchmark("demo", gen.Calibrate(1), other)).spec)
	if err != nil || !strings.Contains(string(raw), `"items":[{"key":"sys","path":"password"}]`) || !strings.Contains(string(raw), `{"name":"oracle","key":"sys"}`) {
		t.Errorf("the key of the user's Secret is lost: %s", raw)
	}
}

func TestTheEnvironmentOfEachImage(t *testing.T) {
	want := map[string]string{
		"ee19-direct":   "INIT_CPU_COUNT=2 INIT_PGA_SIZE=1024 INIT_SGA_SIZE=4096 ORACLE_EDITION=enterprise ORACLE_PDB=ORCLPDB1 ORACLE_SID=ORCLCDB",
		"ee19-kernel":   "INIT_CPU_COUNT=2 INIT_PGA_SIZE=512 INIT_SGA_SIZE=3000 ORACLE_CHARACTERSET=AL32UTF8 ORACLE_EDITION=standard ORACLE_PDB=SLOB ORACLE_SID=BENCH",
		"free23-direct": "",
	}
	all := withDatabase(t)
	for name, list := range want {
		var got []string
		for _, e := range find(t, loadPod(t, all[name]), "database").Env[1:] {
			got = append(got, e.Name+"="+e.Value)
		}
		if s := strings.Join(got, " "); s != list {
			t.Errorf("%s: %s, want %s", name, s, list)
		}
	}
}

func TestHowADatabaseIsStartedWatchedAndStopped(t *testing.T) {
	all := withDatabase(t)
	p := loadPod(t, all["ee19-direct"])
	c := find(t, p, "database")
	wantArgs := []string{
		"database", "--run-dir", "/run/nfsbench", "--direct-nfs=true", "--sid", "ORCLCDB", "--data", "/opt/oracle/oradata",
		"--owner", "bench/demo (UID 9d1f8b1e-0000-4000-8000-000000000001)", "--startup-timeout", "2700s", "--shutdown-timeout", "120s",
		"--export", "/vol/oradata", "--plan", "/etc/nfsbench/plan.json",
	}
	if !slices.Equal(c.Args, wantArgs) || !slices.Equal(c.Command, []string{"/opt/nfsbench/nfsbench"}) || c.Image != enterprise19 {
		t.Errorf("%s: %q %q", c.Image, c.Command, c.Args)
	}
	pr := c.StartupProbe
	checks := []string{"/opt/nfsbench/nfsbench", "database", "--check", "--run-dir", "/run/nfsbench"}
	if !slices.Equal(pr.Exec.Command, checks) || pr.PeriodSeconds != 10 || pr.FailureThreshold != 276 || pr.TimeoutSeconds < 10 {
		t.Errorf("probe %+v of %q", pr, pr.Exec.Command)
	}
	if got := *p.spec.TerminationGracePeriodSeconds; got != 180 {
		t.Errorf("killed after %d s", got)
	}
	if got := *loadPod(t, all["ee19-kernel"]).spec.TerminationGracePeriodSeconds; got != 360 {
		t.Errorf("killed after %d s, with 300 s to shut down", got)
	}
	own := find(t, loadPod(t, all["own-pnfs"]), "database")
	if tail := own.Args[len(own.Args)-4:]; !slices.Equal(tail, []string{"--start-command", `["/start.sh","a b"]`, "--health-command", `["/health.sh"]`}) {
		t.Errorf("the user's commands are handed over as %q", tail)
	}
	kernel := find(t, loadPod(t, all["free26-kernel"]), "database")
	if !slices.Contains(kernel.Args, "--direct-nfs=false") {
		t.Errorf("arguments %q", kernel.Args)
	}
}

func TestTheLoaderRunsWhereOraclesClientIs(t *testing.T) {
	for name, b := range withDatabase(t) {
		c := find(t, loadPod(t, b), "loader")
		image := "registry.example/instantclient:23"
		if d := b.Spec.Database.Container; d != nil {
			image = d.Image
		}
		want := []string{"--plan", "/etc/nfsbench/plan.json", "--run-dir", "/run/nfsbench", "--password-file", "/etc/nfsbench-database/password"}
		if b.Spec.Database.External != nil {
			want = append(want, "--user-file", "/etc/nfsbench-database/username")
		}
		if c.Image != image || !slices.Equal(c.Command, []string{"/opt/nfsbench/oraload"}) || !slices.Equal(c.Args, want) {
			t.Errorf("%s: %s %q %q", name, c.Image, c.Command, c.Args)
		}
	}
}
