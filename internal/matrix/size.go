package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// Argo Workflows keeps a Workflow with its status in one object of at most 1 MiB
// (MAX_WORKFLOW_SIZE), and ends the run when it grows beyond that. What a suite
// comes to is known before: the bytes of what package workflow writes, whose tests
// hold these figures, and those of the status, which Argo packs.
const (
	maxStoredBytes = 960_000 // of 1 048 576: the rest is for retries and messages
	fixedBytes     = 4096    // of a Workflow without steps
	cellBytes      = 1150    // of a cell's template, around the spec
	stepBytes      = 190     // of a step, without its name
	// statusBytes is a benchmark in the status: three packed nodes, and an entry in
	// taskResultsCompletionStatus.
	statusBytes = 215
)

// StoredBytes is how large the Workflow of a run gets, with its status, at most.
func StoredBytes(m Matrix, s *v1alpha1.NFSBenchmarkSuite) int {
	metadata, _ := json.Marshal(s.Spec.Template.Metadata) // strings
	around := cellBytes + embedded(metadata)
	sum := fixedBytes
	for _, c := range m.Cells {
		sum += around + embedded(c.Written) + 3*len(c.Name)
	}
	for _, slot := range m.Sequence {
		sum += stepBytes + statusBytes + len(m.Cells[slot.Cell].Name)
	}
	return sum
}

// embedded is how many bytes JSON takes once it is YAML within a string of JSON,
// one level deeper.
func embedded(data []byte) int {
	text, err := yaml.JSONToYAML(data)
	if err != nil {
		return 2 * len(data)
	}
	const indent, escape = 2, 1
	return len(text) + bytes.Count(text, []byte("\n"))*(indent+escape) + bytes.Count(text, []byte(`"`)) +
		bytes.Count(text, []byte(`\`))
}

func checkSize(m Matrix, s *v1alpha1.NFSBenchmarkSuite) error {
	if n := StoredBytes(m, s); n > maxStoredBytes {
		return fmt.Errorf("%d cells x %d repetitions come to a Workflow of about %d kB with its status, and Argo "+
			"Workflows keeps less than %d kB: lower spec.repetitions, take values out, or make several suites",
			len(m.Cells), max(s.Spec.Repetitions, 1), n/1000, maxStoredBytes/1000)
	}
	return nil
}
