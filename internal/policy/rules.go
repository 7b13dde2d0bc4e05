package policy

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

//go:embed rules.yaml
var rulesFile []byte

// Rule is one condition that every benchmark must meet, in the format of a validation of a ValidatingAdmissionPolicy.
type Rule struct {
	Name              string `json:"name"`
	Expression        string `json:"expression"`        // CEL over object and variables
	MessageExpression string `json:"messageExpression"` // names the field, the limit and the command for an administrator
}

// Checker evaluates the rules. It is safe for concurrent use.
type Checker struct{ rules []compiled }

type compiled struct {
	name             string
	allowed, message cel.Program
}

// celCost bounds one evaluation of a rule, in the units of CEL.
const celCost = 1_000_000

// NewChecker compiles the rules, with the CEL functions of the API server.
func NewChecker() (*Checker, error) {
	var rules []Rule
	if err := yaml.UnmarshalStrict(rulesFile, &rules); err != nil {
		return nil, fmt.Errorf("read the rules of the policy: %w", err)
	}
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).NewExpressionsEnv().Extend(
		cel.Variable("object", cel.DynType), cel.Variable("variables", cel.DynType))
	if err != nil {
		return nil, fmt.Errorf("prepare the rules of the policy: %w", err)
	}
	compile := func(expression string) (cel.Program, error) {
		ast, issues := env.Compile(expression)
		if err := issues.Err(); err != nil {
			return nil, err
		}
		return env.Program(ast, cel.CostLimit(celCost))
	}
	c := &Checker{}
	for _, r := range rules {
		one := compiled{name: r.Name}
		if one.allowed, err = compile(r.Expression); err == nil {
			one.message, err = compile(r.MessageExpression)
		}
		if err != nil {
			return nil, fmt.Errorf("compile rule %s of the policy: %w", r.Name, err)
		}
		c.rules = append(c.rules, one)
	}
	return c, nil
}

// MustChecker returns a Checker for the embedded rules, which the tests compile. It panics on an error.
func MustChecker() *Checker {
	c, err := NewChecker()
	if err != nil {
		panic(err)
	}
	return c
}

// Denied is the error for a benchmark that a rule refuses. Its text names the field, the limit of the policy and the
// command for an administrator.
type Denied struct{ Rule, Message string }

// Error returns the message.
func (d *Denied) Error() string { return d.Message }

// Check returns a *Denied for the first rule that refuses the benchmark, which must have
// its defaults; nil if all allow it. A rule that cannot be evaluated refuses.
func (c *Checker) Check(p Policy, b *v1alpha1.NFSBenchmark) error { return c.check(p, b) }

// CheckVolume returns a *Denied if the nodes may not mount the NFS PersistentVolume that the operator is about to
// create for the benchmark, whatever the origin of its address and path.
func (c *Checker) CheckVolume(p Policy, b *v1alpha1.NFSBenchmark, pv *corev1.PersistentVolume) error {
	// Without the rest of the spec, which may be large: a survey can name thousands of addresses.
	made := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace}}
	made.Spec.Protocol.Client = bench.ClientKernel // a node mounts it for every client
	made.Spec.Storage.Embedded = b.Spec.Storage.Embedded
	if made.Spec.Storage.Embedded == nil {
		made.Spec.Storage.Export = &v1alpha1.ExportStorage{
			Servers: []string{pv.Spec.NFS.Server}, Path: pv.Spec.NFS.Path,
		}
	}
	return c.check(p, made, "exports", "embeddedMount")
}

// CheckClaim returns a *Denied if the class, or the backend that the benchmark names, may not provide the volume of a
// claim that the operator is about to create.
func (c *Checker) CheckClaim(p Policy, b *v1alpha1.NFSBenchmark, pvc *corev1.PersistentVolumeClaim) error {
	made, size := b.DeepCopy(), pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	if t := made.Spec.Storage.Trident; t != nil && t.BackendName != "" { // the class is the operator's
		t.Size = size
	} else {
		made.Spec.Storage = v1alpha1.Storage{StorageClass: &v1alpha1.StorageClassStorage{
			Name: ptr.Deref(pvc.Spec.StorageClassName, ""), Size: size,
		}}
	}
	return c.check(p, made, "claims")
}

// check evaluates the named rules, or all rules without names.
func (c *Checker) check(p Policy, b *v1alpha1.NFSBenchmark, names ...string) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return fmt.Errorf("check the policy: %w", err)
	}
	values, err := asMap(p)
	if err != nil {
		return fmt.Errorf("check the policy: %w", err)
	}
	in := map[string]any{"object": object, "variables": map[string]any{
		"policy": values, "upgrade": p.Upgrade, "values": p.Values,
	}}
	for _, r := range c.rules {
		if len(names) > 0 && !slices.Contains(names, r.name) {
			continue
		}
		allowed, _, err := r.allowed.Eval(in)
		if err != nil {
			return &Denied{r.name, fmt.Sprintf("rule %s of the policy of this cluster cannot be evaluated: %v; ask an "+
				"administrator", r.name, err)}
		}
		if allowed.Value() == true {
			continue
		}
		message, _, err := r.message.Eval(in)
		if err != nil {
			return &Denied{r.name, fmt.Sprintf("rule %s of the policy of this cluster refuses the benchmark: ask an "+
				"administrator", r.name)}
		}
		return &Denied{r.name, fmt.Sprint(message.Value())}
	}
	return nil
}

// asMap returns the policy in the form for CEL, with an empty list instead of an absent one.
func asMap(p Policy) (map[string]any, error) {
	if p.Exports == nil {
		p.Exports = []Export{}
	}
	if p.Backends == nil {
		p.Backends = []Backend{}
	}
	if p.StorageClasses == nil {
		p.StorageClasses = []StorageClass{}
	}
	for _, list := range []*[]string{
		&p.HostNetwork, &p.Embedded.NodeMounts, &p.Pods.Labels, &p.Pods.Annotations, &p.Pods.Tolerations,
		&p.Pods.NodeSelector, &p.Pods.CrossNamespaceAffinity, &p.Pods.PriorityClasses, &p.Pods.RuntimeClasses,
	} {
		if *list == nil {
			*list = []string{}
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, json.Unmarshal(data, &values)
}
