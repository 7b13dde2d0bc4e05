package manifest_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/kit/golden"
	"github.com/nfsbench/nfsbench/test/kit/repository"
)

// violations are the reasons for which a level of the Pod Security Standards refuses a pod.
func violations(t *testing.T, p pod, level api.Level) (out []string) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &p.meta, &p.spec) {
		if !r.Allowed {
			out = append(out, r.ForbiddenReason+": "+r.ForbiddenDetail)
		}
	}
	return out
}

// levelOf is the strictest Pod Security Standard that a pod meets.
func levelOf(t *testing.T, p pod) string {
	t.Helper()
	for _, level := range []api.Level{api.LevelRestricted, api.LevelBaseline} {
		if len(violations(t, p, level)) == 0 {
			return string(level)
		}
	}
	return string(api.LevelPrivileged)
}

// TestAPlatformMayAssignTheUser holds pods to what the SCC restricted-v2 of OpenShift demands
// beyond the restricted standard: no user, no group of volumes, so that it sets its own.
func TestAPlatformMayAssignTheUser(t *testing.T) {
	t.Parallel()
	assigned := images()
	assigned.AssignedUser = true
	for name, b := range inputs(t) {
		if b.Spec.Database != nil {
			continue
		}
		for _, p := range pods(objectsOf(t, b, assigned)) {
			if level := levelOf(t, p); level != "restricted" {
				t.Errorf("%s: pod %s is %s", name, p.name, level)
			}
			if s := p.spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || !*s.RunAsNonRoot {
				t.Errorf("%s: pod %s runs as %+v", name, p.name, s)
			}
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				if s := c.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil {
					t.Errorf("%s: container %s of pod %s runs as %+v", name, c.Name, p.name, s)
				}
			}
		}
	}
}

// grant has the fields of a SecurityContextConstraints of OpenShift that decide about our pods.
type grant struct {
	Kind                     string              `json:"kind"`
	AllowPrivilegeEscalation bool                `json:"allowPrivilegeEscalation"`
	AllowedCapabilities      []corev1.Capability `json:"allowedCapabilities"`
	FSGroup                  groupRange          `json:"fsGroup"`
	SupplementalGroups       groupRange          `json:"supplementalGroups"`
	RunAsUser                struct {
		Type string `json:"type"`
	} `json:"runAsUser"`
	SeccompProfiles []string `json:"seccompProfiles"`
	Volumes         []string `json:"volumes"`
}

type groupRange struct {
	Ranges []struct {
		Min int64 `json:"min"`
		Max int64 `json:"max"`
	} `json:"ranges"`
}

func (g groupRange) has(id int64) bool {
	for _, r := range g.Ranges {
		if r.Min <= id && id <= r.Max {
			return true
		}
	}
	return false
}

// refusals are the reasons for which OpenShift refuses a pod with this grant.
func (g grant) refusals(t *testing.T, p pod) []string {
	t.Helper()
	out := g.refusesContext(p.spec.SecurityContext)
	for _, v := range p.spec.Volumes {
		if kind := kindOfVolume(t, v); !slices.Contains(g.Volumes, kind) {
			out = append(out, "volume "+kind)
		}
	}
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		if *c.SecurityContext.AllowPrivilegeEscalation && !g.AllowPrivilegeEscalation {
			out = append(out, c.Name+" escalates")
		}
		for _, add := range c.SecurityContext.Capabilities.Add {
			if !slices.Contains(g.AllowedCapabilities, add) {
				out = append(out, c.Name+" adds "+string(add))
			}
		}
	}
	return out
}

func (g grant) refusesContext(of *corev1.PodSecurityContext) []string {
	var out []string
	if g.RunAsUser.Type != "RunAsAny" {
		out = append(out, "user")
	}
	if of.FSGroup == nil || !g.FSGroup.has(*of.FSGroup) {
		out = append(out, "fsGroup")
	}
	for _, id := range of.SupplementalGroups {
		if !g.SupplementalGroups.has(id) {
			out = append(out, fmt.Sprint("supplemental group ", id))
		}
	}
	if of.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || !slices.Contains(g.SeccompProfiles, "runtime/default") {
		out = append(out, "seccomp")
	}
	return out
}

// kindOfVolume is the name of its source, which is also the one that OpenShift uses.
func kindOfVolume(t *testing.T, v corev1.Volume) string {
	t.Helper()
	raw, err := yaml.Marshal(v.VolumeSource)
	if err != nil {
		t.Fatal(err)
	}
	kind, _, _ := strings.Cut(string(raw), ":")
	return kind
}

// TestTheGrantOfTheDocumentationAdmitsDatabases also holds that each capability and each kind
// of volume in it is one that some pod needs.
func TestTheGrantOfTheDocumentationAdmitsDatabases(t *testing.T) {
	t.Parallel()
	_, text, found := strings.Cut(string(securityPage(t)), "```yaml\napiVersion: security.openshift.io/v1\n")
	text, _, ends := strings.Cut(text, "```\n")
	if !found || !ends {
		t.Fatal("docs/security.md has no SecurityContextConstraints")
	}
	g := grant{}
	if err := yaml.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{}
	for name, b := range withDatabase(t) {
		p := loadPod(t, b)
		if no := g.refusals(t, p); len(no) > 0 {
			t.Errorf("%s is refused: %q", name, no)
		}
		for _, no := range (grant{}).refusals(t, p) {
			fields := strings.Fields(no)
			needed[fields[len(fields)-1]] = true
		}
	}
	for _, c := range g.AllowedCapabilities {
		if !needed[string(c)] {
			t.Errorf("no pod needs the capability %s", c)
		}
	}
	for _, v := range g.Volumes {
		if !needed[v] {
			t.Errorf("no pod needs volumes of the kind %s", v)
		}
	}
	if g.AllowPrivilegeEscalation && !needed["escalates"] {
		t.Error("no pod escalates its privileges")
	}
}

func securityPage(t *testing.T) []byte {
	t.Helper()
	file, err := repository.Path("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file) //nolint:gosec // of the repository
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const (
	tableBegin = "<!-- pods: written by go test ./internal/manifest -update -->\n"
	tableEnd   = "<!-- end of pods -->\n"
	// declaredUser stands for protocol.userID in the table.
	declaredUser = int64(1234)
)

// TestTheTableOfPodsIsTrue compares the table in docs/security.md with the pods.
func TestTheTableOfPodsIsTrue(t *testing.T) {
	file, err := repository.Path("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	text := securityPage(t)
	before, rest, begins := bytes.Cut(text, []byte(tableBegin))
	_, after, ends := bytes.Cut(rest, []byte(tableEnd))
	if !begins || !ends {
		t.Fatalf("docs/security.md has no lines %q and %q", tableBegin, tableEnd)
	}
	golden.Compare(t, file, slices.Concat(before, []byte(tableBegin+tableOfPods(t)+tableEnd), after))
}

// tableOfPods has a row for each container. Where pods of several benchmarks differ, a cell
// has all values.
func tableOfPods(t *testing.T) string {
	t.Helper()
	var order []string
	rows := map[string][]map[string]bool{}
	add := func(name string, p pod) {
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			key := name + " | `" + c.Name + "`"
			values := append(securityOf(p, c), levelOf(t, p))
			if rows[key] == nil {
				order = append(order, key)
				rows[key] = make([]map[string]bool, len(values))
			}
			for i, v := range values {
				if rows[key][i] == nil {
					rows[key][i] = map[string]bool{}
				}
				rows[key][i][v] = true
			}
		}
	}
	add("manager", managerPod(t))
	all := inputs(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := all[name]
		b.Spec.Protocol.UserID, b.Spec.Protocol.GroupID = new(declaredUser), new(declaredUser)
		for _, p := range pods(objects(t, b)) {
			add(nameOfPod(b, p), p)
		}
	}
	var out strings.Builder
	out.WriteString("| pod | container | user | capabilities | root file system | escalation | seccomp | " +
		"service account | token | standard |\n|---|---|---|---|---|---|---|---|---|---|\n")
	slices.SortStableFunc(order, func(a, b string) int {
		podA, _, _ := strings.Cut(a, " | ")
		podB, _, _ := strings.Cut(b, " | ")
		return strings.Compare(podA, podB)
	})
	for _, key := range order {
		out.WriteString("| " + key)
		for _, values := range rows[key] {
			out.WriteString(" | " + strings.Join(slices.Sorted(maps.Keys(values)), " or "))
		}
		out.WriteString(" |\n")
	}
	return out.String()
}

func nameOfPod(b *v1alpha1.NFSBenchmark, p pod) string {
	name := p.meta.Labels[manifest.LabelComponent]
	switch d := b.Spec.Database; {
	case d == nil || name != manifest.ComponentLoad:
		return name
	case d.External != nil:
		return name + ", `database.external`"
	default:
		return name + ", `database.container`"
	}
}

// managerPod is the one of kustomize. test/chart holds the chart's to the same context.
func managerPod(t *testing.T) pod {
	t.Helper()
	file, err := repository.Path("config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file) //nolint:gosec // of the repository
	if err != nil {
		t.Fatal(err)
	}
	d := appsv1.Deployment{}
	documents := strings.Split(string(text), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &d); err != nil {
		t.Fatal(err)
	}
	if d.Kind != "Deployment" {
		t.Fatalf("%s ends with a %s", file, d.Kind)
	}
	return pod{d.Name, d.Spec.Template.ObjectMeta, d.Spec.Template.Spec}
}

// securityOf are the cells of a container: what Kubernetes takes from it and its pod.
func securityOf(p pod, c corev1.Container) []string {
	s, of := c.SecurityContext, p.spec.SecurityContext
	user := of.RunAsUser
	if s.RunAsUser != nil {
		user = s.RunAsUser
	}
	seccomp := of.SeccompProfile
	if s.SeccompProfile != nil {
		seccomp = s.SeccompProfile
	}
	root := "writable"
	if s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem {
		root = "read-only"
	}
	account := "`default`"
	if a := p.spec.ServiceAccountName; a != "" {
		account = "`" + strings.Replace(a, "nfsb-demo-", "nfsb-NAME-", 1) + "`"
	}
	return []string{
		userName(user), capabilities(s.Capabilities), root, yesNo(s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation),
		string(seccomp.Type), account, yesNo(hasToken(p, c)),
	}
}

func userName(user *int64) string {
	switch {
	case user == nil:
		return "of the image"
	case *user == declaredUser:
		return "`userID`"
	case *user == 0:
		return "**root**"
	default:
		return strconv.FormatInt(*user, 10)
	}
}

func capabilities(c *corev1.Capabilities) string {
	switch {
	case c == nil || len(c.Drop) == 0:
		return "default"
	case !slices.Contains(c.Drop, "ALL"):
		return fmt.Sprintf("default without (%s)", names(c.Drop))
	case len(c.Add) > 0:
		return "only " + names(c.Add)
	default:
		return "none"
	}
}

func names(list []corev1.Capability) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// hasToken says whether a container can read a token: mounted by Kubernetes, or by us.
func hasToken(p pod, c corev1.Container) bool {
	if auto := p.spec.AutomountServiceAccountToken; auto == nil || *auto {
		return true
	}
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		at := slices.IndexFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		projected := p.spec.Volumes[at].Projected
		return projected != nil && slices.ContainsFunc(projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil
		})
	})
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
