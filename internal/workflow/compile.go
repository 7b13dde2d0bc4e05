package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// The conditions of a step. Argo evaluates the failure conditions first, in the order of their keys, and writes the
// condition that holds into the step's message. From the message, retryable distinguishes an error of the
// infrastructure from a result.
const (
	succeeded = "status.phase == Succeeded"
	failed    = "status.failure == Infrastructure,status.phase in (Failed,Cancelled)"
)

// retryable decides whether a step is tried again. A step that ended by status.phase is a result. A benchmark that
// was deleted, that the API server rejects, or that never ended would end the same the second time. Everything else
// is an error of the infrastructure: status.failure, an image of Argo's executor that could not be pulled, a pod that
// was evicted or lost, an API server that was away.
const retryable = `!(lastRetry.message matches ` +
	`'status\\.phase|has been deleted|specified deadline|is invalid|orbidden')`

const (
	// queueSeconds is how long a step waits beyond its benchmark's own timeout, which counts from the start of its pods:
	// for the storage, and for provisioning. It only ends steps for which no operator runs.
	queueSeconds = 24 * 60 * 60

	retryAfter    = "30s" // then twice as long each time
	retryAfterMax = "10m"

	entrypoint   = "main"
	variableName = "{{workflow.name}}"
	repetition   = "repetition"
	position     = "position"
)

// object is a part of an object of Argo Workflows v4.0 or later, with the fields that its types name
// (pkg/apis/workflow/v1alpha1).
type object = map[string]any

// put sets a field, unless the value is zero.
func put[T comparable](o object, field string, value T) {
	if value != *new(T) {
		o[field] = value
	}
}

// spec returns the workflow of one run. The name of the Workflow and the name of the run may be variables of Argo.
func (in Input) spec(workflow, run string) object {
	s := in.Suite
	out := object{
		"entrypoint":         entrypoint,
		"serviceAccountName": serviceAccount(s),
		"archiveLogs":        false,
		// No parallelism: the steps run one after the other anyway, and with parallelism Argo also counts pods that have
		// just ended.
		//
		// A succeeded pod adds nothing to its benchmark. Failed pods stay with their logs until the Workflow is deleted.
		"podGC":        object{"strategy": "OnPodSuccess"},
		"podSpecPatch": podSpecPatch(),
		"podMetadata":  object{"labels": labels(s)},
		"securityContext": object{
			"runAsNonRoot":   true,
			"seccompProfile": object{"type": corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if seconds := s.Spec.TTLSecondsAfterFinished; seconds != nil {
		out["ttlStrategy"] = object{"secondsAfterCompletion": *seconds}
	}
	var steps [][]object // one after the other
	used := map[int]bool{}
	for i, slot := range in.Matrix.Sequence {
		if in.Done[Key{Cell: in.Matrix.Cells[slot.Cell].Name, Repetition: slot.Repetition}] {
			continue
		}
		used[slot.Cell] = true
		steps = append(steps, []object{in.step(i, slot)})
	}
	main := object{"name": entrypoint}
	if len(steps) > 0 {
		main["steps"] = steps
	}
	templates := []object{main}
	for i := range in.Matrix.Cells {
		if used[i] {
			templates = append(templates, in.cell(i, workflow, run))
		}
	}
	out["templates"] = templates
	return out
}

// step returns the step of the i-th benchmark of the order.
func (in Input) step(i int, slot matrix.Slot) object {
	r := strconv.Itoa(int(slot.Repetition))
	out := object{
		"name":     in.Matrix.Cells[slot.Cell].Name + "-r" + r,
		"template": templateName(slot.Cell),
		"arguments": object{"parameters": []object{
			{"name": repetition, "value": r},
			{"name": position, "value": strconv.Itoa(i + 1)},
		}},
	}
	if !in.Suite.Spec.FailFast {
		out["continueOn"] = object{"error": true, "failed": true}
	}
	return out
}

// templateName returns a short name, because each step and each node of the status repeats it.
func templateName(cell int) string { return fmt.Sprintf("cell-%03d", cell) }

// cell returns the template of the benchmarks of one cell.
func (in Input) cell(i int, workflow, run string) object {
	c := in.Matrix.Cells[i]
	_, timeout := c.Durations()
	return object{
		"name":                  templateName(i),
		"inputs":                object{"parameters": []object{{"name": repetition}, {"name": position}}},
		"activeDeadlineSeconds": timeout + queueSeconds,
		"retryStrategy": object{
			"limit":       ptr.Deref(in.Suite.Spec.Retries, 1),
			"retryPolicy": "Always",
			"expression":  retryable,
			"backoff":     object{"duration": retryAfter, "factor": 2, "cap": retryAfterMax},
		},
		"resource": object{
			"action":            "create",
			"setOwnerReference": true,
			"successCondition":  succeeded,
			"failureCondition":  failed,
			"manifest":          in.manifest(c, workflow, run),
		},
	}
}

// manifest returns the benchmark of a cell, with variables for what differs between its repetitions.
func (in Input) manifest(c matrix.Cell, workflow, run string) string {
	s := in.Suite
	r, attempt := "{{inputs.parameters."+repetition+"}}", "{{retries}}"
	if in.FirstAttempt > 0 {
		attempt = fmt.Sprintf("{{=asInt(retries)+%d}}", in.FirstAttempt)
	}
	all := map[string]string{}
	maps.Copy(all, s.Spec.Template.Metadata.Labels)
	maps.Copy(all, labels(s))
	maps.Copy(all, map[string]string{
		v1alpha1.LabelSuiteRun:   run,
		v1alpha1.LabelCell:       c.Name,
		v1alpha1.LabelRepetition: r,
		v1alpha1.LabelPosition:   "{{inputs.parameters." + position + "}}",
		v1alpha1.LabelAttempt:    attempt,
	})
	// Neither call fails: types of the API marshal to JSON, and the rest are strings.
	written := c.Written
	if written == nil {
		written, _ = json.Marshal(c.Spec)
	}
	out, _ := yaml.Marshal(object{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       "NFSBenchmark",
		"metadata": metav1.ObjectMeta{
			Name:        workflow + "-" + c.Name + "-r" + r + "-" + attempt,
			Namespace:   s.Namespace,
			Labels:      all,
			Annotations: s.Spec.Template.Metadata.Annotations,
		},
		"spec": json.RawMessage(written),
	})
	return string(out)
}

// lookEvery is how often Argo's executor polls a benchmark. Argo's default is 5 s, which would add ten minutes to 256
// short benchmarks.
const lookEvery = "2s"

// podSpecPatch restricts the pods of Argo's executor, together with the security context of their workflow, to the
// restricted Pod Security Standard, whatever Argo's configuration says, and to the resources for creating and polling
// one object. The pods have two containers: init and main.
func podSpecPatch() string {
	container := func(name string) object {
		return object{
			"name": name,
			"resources": object{
				"requests": map[string]string{"cpu": "10m", "memory": "64Mi"},
				"limits":   map[string]string{"cpu": "500m", "memory": "256Mi"},
			},
			"securityContext": object{
				"allowPrivilegeEscalation": false,
				"capabilities":             object{"drop": []string{"ALL"}},
				"runAsNonRoot":             true,
				"seccompProfile":           object{"type": "RuntimeDefault"},
			},
		}
	}
	waits := container("main")
	waits["env"] = []any{map[string]string{"name": "RESOURCE_STATE_CHECK_INTERVAL", "value": lookEvery}}
	out, _ := json.Marshal(object{ // literals
		"initContainers": []any{container("init")},
		"containers":     []any{waits},
	})
	return string(out)
}
