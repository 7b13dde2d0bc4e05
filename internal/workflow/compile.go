package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
)

// The conditions of a step. Argo asks those of failure first, and among them
// by the order of their keys, and the one that holds is in the step's message:
// by that, retries tell the infrastructure from a result.
const (
	succeeded = "status.phase == Succeeded"
	failed    = "status.failure == Infrastructure,status.phase in (Failed,Cancelled)"
)

// retryable is whether a step is tried again. What ended by status.phase is a
// result; a benchmark that somebody deleted, or that the API server refuses, ends
// the same the second time, and so does one that never ended. Everything else is
// an error of the infrastructure: status.failure, an image of Argo's executor that
// could not be pulled, its pod evicted or lost, an API server that was away.
const retryable = `!(lastRetry.message matches ` +
	`'status\\.phase|has been deleted|specified deadline|is invalid|orbidden')`

const (
	// queueSeconds is what a step waits beyond its benchmark's own timeout, which
	// counts from the start of its pods: its turn on the storage, and provisioning.
	// It only ends steps that no operator answers any more.
	queueSeconds = 24 * 60 * 60

	retryAfter    = "30s" // then twice as long each time
	retryAfterMax = "10m"

	entrypoint   = "main"
	variableName = "{{workflow.name}}"
	repetition   = "repetition"
	position     = "position"
)

// spec is the workflow of one run: workflow is its name, and run that of the run,
// either of which may be a variable of Argo's.
func (in Input) spec(workflow, run string) spec {
	s := in.Suite
	out := spec{
		Entrypoint:         entrypoint,
		ServiceAccountName: serviceAccount(s),
		// No parallelism: steps are one after the other as it is, and with it Argo
		// counts pods that have just ended, too.
		//
		// A pod that succeeded says no more than its benchmark does. Those that
		// failed stay with their logs, until the Workflow goes.
		PodGC:        podGC{Strategy: "OnPodSuccess"},
		PodSpecPatch: podSpecPatch(),
		PodMetadata:  &metadata{Labels: labels(s)},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if seconds := s.Spec.TTLSecondsAfterFinished; seconds != nil {
		out.TTLStrategy = &ttlStrategy{SecondsAfterCompletion: *seconds}
	}
	main := template{Name: entrypoint}
	used := map[int]bool{}
	for i, slot := range in.Matrix.Sequence {
		if in.Done[Key{Cell: in.Matrix.Cells[slot.Cell].Name, Repetition: slot.Repetition}] {
			continue
		}
		used[slot.Cell] = true
		main.Steps = append(main.Steps, []step{in.step(i, slot)})
	}
	out.Templates = []template{main}
	for i := range in.Matrix.Cells {
		if used[i] {
			out.Templates = append(out.Templates, in.cell(i, workflow, run))
		}
	}
	return out
}

// step is the i-th benchmark of the order.
func (in Input) step(i int, slot matrix.Slot) step {
	r := strconv.Itoa(int(slot.Repetition))
	out := step{
		Name:     in.Matrix.Cells[slot.Cell].Name + "-r" + r,
		Template: templateName(slot.Cell),
		Arguments: parameters{Parameters: []parameter{
			{Name: repetition, Value: r},
			{Name: position, Value: strconv.Itoa(i + 1)},
		}},
	}
	if !in.Suite.Spec.FailFast {
		out.ContinueOn = &continueOn{Error: true, Failed: true}
	}
	return out
}

// templateName is short, for each step and each node of the status repeat it.
func templateName(cell int) string { return fmt.Sprintf("cell-%03d", cell) }

// cell is the template of the benchmarks of one cell.
func (in Input) cell(i int, workflow, run string) template {
	c := in.Matrix.Cells[i]
	_, timeout := c.Durations()
	return template{
		Name:                  templateName(i),
		Inputs:                &parameters{Parameters: []parameter{{Name: repetition}, {Name: position}}},
		ActiveDeadlineSeconds: timeout + queueSeconds,
		RetryStrategy: &retryStrategy{
			Limit:       ptr.Deref(in.Suite.Spec.Retries, 1),
			RetryPolicy: "Always",
			Expression:  retryable,
			Backoff:     backoff{Duration: retryAfter, Factor: 2, Cap: retryAfterMax},
		},
		Resource: &resource{
			Action:            "create",
			SetOwnerReference: true,
			SuccessCondition:  succeeded,
			FailureCondition:  failed,
			Manifest:          in.manifest(c, workflow, run),
		},
	}
}

// manifest is the benchmark of a cell, with variables for what differs between
// its repetitions.
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
	// Neither fails: types of the API have JSON, and the rest are strings.
	written := c.Written
	if written == nil {
		written, _ = json.Marshal(c.Spec)
	}
	out, _ := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       "NFSBenchmark",
		"metadata": metadata{
			Name:        workflow + "-" + c.Name + "-r" + r + "-" + attempt,
			Namespace:   s.Namespace,
			Labels:      all,
			Annotations: s.Spec.Template.Metadata.Annotations,
		},
		"spec": json.RawMessage(written),
	})
	return string(out)
}

// lookEvery is how often Argo's executor looks whether a benchmark is over, 5 s if
// nobody says: of 256 short ones that would be ten minutes.
const lookEvery = "2s"

// podSpecPatch holds the pods of Argo's executor, with the security context of their
// workflow, to the restricted Pod Security Standard, whatever its configuration says, and to
// what creating and polling one object takes. They have two containers: init and main.
func podSpecPatch() string {
	container := func(name string) map[string]any {
		return map[string]any{
			"name": name,
			"resources": map[string]any{
				"requests": map[string]string{"cpu": "10m", "memory": "64Mi"},
				"limits":   map[string]string{"cpu": "500m", "memory": "256Mi"},
			},
			"securityContext": map[string]any{
				"allowPrivilegeEscalation": false,
				"capabilities":             map[string]any{"drop": []string{"ALL"}},
				"runAsNonRoot":             true,
				"seccompProfile":           map[string]any{"type": "RuntimeDefault"},
			},
		}
	}
	waits := container("main")
	waits["env"] = []any{map[string]string{"name": "RESOURCE_STATE_CHECK_INTERVAL", "value": lookEvery}}
	out, _ := json.Marshal(map[string]any{ // literals
		"initContainers": []any{container("init")},
		"containers":     []any{waits},
	})
	return string(out)
}
