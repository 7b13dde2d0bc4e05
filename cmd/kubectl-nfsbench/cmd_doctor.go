package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The names of the checks that need no pod.
const (
	checkBenchmark = "benchmark"
	checkOfSuite   = "suite"
	checkPolicy    = "policy"
	checkSecret    = "secret"
	checkArray     = "array"
	checkStorage   = "storage"
	checkPlan      = "plan"
	checkMemory    = "memory and CPU"
	checkSize      = "size"
	checkNamespace = "namespace"
	checkPod       = "pod"
	checkImages    = "images"
)

type doctorOptions struct {
	file, output, image string
	policy              client.ObjectKey
	timeout             time.Duration
	load                loadFlags
}

// doctor is one examination.
type doctor struct {
	*cluster
	o      doctorOptions
	b      *v1alpha1.NFSBenchmark
	checks []runfile.Check
	out    io.Writer // receives each answer at once; nil = none
	errOut io.Writer
	now    func() time.Time
	every  time.Duration
}

func newDoctorCommand(a *app) *cobra.Command {
	o := doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor -f FILE | --export SERVER[,SERVER...]:/PATH | --claim CLAIM | --storage-class CLASS",
		Short: "Check whether a benchmark can run in this cluster, without running it",
		Long: `Check all preconditions of a benchmark, without running it and without starting a
database. Of a suite, check the cells and the schedule.

The command asks the API server whether it takes the benchmark, and looks at the policy,
the Secrets, the class and the volume as far as you may read them. What needs a pod runs in
one Job in the namespace of the benchmark: the pod of the benchmark, with its image,
privileges, resources and volume. It checks names, routes, ports, the export, and a small
file, which it removes again. In a database, it checks what the database needs to start; it
gives an empty volume to the user oracle, as the benchmark does, unless setPermissions is
Disabled. The command removes the Job at its end.

Each line is OK, WARN or FAIL, and says what to do. The exit code is 1 after a FAIL.`,
		Example: `  kubectl nfsbench doctor -f bench.yaml
  kubectl nfsbench doctor --export 192.0.2.11,198.51.100.11:/vol/oradata
  kubectl nfsbench doctor --storage-class ontap-nas

  # as JSON, with the image of a registry of your own
  kubectl nfsbench doctor -f bench.yaml --image registry.example/nfsbench:v1 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd, o) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.file, "filename", "f", "", "file with one benchmark, or one suite; - is standard input")
	fs.StringVarP(&o.output, "output", "o", "", "json: print all checks at the end")
	fs.StringVar(&o.image, "image", "", "image of nfsbench (default that of the operator's Deployment)")
	fs.StringVar(&o.policy.Namespace, "operator-namespace", "nfsbench-system", "namespace of the operator")
	fs.StringVar(&o.policy.Name, "configmap", "nfsbench-policy", "ConfigMap with the policy")
	fs.DurationVar(&o.timeout, "timeout", 15*time.Minute, "time for the pod, with the pulling of its images")
	cli.CompleteValues(cmd, "output", "json")
	o.load.registerStorage(cmd)
	fs.Lookup("storage-class").Usage = "a StorageClass: whether it exists, has a driver, and the policy allows it"
	return cmd
}

func (a *app) doctor(cmd *cobra.Command, o doctorOptions) error {
	switch {
	case o.output != "" && o.output != "json":
		return cli.BadInputf("--output is %q; use json, or leave it out", o.output)
	case o.timeout < time.Minute:
		return cli.BadInputf("--timeout is %s; use a minute or more, because images are pulled", o.timeout)
	}
	u, err := o.benchmark(cmd)
	if err != nil {
		return cli.BadInput(err)
	}
	c, err := a.connect(a)
	if err != nil {
		return err
	}
	d := &doctor{cluster: c, o: o, errOut: cmd.ErrOrStderr(), now: a.now, every: a.every}
	if o.output == "" {
		d.out = cmd.OutOrStdout()
	}
	if err := d.examine(cmd.Context(), u); err != nil {
		return err
	}
	if o.output == "json" {
		if err := cli.WriteJSON(cmd.OutOrStdout(), map[string]any{"checks": d.checks}); err != nil {
			return err
		}
	}
	return cli.FailedChecks(d.checks, "benchmark")
}

// benchmark returns the benchmark of the file or of the flags.
func (o *doctorOptions) benchmark(cmd *cobra.Command) (*unstructured.Unstructured, error) {
	given := cli.Given(cmd.Flags(), new(loadFlags).registerStorage)
	switch {
	case o.file == "" && len(given) == 0:
		return nil, errors.New("nothing to check: give a file with -f, or --export, --claim or --storage-class")
	case o.file == "":
		return o.load.benchmark("doctor")
	case len(given) > 0:
		return nil, fmt.Errorf("%s does not go with -f: change the file instead", strings.Join(given, ", "))
	}
	objects, err := readObjects(cmd.Context(), cmd.InOrStdin(), o.file)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s has %d objects: give a file with one", o.file, len(objects))
	}
	return objects[0], nil
}

// add keeps an answer on one line, and prints it if d.out is set. Parts of an answer come from the cluster and the pod.
func (d *doctor) add(check, result, format string, args ...any) {
	c := runfile.Check{Check: check, Result: result, Message: fmt.Sprintf(format, args...)}
	c.Check, c.Message = cli.OneLine(c.Check), cli.OneLine(c.Message)
	d.checks = append(d.checks, c)
	if d.out != nil {
		cli.WriteCheck(d.out, c)
	}
}

func (d *doctor) ok(check, format string, args ...any) {
	d.add(check, runfile.CheckOK, format, args...)
}

func (d *doctor) warn(check, format string, args ...any) {
	d.add(check, runfile.CheckWarn, format, args...)
}

func (d *doctor) fail(check, format string, args ...any) {
	d.add(check, runfile.CheckFail, format, args...)
}

func (d *doctor) examine(ctx context.Context, u *unstructured.Unstructured) error {
	if u.GetKind() == suiteKind {
		return d.examineSuite(ctx, u)
	}
	if ok, err := d.admitted(ctx, u); err != nil || !ok {
		return err
	}
	if d.lookAtClass(ctx) {
		d.lookAtPolicy(ctx)
	}
	target, x := d.examination(ctx)
	idle := d.b.Spec.Database == nil && !x.Servers && x.Volume == nil // there is nothing that a pod could look at
	if x.Request == "" || idle {
		d.arrayNotAsked()
	}
	p, err := plan.Build(d.b, target)
	if err != nil {
		what := checkPlan
		if d.b.Spec.Database != nil {
			what = checkMemory
		}
		d.fail(what, "%s", err)
		return nil
	}
	if idle {
		return nil
	}
	if d.b.Spec.Database != nil {
		d.ok(checkMemory, "%s", d.memory(p))
		d.lookAtSize()
	}
	var text strings.Builder
	if err := runfile.WritePlan(&text, p); err != nil {
		return err
	}
	x.Plan, x.PlanText = p, text.String()
	return d.examinePod(ctx, x)
}

// examination checks Secrets and storage, and returns what the pod can check.
func (d *doctor) examination(ctx context.Context) (plan.Target, manifest.Examination) {
	usable := map[string]bool{} // Secrets
	for _, use := range plan.SecretUses(d.b) {
		usable[use.Name] = d.lookAtSecret(ctx, use)
	}
	target, known := d.target(ctx)
	x := manifest.Examination{LeastBytes: plan.DatabaseBytes(d.b), Seconds: int64(d.o.timeout / time.Second)}
	refused := func(c runfile.Check) bool {
		return c.Result == runfile.CheckFail && (c.Check == checkStorage || c.Check == checkPolicy)
	}
	if slices.ContainsFunc(d.checks, refused) {
		// The pod would wait for the volume, or use what the administrator does not allow. The other checks need no volume.
		return target, x
	}
	x.Volume, x.Servers = manifest.DoctorVolume(d.b, target), known
	if known && usable[plan.SecretName(d.b)] {
		x.Request = d.arrayRequest(target)
	}
	return target, x
}

// arrayNotAsked warns once of an array that the pod does not ask.
func (d *doctor) arrayNotAsked() {
	if !plan.HasSurvey(d.b) || slices.ContainsFunc(d.checks, func(c runfile.Check) bool { return c.Check == checkArray }) {
		return
	}
	d.warn(checkArray, "it was not asked: doctor asks it beside an export, if the spec has its address and you may read "+
		"its Secret. Try its management address and login with 'nfsbench survey'")
}

// arrayRequest returns what the pod asks the array; empty if its address is not known.
func (d *doctor) arrayRequest(t plan.Target) string {
	q, ok := plan.SurveyRequest(d.b, t)
	var text strings.Builder
	if !plan.HasSurvey(d.b) || !ok || runfile.WriteSurveyRequest(&text, q) != nil {
		return ""
	}
	return text.String()
}

// examineSuite checks the cells and the schedule of a suite, and not its storage.
func (d *doctor) examineSuite(ctx context.Context, u *unstructured.Unstructured) error {
	name, err := d.tryCreate(ctx, u, checkOfSuite)
	if name == "" || err != nil {
		return err
	}
	m, err := checkSuite(u)
	switch {
	case errors.Is(err, errSuite):
		d.fail(checkOfSuite, "%s", err)
		return nil
	case err != nil:
		return err
	}
	d.ok(checkOfSuite, "%q has %s and %s; to check its storage, give its spec.template as a benchmark", name,
		human.Count(len(m.Cells), "cell"), human.Count(len(m.Sequence), "benchmark"))
	return nil
}

// tryCreate asks the cluster whether it takes an object, which then has all defaults, and returns its name; empty if
// the check failed.
func (d *doctor) tryCreate(ctx context.Context, u *unstructured.Unstructured, check string) (string, error) {
	name := cmp.Or(u.GetName(), strings.TrimSuffix(u.GetGenerateName(), "-"))
	if name == "" {
		return "", cli.BadInputf("the %s has no metadata.name: give it one", check)
	}
	u.SetGenerateName(name + "-") // an object of that name may exist
	u.SetName("")
	err := d.post(ctx, u, runOptions{dryRun: "server"})
	switch {
	case err == nil:
		return name, nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
		d.fail(check, "%s", d.explainClass(ctx, u, err))
		return "", nil
	default:
		return "", err
	}
}

// admitted asks the API server whether it accepts the benchmark: fields, rules and, if the operator has cluster
// scope, the policy. It sets d.b to the benchmark with all defaults.
func (d *doctor) admitted(ctx context.Context, u *unstructured.Unstructured) (bool, error) {
	name, err := d.tryCreate(ctx, u, checkBenchmark)
	if name == "" || err != nil {
		return false, err
	}
	b := &v1alpha1.NFSBenchmark{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b); err != nil {
		return false, err
	}
	b.Name = name
	d.b = b
	d.ok(checkBenchmark, "the API server takes %q in namespace %s", name, b.Namespace)
	return true, nil
}

// lookAtPolicy evaluates the policy again, because the policy's admission rules exist only if the operator has
// cluster scope.
func (d *doctor) lookAtPolicy(ctx context.Context) {
	cm := &corev1.ConfigMap{}
	err := d.Get(ctx, d.o.policy, cm)
	if err != nil {
		d.warn(checkPolicy, "you may not read ConfigMap %s, or it does not exist, so only the API server has checked "+
			"the policy: ask an administrator to add you to rbac.policyReaders, or give --operator-namespace", d.o.policy)
		return
	}
	p, err := policy.Of(cm.Data)
	if err == nil {
		var checker *policy.Checker
		if checker, err = policy.NewChecker(); err == nil {
			err = checker.Check(p, d.b)
		}
	}
	if err == nil {
		if draft, unbuilt := plan.Build(d.b, plan.Anywhere()); unbuilt == nil { // otherwise, checkPlan fails
			err = p.CheckTime(plan.HoldTime(d.b, draft))
		}
	}
	if err != nil {
		d.fail(checkPolicy, "%s", err)
		return
	}
	d.ok(checkPolicy, "the policy in ConfigMap %s allows it", d.o.policy)
}

// lookAtSecret checks the label and the keys of a Secret, and reports whether the benchmark can use it. It never shows
// a value.
func (d *doctor) lookAtSecret(ctx context.Context, use plan.SecretUse) bool {
	secret := &corev1.Secret{}
	err := d.Get(ctx, client.ObjectKey{Namespace: d.b.Namespace, Name: use.Name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		d.fail(checkSecret, "there is no Secret %q in namespace %q, which %s names: create it with the label "+
			"%s=%s", use.Name, d.b.Namespace, use.Field, v1alpha1.LabelAllowUse, v1alpha1.UseAllowed)
		return false
	case err != nil:
		d.warn(checkSecret, "Secret %q, which %s names, was not checked (%s): it needs the label %s=%s",
			use.Name, use.Field, explain(err), v1alpha1.LabelAllowUse, v1alpha1.UseAllowed)
		return false
	case secret.Labels[v1alpha1.LabelAllowUse] != v1alpha1.UseAllowed:
		d.fail(checkSecret, "benchmarks may not use Secret %q, which %s names: kubectl -n %s label secret %s "+
			"%s=%s", use.Name, use.Field, d.b.Namespace, use.Name, v1alpha1.LabelAllowUse, v1alpha1.UseAllowed)
		return false
	}
	if problem := d.contents(use, secret.Data); problem != "" {
		d.fail(checkSecret, "Secret %q, which %s names, %s", use.Name, use.Field, problem)
		return false
	}
	d.ok(checkSecret, "%s of %s has the label and the keys", use.Name, use.Field)
	return true
}

// passwordCharacters need no quoting in the scripts of Oracle's images, in URLs and in SQL.
const passwordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// contents returns the problem with the keys of a database's Secret; empty = none.
func (d *doctor) contents(use plan.SecretUse, data map[string][]byte) string {
	db, keys := d.b.Spec.Database, []string(nil)
	if db == nil {
		return ""
	}
	switch {
	case db.Container != nil && strings.HasPrefix(use.Field, "spec.database.container"):
		keys = []string{cmp.Or(db.Container.PasswordSecretRef.Key, "password")}
	case db.External != nil && strings.HasPrefix(use.Field, "spec.database.external"):
		keys = []string{"username", "password"}
	}
	for _, key := range keys {
		raw, is := data[key]
		value := strings.TrimRight(string(raw), "\r\n") // editors add a line break, and all readers remove it
		switch {
		case !is:
			return fmt.Sprintf("has no key %q: create it again with --from-file=%s=FILE", key, key)
		case len(value) == 0:
			return fmt.Sprintf("has nothing in key %q: create it again", key)
		case strings.ContainsAny(value, "\r\n"):
			return fmt.Sprintf("has a line break within key %q: create it again with one line (printf '%%s' LINE > FILE)", key)
		case db.External != nil: // the loader quotes it
		case strings.Trim(value, passwordCharacters) != "":
			return fmt.Sprintf("has other characters than letters, digits and _ in key %q, which the scripts of Oracle's "+
				"images do not quote: use another password", key)
		}
	}
	return ""
}

// target returns the storage, as far as the user may read it, and whether its NFS servers are known.
func (d *doctor) target(ctx context.Context) (t plan.Target, known bool) {
	unknown := plan.Anywhere()
	var err error
	switch st := d.b.Spec.Storage; {
	case st.Export != nil:
		t = plan.Target{Export: st.Export.Path, Addresses: st.Export.Servers}
	case st.Claim != nil:
		if t, err = d.claimTarget(ctx, st.Claim.Name); err != nil {
			d.warn(checkStorage, "the NFS servers behind claim %q are not asked: %s", st.Claim.Name, explain(err))
			return unknown, false
		}
		if len(t.Addresses) == 0 {
			return unknown, false
		}
	case st.StorageClass != nil:
		return unknown, false
	case st.Embedded != nil:
		d.ok(checkStorage, "the run starts its own NFS server, for a trial")
		return unknown, false
	default:
		d.warn(checkStorage, "the run makes its volume, so no server is asked and nothing is written: check "+
			"a claim of the same class to see more")
		return unknown, false
	}
	if t.Paths, err = plan.SelectPaths(d.b.Spec, t.Addresses, nil); err != nil {
		t.Paths = runfile.ChannelsTo(t.Addresses...) // without a survey, any address may be a path
	}
	d.ok(checkStorage, "%s at %s", t.Export, strings.Join(t.Addresses, ", "))
	return t, true
}

// lookAtClass checks that the class of the spec exists, and reports false if it does not: its name may be a typo, about
// which the policy says nothing. Without the CSIDriver of a class it warns only: some provisioners have none. One whose
// name has a slash cannot have one.
func (d *doctor) lookAtClass(ctx context.Context) bool {
	_, name := plan.ClassOf(d.b.Spec.Storage)
	if name == "" {
		return true
	}
	class, missing, err := d.findClass(ctx, name)
	switch {
	case err != nil:
		d.warn(checkStorage, "StorageClass %q was not looked at: %s", name, explain(err))
	case missing != "":
		d.fail(checkStorage, "%s", missing)
		return false
	case !strings.Contains(class.Provisioner, "/") &&
		apierrors.IsNotFound(d.Get(ctx, client.ObjectKey{Name: class.Provisioner}, &storagev1.CSIDriver{})):
		d.warn(checkStorage, "StorageClass %q names the provisioner %q, and no CSIDriver of this name is installed: install "+
			"the driver, or name another class (kubectl get storageclass). A provisioner without a CSIDriver may still serve it",
			name, class.Provisioner)
	default:
		d.ok(checkStorage, "StorageClass %q exists; its server is only known once a claim of it is bound", name)
	}
	return true
}

// claimTarget reads the export behind a claim. If the claim cannot be used, it adds a failed check and returns a
// target without addresses.
func (d *doctor) claimTarget(ctx context.Context, name string) (plan.Target, error) {
	claim, pv := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	err := d.Get(ctx, client.ObjectKey{Namespace: d.b.Namespace, Name: name}, claim)
	switch {
	case apierrors.IsNotFound(err):
		d.fail(checkStorage, "there is no PersistentVolumeClaim %q in namespace %q: create it, or correct "+
			"spec.storage.claim.name", name, d.b.Namespace)
		return plan.Target{}, nil
	case err != nil:
		return plan.Target{}, err
	case claim.Status.Phase != corev1.ClaimBound && d.b.Spec.Protocol.Client == bench.ClientDirectNFS:
		d.fail(checkStorage, "claim %q is %s and not Bound: Direct NFS needs the export of its volume before "+
			"the first pod; see kubectl describe pvc %s", name, claim.Status.Phase, name)
		return plan.Target{}, nil
	}
	if err := d.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, pv); err != nil {
		return plan.Target{}, err
	}
	server, export, ok := plan.ExportOfVolume(pv)
	if !ok {
		return plan.Target{}, fmt.Errorf("PersistentVolume %q does not name them", pv.Name)
	}
	return plan.Target{Export: export, Addresses: []string{server}, ClaimName: name, VolumeName: pv.Name}, nil
}

// memory describes the memory parameters and the CPU count in the plan.
func (d *doctor) memory(p runfile.Plan) string {
	c := d.b.Spec.Database.Container
	if c == nil {
		return "those of the database that exists"
	}
	var out []string
	for _, name := range []string{"sga_target", "sga_max_size", "memory_target", "pga_aggregate_target", "cpu_count"} {
		if value := p.Database.Parameters[name]; value != "" {
			out = append(out, name+" "+value)
		}
	}
	i, more := plan.InstanceOf(c), ""
	if i.HugePagesBytes > 0 {
		more = " and " + human.Bytes(i.HugePagesBytes) + " of huge pages"
	}
	return fmt.Sprintf("%s, of %s%s", strings.Join(out, ", "), human.Bytes(i.MemoryBytes), more)
}

// lookAtSize compares the space that the load needs with the declared size of a new volume. The pod checks an
// existing volume.
func (d *doctor) lookAtSize() {
	c, need := d.b.Spec.Database.Container, plan.DatabaseBytes(d.b)
	if c == nil {
		return
	}
	declared, field := int64(0), ""
	switch st := d.b.Spec.Storage; {
	case st.Trident != nil:
		declared, field = st.Trident.Size.Value(), "storage.trident.size"
	case st.Embedded != nil:
		declared, field = st.Embedded.Size.Value(), "storage.embedded.size"
	}
	if field != "" && declared < need {
		d.fail(checkSize, "the tables of the load and the database take %s, and %s is %s: raise "+
			"it, or lower workload.slob.scale, schemas, redoLogSize or undoSize",
			human.Beyond(need, declared, human.Bytes), field, human.Bytes(declared))
		return
	}
	d.ok(checkSize, "the tables of the load and the database take %s", human.Bytes(need))
}

// images returns the image of --image, or else the image in the operator's Deployment.
func (d *doctor) images(ctx context.Context) (manifest.Images, error) {
	images := manifest.Images{NFSBench: d.o.image, PullPolicy: corev1.PullIfNotPresent}
	if d.o.image != "" {
		return images, nil
	}
	list := &appsv1.DeploymentList{}
	err := d.List(ctx, list, client.InNamespace(d.o.policy.Namespace))
	for _, deployment := range list.Items {
		for _, c := range deployment.Spec.Template.Spec.Containers {
			if image := argument(c.Args, "--image="); strings.Contains(image, "nfsbench") {
				images.NFSBench = image
				images.PullPolicy = cmp.Or(corev1.PullPolicy(argument(c.Args, "--image-pull-policy=")), images.PullPolicy)
				return images, nil
			}
		}
	}
	if err == nil {
		err = errors.New("no Deployment there has the argument --image")
	}
	return images, cli.BadInputf("the image of nfsbench is not known, because the operator's Deployment in namespace %s "+
		"was not read (%w): give --image, or --operator-namespace", d.o.policy.Namespace, explain(err))
}

// argument returns the rest of the first argument that begins with prefix; empty if there is none.
func argument(args []string, prefix string) string {
	for _, arg := range args {
		if value, is := strings.CutPrefix(arg, prefix); is {
			return value
		}
	}
	return ""
}

// imagesOf lists the images of a pod, each once.
func imagesOf(spec corev1.PodSpec) string {
	var all []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if !slices.Contains(all, c.Image) {
			all = append(all, c.Image)
		}
	}
	return strings.Join(all, ", ")
}
