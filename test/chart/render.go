// Package chart renders what the project ships, the Helm chart and config/, for
// the tests that check it.
package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Namespace is the namespace of all renderings.
const Namespace = "nfsbench-system"

// Path gives the absolute name of a file of the repository.
func Path(t testing.TB, name string) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("find this file")
	}
	return filepath.Join(filepath.Dir(here), "..", "..", filepath.FromSlash(name))
}

// Values names a values file of testdata/values.
func Values(t testing.TB, name string) string {
	t.Helper()
	return Path(t, "test/chart/testdata/values/"+name+".yaml")
}

// TryHelm renders the chart and gives what helm says when it refuses.
func TryHelm(t testing.TB, args ...string) ([]byte, error) {
	t.Helper()
	args = append([]string{
		"helm", "template", "nfsbench", "charts/nfsbench",
		"--namespace", Namespace, "--kube-version", "v1.34.0",
	}, args...)
	return tool(t, args...)
}

// Helm renders the chart.
func Helm(t testing.TB, args ...string) []byte {
	t.Helper()
	return must(t)(TryHelm(t, args...))
}

// Kustomize builds a folder of config.
func Kustomize(t testing.TB, folder string) []byte {
	t.Helper()
	return must(t)(tool(t, "kustomize", "build", folder))
}

func must(t testing.TB) func([]byte, error) []byte {
	t.Helper()
	return func(out []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// tool runs a pinned tool. The first run of each builds it.
func tool(t testing.TB, args ...string) ([]byte, error) {
	t.Helper()
	return run(t, nil, "hack/tool.sh", args...)
}

// run starts a script of the repository; its error holds what it said.
func run(t testing.TB, stdin []byte, script string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Path(t, script), args...)
	cmd.Dir = Path(t, ".")
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, errors.New(strings.TrimSpace(stderr.String() + "\n" + string(out) + "\n" + err.Error()))
	}
	return out, nil
}

// Objects decodes a stream of manifests.
func Objects(t testing.TB, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		object := map[string]any{}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("decode manifests: %v", err)
		}
		if len(object) > 0 {
			out = append(out, &unstructured.Unstructured{Object: object})
		}
	}
}

// Read reads a file of the repository.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	return must(t)(os.ReadFile(Path(t, name)))
}
