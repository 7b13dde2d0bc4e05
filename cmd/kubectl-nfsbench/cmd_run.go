package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// runOptions holds the flags of run that do not describe the benchmark.
type runOptions struct {
	file         string
	generateName bool
	dryRun       string
	output       string
	watch        bool
	report       cli.Destination
}

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	var f loadFlags
	cmd := &cobra.Command{
		Use: "run NAME --export SERVER[,SERVER...]:/PATH|--claim NAME|--embedded SIZE | run --storage-class NAME | " +
			"run [NAME] -f FILE",
		Short: "Start a benchmark from flags, or benchmarks and suites from a file",
		Long: `Create an NFSBenchmark from flags, or what a file declares.

The flags say what most benchmarks differ in; a file can say everything. Write it
with --dry-run=client -o yaml; 'kubectl explain nfsbenchmark.spec' lists the fields.

A file may be what 'kubectl get -o yaml' printed: run leaves out its status, so
that --generate-name runs an earlier benchmark again as it was. The cluster checks
everything before it accepts it; --dry-run=server asks for that only.

With --storage-class and without NAME it measures a volume of the class for three minutes,
prints the report, and removes the benchmark, the claim and the volume, also after
Ctrl-C.

With --watch the command waits for the end. The exit code is then 0 if the run succeeded,
1 if it did not, and 3 if its verdict is Fail, Regressed or Inconclusive. --report writes
the report to a file at the end.`,
		Example: `  # is the installation in order? An NFS server of the operator's own
  kubectl nfsbench run demo --embedded 1Gi --duration 30s --watch

  # two LIFs of an array with Direct NFS, random reads of 8 KiB
  kubectl nfsbench run dnfs --export 192.0.2.11,198.51.100.11:/vol/oradata --pattern RandomRead

  # how fast is a StorageClass? Nothing stays but the report
  kubectl nfsbench run --storage-class ontap-nas --link 10G --expect minWirePercent=80 --report gold.html

  # the manifest only
  kubectl nfsbench run demo --embedded 1Gi --dry-run=client -o yaml > demo.yaml

  # the same again, from a file or from what ran before
  kubectl nfsbench run -f demo.yaml --generate-name --watch
  kubectl get nfsb demo -o yaml | kubectl nfsbench run -f - --generate-name`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkClass(cmd.Flags(), o, args); err != nil {
				return cli.BadInput(err)
			}
			if err := o.parseReport(f.once(o, args)); err != nil {
				return err
			}
			if f.once(o, args) {
				return a.runClass(cmd, &f, o.report)
			}
			objects, err := o.objects(cmd, args, &f)
			if err != nil {
				return cli.BadInput(err)
			}
			return a.run(cmd, objects, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.file, "filename", "f", "", "file with benchmarks or suites; - is standard input")
	fs.BoolVar(&o.generateName, "generate-name", false,
		"let the cluster add a suffix to the name, so that the same can run again and again")
	fs.StringVar(&o.dryRun, "dry-run", "none", "none, client to print only, or server to let the cluster check only")
	fs.StringVarP(&o.output, "output", "o", "", "print what was made: yaml, json, name, or another format of kubectl")
	fs.BoolVarP(&o.watch, "watch", "w", false, "show the progress until the end")
	o.report.RegisterAs(cmd, "report",
		"with --watch or --storage-class, file for the report, which ends in .html, .txt or .json")
	cli.CompleteValues(cmd, "dry-run", "none", "client", "server")
	cli.CompleteValues(cmd, "output", "yaml", "json", "name")
	f.register(cmd)
	return cmd
}

// parseReport checks --report, which needs the end of the run.
func (o *runOptions) parseReport(once bool) error {
	if !o.report.Given() {
		return nil
	}
	if !o.watch && !once {
		return cli.BadInputf("--report is written at the end of the run: give --watch too")
	}
	return o.report.Parse()
}

// objects returns the objects that the flags or the file declare.
func (o runOptions) objects(cmd *cobra.Command, args []string, f *loadFlags) ([]*unstructured.Unstructured, error) {
	if err := o.check(args, f.storageClass != ""); err != nil {
		return nil, err
	}
	name := strings.Join(args, "")
	if o.file == "" {
		u, err := f.benchmark(cmp.Or(name, "class-"+f.storageClass))
		if err != nil {
			return nil, err
		}
		return []*unstructured.Unstructured{u}, o.setNames([]*unstructured.Unstructured{u}, "")
	}
	if given := cli.Given(cmd.Flags(), new(loadFlags).register); len(given) > 0 {
		return nil, fmt.Errorf("%s does not go with -f: change the file instead", strings.Join(given, ", "))
	}
	objects, err := readObjects(cmd.Context(), cmd.InOrStdin(), o.file)
	if err != nil {
		return nil, err
	}
	return objects, o.setNames(objects, name)
}

func (o runOptions) check(args []string, named bool) error {
	switch {
	case o.dryRun != "none" && o.dryRun != "client" && o.dryRun != "server":
		return fmt.Errorf("--dry-run is %q; use none, client or server", o.dryRun)
	case o.watch && o.dryRun != "none":
		return errors.New("with --dry-run there is nothing to watch: leave out one of the two")
	case o.file == "" && len(args) == 0 && !named:
		return errors.New("nothing to run: give a NAME with --export, --claim or --embedded, or --storage-class, or a file " +
			"with -f")
	}
	return nil
}

// setNames gives the one object of a file the name of the command line, and applies --generate-name.
func (o runOptions) setNames(objects []*unstructured.Unstructured, name string) error {
	if len(objects) > 1 && (name != "" || o.watch) {
		return fmt.Errorf("the file has %d objects, and NAME and --watch are for one: give a file with one", len(objects))
	}
	for _, u := range objects {
		u.SetName(cmp.Or(name, u.GetName()))
		if o.generateName && u.GetName() != "" {
			u.SetGenerateName(u.GetName() + "-")
			u.SetName("")
		}
		if u.GetName() == "" && u.GetGenerateName() == "" {
			return fmt.Errorf("the %s has no metadata.name: give NAME", u.GetKind())
		}
	}
	return nil
}

// run creates and prints the objects, and with --watch watches the only one.
func (a *app) run(cmd *cobra.Command, objects []*unstructured.Unstructured, o runOptions) error {
	how := genericclioptions.NewPrintFlags("created").WithDefaultOutput(o.output)
	if o.dryRun != "none" {
		_ = how.Complete("%s (" + o.dryRun + " dry run)") // never fails
	}
	printer, err := how.ToPrinter()
	if err != nil {
		return cli.BadInput(err)
	}
	show := func() error {
		for _, u := range objects {
			if err := printer.PrintObj(u, cmd.OutOrStdout()); err != nil {
				return err
			}
		}
		return nil
	}
	if o.dryRun == "client" {
		return show()
	}
	c, err := a.connect(a)
	if err != nil {
		return err
	}
	for _, u := range objects {
		if err := c.create(cmd.Context(), u, o); err != nil {
			return c.explainClass(cmd.Context(), u, err)
		}
	}
	if err := show(); err != nil || !o.watch {
		return err
	}
	sayEstimate(cmd, objects[0])
	c.turnTo(objects[0].GetNamespace())
	ref := "nfsb/" + objects[0].GetName()
	if objects[0].GetKind() == suiteKind {
		ref = "suite/" + objects[0].GetName()
	}
	return a.watch(cmd, c, ref, 0, o.report)
}

// create creates one object, and first checks a suite.
func (c *cluster) create(ctx context.Context, u *unstructured.Unstructured, o runOptions) error {
	if u.GetKind() == suiteKind {
		tried := u.DeepCopy()
		err := c.post(ctx, tried, runOptions{dryRun: "server"})
		if err == nil {
			_, err = checkSuite(tried)
		}
		if err != nil || o.dryRun == "server" {
			u.Object = tried.Object
			return err
		}
	}
	return c.post(ctx, u, o)
}

// post sends one object to the API server, which rejects unknown fields: with a misspelt field, a different benchmark
// would run.
func (c *cluster) post(ctx context.Context, u *unstructured.Unstructured, o runOptions) error {
	switch ns := u.GetNamespace(); {
	case ns == "":
		u.SetNamespace(c.namespace)
	case c.explicit && ns != c.namespace:
		return cli.BadInputf("%q has namespace %q in the file and %q in -n: leave out one of the two", u.GetName(), ns,
			c.namespace)
	}
	options := []client.CreateOption{client.FieldValidation("Strict")}
	if o.dryRun == "server" {
		options = append(options, client.DryRunAll)
	}
	return c.Create(ctx, u, options...)
}

var errSuite = errors.New("the operator would refuse the suite")

// checkSuite checks what the CRD cannot: cells, patches, schedule. Without it, people find these errors in the status
// of a suite that exists already. u has the defaults of the cluster.
func checkSuite(u *unstructured.Unstructured) (*matrix.Matrix, error) {
	s := &v1alpha1.NFSBenchmarkSuite{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, s); err != nil {
		return nil, err
	}
	checker, err := crdcheck.New()
	if err != nil {
		return nil, err
	}
	m, err := matrix.Expand(s)
	if err == nil {
		err = errors.Join(matrix.Check(m, s, checker), workflow.CheckSize(s, m))
	}
	if err != nil {
		return nil, cli.BadInputf("%w, by version %s of this program ('kubectl apply -f' does not check it): %w", errSuite,
			cli.Version(version), err)
	}
	return &m, nil
}
