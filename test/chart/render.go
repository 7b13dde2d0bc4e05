// Package chart renders what the project ships, the Helm chart and config/, for
// the tests that check it.
package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/nfsbench/nfsbench/test/kit/repository"
)

// Namespace is the namespace of all renderings.
const Namespace = "nfsbench-system"

// kubeVersion is the oldest version of Kubernetes that the tests run on: hack/platforms.tsv.
const kubeVersion = "v1.35.4"

// Path gives the absolute name of a file of the repository.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path, err := repository.Path(name)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Values names a values file of testdata/values.
func Values(tb testing.TB, name string) string {
	tb.Helper()
	return Path(tb, "test/chart/testdata/values/"+name+".yaml")
}

// renderings holds what each command has rendered: many tests look at the same.
var renderings sync.Map //nolint:gochecknoglobals // tests share it

type rendering struct {
	out []byte
	err error
}

// render runs a command that renders what does not change meanwhile.
func render(tb testing.TB, args ...string) ([]byte, error) {
	tb.Helper()
	key := strings.Join(args, "\x00")
	if r, known := renderings.Load(key); known {
		return bytes.Clone(r.(rendering).out), r.(rendering).err
	}
	out, err := tool(tb, args...)
	renderings.Store(key, rendering{out, err})
	return bytes.Clone(out), err
}

// TryHelm renders the chart and gives what helm says when it refuses.
func TryHelm(tb testing.TB, args ...string) ([]byte, error) {
	tb.Helper()
	return render(tb, append([]string{"helm"}, template(args...)...)...)
}

// template is the command of Helm that renders the chart.
func template(args ...string) []string {
	return append([]string{"template", "nfsbench", "charts/nfsbench", "--namespace", Namespace, "--kube-version", kubeVersion}, args...)
}

// Helm renders the chart.
func Helm(tb testing.TB, args ...string) []byte {
	tb.Helper()
	return must(tb)(TryHelm(tb, args...))
}

// Kustomize builds a folder of config.
func Kustomize(tb testing.TB, folder string) []byte {
	tb.Helper()
	return must(tb)(render(tb, "kustomize", "build", folder))
}

func must(tb testing.TB) func([]byte, error) []byte {
	tb.Helper()
	return func(out []byte, err error) []byte {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return out
	}
}

// tool runs a pinned tool. The first run of each builds it.
func tool(tb testing.TB, args ...string) ([]byte, error) {
	tb.Helper()
	return run(tb, nil, "hack/tool.sh", args...)
}

// run starts a script of the repository; its error holds what it said.
func run(tb testing.TB, stdin []byte, script string, args ...string) ([]byte, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), Path(tb, script), args...)
	cmd.Dir = Path(tb, ".")
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
func Objects(tb testing.TB, manifests []byte) []*unstructured.Unstructured {
	tb.Helper()
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		object := map[string]any{}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			tb.Fatalf("decode manifests: %v", err)
		}
		if len(object) > 0 {
			out = append(out, &unstructured.Unstructured{Object: object})
		}
	}
}

// Read reads a file of the repository.
func Read(tb testing.TB, name string) []byte {
	tb.Helper()
	return must(tb)(os.ReadFile(Path(tb, name)))
}
