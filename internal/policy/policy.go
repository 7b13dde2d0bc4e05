// Package policy decides what the benchmarks of a namespace may use.
//
// An administrator writes the policy in the values of the chart. The rules are CEL
// (rules.yaml), so the API server and the manager evaluate the same text: the API server
// refuses a benchmark when it is created, and the manager before a run begins.
package policy

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"path"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/yamlbound"
)

// MaxBytes bounds the file of a policy.
const MaxBytes = 256 << 10

// Policy is what an administrator allows. Lists that are empty allow nothing.
type Policy struct {
	// Exports are those that the nodes of the cluster may mount for a benchmark. The pods
	// of a benchmark reach every server that they can connect to, so Direct NFS without a
	// database container needs no entry.
	Exports  []Export `json:"exports"`
	Embedded Embedded `json:"embedded"`
	Limits   Limits   `json:"limits"`
}

// Export is a directory of a server, with everything below it.
type Export struct {
	Server     string   `json:"server"`     // address, host name, or network such as 192.0.2.0/24
	Path       string   `json:"path"`       // such as /vol/bench
	Namespaces []string `json:"namespaces"` // that may use it; "*" is every namespace
}

// Embedded bounds the NFS servers that the operator runs.
type Embedded struct {
	MaxSize string `json:"maxSize"` // a quantity, such as 50Gi
}

// Limits bound one benchmark.
type Limits struct {
	Clients int32 `json:"clients"` // load pods
}

// Default is the policy of a manager that has no file.
func Default() Policy {
	return Policy{Embedded: Embedded{MaxSize: "50Gi"}, Limits: Limits{Clients: 64}}
}

// Read reads and validates a policy, as YAML or JSON. Members that are absent keep their
// defaults. Unknown members are errors: a misspelt one would silently allow or refuse.
func Read(r io.Reader) (Policy, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	p := Default()
	if err := yamlbound.UnmarshalStrict(data, MaxBytes, &p); err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	return p, p.validate()
}

func (p Policy) validate() error {
	for i, e := range p.Exports {
		at := fmt.Sprintf("policy.exports[%d]", i)
		_, noPrefix := netip.ParsePrefix(e.Server)
		switch {
		case e.Server == "":
			return fmt.Errorf("%s.server is empty: write an address, a host name, or a network such as 192.0.2.0/24", at)
		case strings.Contains(e.Server, "/") && noPrefix != nil:
			return fmt.Errorf("%s.server is %q, which is not a network: write it as 192.0.2.0/24", at, e.Server)
		case !strings.HasPrefix(e.Path, "/") || path.Clean(e.Path) != e.Path:
			return fmt.Errorf("%s.path is %q: write an absolute path without //, .. and a slash at its end", at, e.Path)
		case len(e.Namespaces) == 0:
			return fmt.Errorf(`%s.namespaces is empty: list the namespaces that may mount the export, or "*"`, at)
		}
	}
	if q, err := resource.ParseQuantity(p.Embedded.MaxSize); err != nil || q.Sign() < 0 {
		return fmt.Errorf("policy.embedded.maxSize is %q: write a quantity, such as 50Gi", p.Embedded.MaxSize)
	}
	if p.Limits.Clients < 1 {
		return fmt.Errorf("policy.limits.clients is %d: write a number from 1", p.Limits.Clients)
	}
	return nil
}

//go:embed rules.yaml
var rulesFile []byte

// Rule is one condition that every benchmark must meet, in the form of a validation of a
// ValidatingAdmissionPolicy.
type Rule struct {
	Name              string `json:"name"`
	Expression        string `json:"expression"`        // CEL over object and variables.policy
	MessageExpression string `json:"messageExpression"` // names the field, the limit and whom to ask
}

// Checker evaluates the rules. It is safe for concurrent use.
type Checker struct{ rules []compiled }

type compiled struct {
	name             string
	allowed, message cel.Program
}

// celCost bounds one evaluation of a rule, in the units of CEL.
const celCost = 1_000_000

// NewChecker compiles the rules, with the functions that the API server has.
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

// MustChecker is NewChecker for the rules of this program, which its tests compile.
func MustChecker() *Checker {
	c, err := NewChecker()
	if err != nil {
		panic(err)
	}
	return c
}

// Denied is the error for a benchmark that a rule refuses. Its text names the field, what
// the policy allows and whom to ask.
type Denied struct{ Rule, Message string }

// Error returns the message.
func (d *Denied) Error() string { return d.Message }

// Check returns a *Denied for the first rule that refuses the benchmark, which must have
// its defaults; nil if all allow it. A rule that cannot be evaluated refuses.
func (c *Checker) Check(p Policy, b *v1alpha1.NFSBenchmark) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return fmt.Errorf("check the policy: %w", err)
	}
	values, err := asMap(p)
	if err != nil {
		return fmt.Errorf("check the policy: %w", err)
	}
	in := map[string]any{"object": object, "variables": map[string]any{"policy": values}}
	for _, r := range c.rules {
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

// asMap is the policy as CEL sees it, with an empty list in place of an absent one.
func asMap(p Policy) (map[string]any, error) {
	if p.Exports == nil {
		p.Exports = []Export{}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, json.Unmarshal(data, &values)
}
