package manifest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"

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
	list := slices.DeleteFunc(pods(objects(t, b)), func(p pod) bool { return p.name == manifest.NamesOf(b).Mount })
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

// databaseOf is the container of the database; nil if the pod has none.
func databaseOf(p pod) *corev1.Container {
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		if c.Name == manifest.ContainerDatabase {
			return &c
		}
	}
	return nil
}

func TestPodsWithADatabaseMeetBaseline(t *testing.T) {
	for name, b := range withDatabase(t) {
		p := loadPod(t, b)
		if no := violations(t, p, api.LevelBaseline); len(no) > 0 {
			t.Errorf("%s: %q", name, no)
		}
	}
	// An image that needs nothing gets nothing: the whole pod is restricted.
	if no := violations(t, loadPod(t, withDatabase(t)["ee19-kernel"]), api.LevelRestricted); len(no) > 0 {
		t.Errorf("Enterprise over the kernel, without setPermissions: %q", no)
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
		c := databaseOf(loadPod(t, b))
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
