package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestTheValueThatWasMeantIsNamed(t *testing.T) {
	t.Parallel()
	refuses := func(wrong string, right ...string) *apierrors.StatusError {
		return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("NFSBenchmark").GroupKind(), "x", field.ErrorList{
			field.NotSupported(field.NewPath("spec", "x"), wrong, right),
		})
	}
	for wrong, says := range map[string]string{
		"v3": `did you mean "NFSv3"?`, "randread": "", "NFSV3": `did you mean "NFSv3"?`, "nfs": "",
	} {
		err := explain(refuses(wrong, "NFSv3", "NFSv4.0", "NFSv4.1"))
		if got := err.Error(); !strings.Contains(got, `"NFSv3", "NFSv4.0"`) || strings.Contains(got, "did you mean") != (says != "") || !strings.Contains(got, says) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for wrong, meant := range map[string]string{"dNFS": "DirectNFS", "kernel": "Kernel", "randread": "RandomRead"} {
		if err := explain(refuses(wrong, "Kernel", "DirectNFS", "RandomRead")); !strings.Contains(err.Error(), fmt.Sprintf("did you mean %q?", meant)) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	wrongType := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("NFSBenchmark").GroupKind(), "x", field.ErrorList{
		field.Invalid(field.NewPath("spec", "run", "durationSeconds"), "string", `spec.run.durationSeconds in body must be of type integer: "string"`),
	})
	if err := explain(wrongType); !strings.HasSuffix(err.Error(), "spec.run.durationSeconds: write a whole number, without a unit or quotes") {
		t.Error(err)
	}
}

// TestWhatTheClusterRefusesHasTheExitCodeOfNothingDone, but for a right that the user lacks.
func TestWhatTheClusterRefusesHasTheExitCodeOfNothingDone(t *testing.T) {
	t.Parallel()
	benchmarks := v1alpha1.GroupVersion.WithResource("nfsbenchmarks").GroupResource()
	for says, err := range map[string]error{
		"nfsbench: the policy of the cluster refuses it: the Kernel client cannot be used here: ask": apierrors.NewForbidden(benchmarks, "x", errors.New(
			"ValidatingAdmissionPolicy 'nfsbench-policy' with binding 'nfsbench-policy' denied request: the Kernel client cannot be used here: ask")),
		`there is no namespace "team-x": create it, or choose another one with -n`: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "team-x"),
	} {
		s := newShell(t)
		s.refuse = err
		s.run("run", "x", "--embedded", "1Gi").mustEnd(t, cli.ExitBadInput).mustSay(t, says)
	}
	s := newShell(t)
	s.refuse = apierrors.NewForbidden(benchmarks, "x", errors.New(`User "joe" cannot create resource "nfsbenchmarks" in API group "nfsbench.io" in the namespace "bench"`))
	s.run("run", "x", "--embedded", "1Gi").mustEnd(t, cli.ExitFailed).mustSay(t, `you may not create nfsbenchmarks.nfsbench.io in namespace "bench"`)
	a := newApp()
	a.flags.KubeConfig = new("/no/such")
	if _, err := connect(a); !cli.IsCoded(err) || !strings.Contains(err.Error(), "the kubeconfig cannot be read") {
		t.Error(err)
	}
}

func TestEveryCommandSaysWhatItDoesAndHasAnExample(t *testing.T) {
	t.Parallel()
	for _, cmd := range newRootCommand(newApp()).Commands() {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		if cmd.Short == "" || !strings.Contains(cmd.Example, "kubectl nfsbench "+cmd.Name()) {
			t.Errorf("%s: short %q, example %q", cmd.Name(), cmd.Short, cmd.Example)
		}
		if strings.Contains(cmd.Use, "NAME") && cmd.Name() != "run" && cmd.ValidArgsFunction == nil {
			t.Errorf("%s completes no names", cmd.Name())
		}
	}
}

func TestTheCommandLineOfKubectlWorks(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("demo"), gen.Benchmark("other", gen.In("elsewhere")))
	s.run().mustEnd(t, cli.ExitOK).mustSay(t, "kubectl nfsbench [command]", "--context")
	s.run("--version").mustEnd(t, cli.ExitOK).mustSay(t, "kubectl nfsbench ")
	s.run("watsch").mustEnd(t, cli.ExitBadInput).mustSay(t, `there is no command "watsch"; did you mean "watch"?`)
	s.run("report").mustEnd(t, cli.ExitBadInput).mustSay(t, "kubectl nfsbench report --help")
	s.run("report", "other").mustEnd(t, cli.ExitBadInput).mustSay(t, `no benchmark or suite "other" in namespace "bench"`)
	s.run("report", "other", "-n", "elsewhere").mustEnd(t, cli.ExitFailed).mustSay(t, `"other" has no status yet`)
}

func TestWhatIsNotThereIsAnsweredWithWhatIs(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("demo-1"), gen.Benchmark("demo-2"), gen.Benchmark("a"), gen.Benchmark("b"), gen.Benchmark("c"), gen.Benchmark("d"), suiteOf("demo", nil))
	o := s.run("report", "demo-3").mustEnd(t, cli.ExitBadInput)
	o.mustSay(t, `did you mean "demo-1"?`)
	s.run("report", "other").mustEnd(t, cli.ExitBadInput).mustSay(t, "there is a, b, c, d, demo-1 and more\n")
	s.run("rerun", "dem").mustEnd(t, cli.ExitBadInput).mustSay(t, `there is no suite "dem" in namespace "bench"; there is suite/demo`)
	newShell(t).run("watch", "x").mustEnd(t, cli.ExitBadInput).mustSay(t, "and there is no other benchmark or suite: -n chooses another namespace")
}

func TestABareNameIsABenchmarkAndASuiteWhereThereIsNone(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("both"), suiteOf("both", nil), suiteOf("one", nil))
	for arg, want := range map[string]string{
		"both": `"both" has no status yet`, "suite/both": "suite/both has no record yet", "nfsbs/both": "suite/both has no record yet",
		"nfsb/both": `"both" has no status yet`, "one": "suite/one has no record yet", "nfsbenchmarksuite.nfsbench.io/one": "suite/one has no record yet",
	} {
		s.run("report", arg).mustEnd(t, cli.ExitFailed).mustSay(t, want)
	}
	for arg, want := range map[string]string{
		"pod/x": `has kind "pod"`, "/x": "lacks a kind before the slash", "nfsb/x@y": "has only one run", "suite/": "is not a valid name", "suite/x@": "is not a valid name",
	} {
		s.run("report", arg).mustEnd(t, cli.ExitBadInput).mustSay(t, want)
	}
}

func TestNamesAreCompletedFromTheCluster(t *testing.T) {
	t.Parallel()
	s := newShell(t, gen.Benchmark("demo"), gen.Benchmark("other"), suiteOf("deep", nil))
	lines := strings.Split(s.run(cobra.ShellCompRequestCmd, "report", "d").out, "\n")
	if lines[0] != "demo" || lines[1] != ":4" {
		t.Errorf("completed d to %q", lines)
	}
	s.run(cobra.ShellCompRequestCmd, "rerun", "").mustSay(t, "suite/deep\n:4")
	if o := s.run(cobra.ShellCompRequestCmd, "rerun", "suite/deep", ""); strings.Contains(o.out, "suite") {
		t.Errorf("a second name is completed: %s", o.out)
	}
}

func TestErrorsOfTheClusterBecomeSentences(t *testing.T) {
	t.Parallel()
	gr := schema.GroupResource{Group: "nfsbench.io", Resource: "nfsbenchmarks"}
	causes := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Name: "x", Causes: []metav1.StatusCause{
		{Field: "spec.storage", Message: `Invalid value: "object": give exactly one of storage.trident and storage.claim`},
		{Field: "spec.workload.raw.blockSize", Message: `Invalid value: "3Ki": workload.raw.blockSize must be a power of two`},
		{Field: "<nil>", Message: `Invalid value: "null": some validation rules were not checked because the object was invalid`},
	}}}}
	cases := map[string]struct {
		reason string
		err    error
		want   string
		code   int
	}{
		"no CRD": {
			"the operator is not there", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: gr.Group, Kind: "NFSBenchmark"}},
			"helm install nfsbench", cli.ExitFailed,
		},
		"forbidden": {
			"who asks an administrator must know for what",
			apierrors.NewForbidden(gr, "x", errors.New(`User "u" cannot get resource "nfsbenchmarks" in API group "nfsbench.io" in the namespace "bench"`)),
			`you may not get nfsbenchmarks.nfsbench.io in namespace "bench": ask for a role with the verb get on nfsbenchmarks.nfsbench.io`, cli.ExitFailed,
		},
		"forbidden everywhere": {
			"the whole cluster is no namespace", apierrors.NewForbidden(gr, "", errors.New(`User "u" cannot list resource "configmaps" in API group "" at the cluster scope`)),
			"you may not list configmaps in the whole cluster", cli.ExitFailed,
		},
		"invalid": {"the rules are sentences already", causes, "the cluster refuses \"x\":\n  spec.storage: give exactly one of storage.trident and storage.claim\n  spec.workload.raw.blockSize: workload.raw", cli.ExitBadInput},
		"misspelt": {
			"a field that is not known would be another benchmark", apierrors.NewBadRequest(`NFSBenchmark in version "v1alpha1" cannot be handled as a NFSBenchmark: strict decoding error: unknown field "spec.storag", unknown field "spec.workload.raw.patern", unknown field "spec.run.duration", unknown field "spec.workload.raw.blocksize", unknown field "spec.protocol.paths.explicit[0].pth", unknown field "spec.xyz"`),
			`the cluster does not know these fields: unknown field "spec.storag" (did you mean storage?), unknown field "spec.workload.raw.patern" (did you mean pattern?), unknown field "spec.run.duration" (did you mean durationSeconds?), ` +
				`unknown field "spec.workload.raw.blocksize" (did you mean blockSize?), unknown field "spec.protocol.paths.explicit[0].pth" (did you mean path?), unknown field "spec.xyz"; 'kubectl explain`, cli.ExitBadInput,
		},
		"exists":       {"what has run is evidence", apierrors.NewAlreadyExists(gr, "x"), `"x" exists already`, cli.ExitBadInput},
		"unauthorized": {"a token has ended", apierrors.NewUnauthorized("no"), "log in again", cli.ExitFailed},
		"unreachable": {
			"the wrong context", fmt.Errorf("get: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}),
			"the cluster does not answer: dial tcp: connection refused; check --context", cli.ExitFailed,
		},
		"other": {"what is not known is not hidden", errors.New("so it is"), "so it is", cli.ExitFailed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failing := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return c.err }}
			var errOut bytes.Buffer
			code := cli.Execute(t.Context(), failing, explain, nil, nil, io.Discard, &errOut)
			if got := errOut.String(); !strings.Contains(got, c.want) || code != c.code {
				t.Errorf("%s: %q with code %d, want %q with %d", c.reason, got, code, c.want, c.code)
			}
			if strings.Contains(errOut.String(), "not checked") {
				t.Errorf("the consequence is told beside its cause: %s", errOut.String())
			}
		})
	}
}

func TestTheCommandsInTheDocumentExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, m := range regexp.MustCompile(`kubectl nfsbench ([a-z]+)`).FindAllStringSubmatch(doc, -1) {
		if cmd, _, err := newRootCommand(newApp()).Find(m[1:]); err != nil || cmd.Name() != m[1] {
			t.Errorf("docs/plugin.md has the command %q, and the plugin does not", m[1])
		}
	}
	names := manifest.NamesOf(gen.Benchmark("dnfs"))
	label := manifest.LabelBenchmark + "=" + names.Base
	for _, want := range []string{
		label + "," + manifest.LabelComponent + "=" + manifest.ComponentLoad + " -c " + manifest.ContainerLoader,
		label + "," + batchv1.JobCompletionIndexAnnotation + "=1 -c " + manifest.ContainerCollector,
		"job/" + names.Survey, "-l '!" + v1alpha1.LabelSuite + "'", "configmap " + names.Result,
		strings.ReplaceAll(runfile.ResultKey(0), ".", `\.`),
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/plugin.md has no %q, by which kubectl finds what the operator makes", want)
		}
	}
}
