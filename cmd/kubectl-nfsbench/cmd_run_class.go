package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
)

const (
	// classSeconds is the default measured window for a class.
	classSeconds = 180
	// removalPatience bounds the wait for the removal of a volume. The operator gives up after 3 minutes.
	removalPatience = 5 * time.Minute
)

// once reports whether the flags measure a class and keep nothing.
func (f *loadFlags) once(o runOptions, args []string) bool {
	return f.storageClass != "" && len(args) == 0 && o.file == "" && o.dryRun == "none"
}

// runClass measures a class, prints the report, and removes the benchmark with all that it made, also
// after a failure or Ctrl-C.
func (a *app) runClass(cmd *cobra.Command, f *loadFlags, to cli.Destination) (err error) {
	fs := cmd.Flags()
	if !fs.Changed("duration") {
		if err := fs.Set("duration", fmt.Sprintf("%ds", classSeconds)); err != nil {
			return err
		}
	}
	u, err := f.benchmark("")
	if err != nil {
		return cli.BadInput(err)
	}
	u.SetName("")
	u.SetGenerateName("class-" + f.storageClass + "-")
	c, err := a.connect(a)
	if err != nil {
		return err
	}
	if err := c.create(cmd.Context(), u, runOptions{dryRun: "none"}); err != nil {
		return c.explainClass(cmd.Context(), u, err)
	}
	sayEstimate(cmd, u)
	c = &cluster{Client: c.Client, namespace: u.GetNamespace(), explicit: c.explicit}
	b := &v1alpha1.NFSBenchmark{}
	b.SetNamespace(u.GetNamespace())
	b.SetName(u.GetName())
	b.SetUID(u.GetUID())
	defer func() { err = errors.Join(err, a.removeAll(cmd, c, b)) }()
	last, err := a.follow(cmd.Context(), c, found{benchmark: b}, newProgress(cmd.ErrOrStderr(), a.now))
	switch {
	case cmd.Context().Err() != nil:
		return cli.Coded(cli.ExitLeft, errors.New("left"))
	case err != nil:
		return err
	case last.benchmark.Status.Phase != v1alpha1.PhaseSucceeded:
		return errors.Join(writeStatus(cmd.OutOrStdout(), last, false), benchmarkEnd(last.benchmark))
	}
	if to.Given() {
		err = a.report(cmd, c, last, to)
	}
	return errors.Join(err, a.report(cmd, c, last, cli.Destination{}), benchmarkEnd(last.benchmark))
}

// findClass returns a StorageClass, or a message that it does not exist.
func (c *cluster) findClass(ctx context.Context, name string) (*storagev1.StorageClass, string, error) {
	var all storagev1.StorageClassList
	if err := c.List(ctx, &all); err != nil {
		return nil, "", err
	}
	var names []string
	for i, class := range all.Items {
		if class.Name == name {
			return &all.Items[i], "", nil
		}
		if class.Labels[manifest.LabelManagedBy] != manifest.ManagedBy { // such a class serves one benchmark only
			names = append(names, class.Name)
		}
	}
	return nil, fmt.Sprintf("there is no StorageClass %q; %s", name, human.Others(name, names)), nil
}

// explainClass explains why a benchmark is refused. A class that does not exist comes before all else.
func (c *cluster) explainClass(ctx context.Context, u *unstructured.Unstructured, err error) error {
	b := &v1alpha1.NFSBenchmark{}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b) // what does not fit is not a class
	_, name := plan.ClassOf(b.Spec.Storage)
	if name == "" || !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		return explain(err)
	}
	if _, missing, listErr := c.findClass(ctx, name); listErr == nil && missing != "" { // not everybody may list them
		return cli.BadInputf("%s", missing)
	}
	return explain(err)
}

// removeAll deletes a benchmark and waits until the operator has removed all that the benchmark made, also after
// Ctrl-C.
func (a *app) removeAll(cmd *cobra.Command, c *cluster, b *v1alpha1.NFSBenchmark) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), removalPatience)
	defer cancel()
	fmt.Fprintf(cmd.ErrOrStderr(), "Removing %s, its claim and its volume\n", b.Name)
	uid := client.Preconditions{UID: &b.UID}
	if err := c.Delete(ctx, b, uid); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%s could not be removed: %w; kubectl -n %s delete nfsb %s", b.Name, err, b.Namespace, b.Name)
	}
	var now *v1alpha1.NFSBenchmark
	if wait.PollUntilContextCancel(ctx, a.every, true, func(ctx context.Context) (bool, error) {
		now = &v1alpha1.NFSBenchmark{}
		err := c.Get(ctx, client.ObjectKeyFromObject(b), now)
		return apierrors.IsNotFound(err) || err == nil && now.UID != b.UID, nil
	}) == nil {
		return nil
	}
	why := "see kubectl -n " + b.Namespace + " describe nfsb " + b.Name
	if s := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionCleanedUp); s != nil && s.Message != "" {
		why = s.Message + "; " + why
	}
	return fmt.Errorf("%s is not yet removed after %s: %s", b.Name, removalPatience, why)
}

// checkClass rejects --size without a class, and flags that do not fit a measurement that keeps nothing.
func (f *loadFlags) checkClass(fs *pflag.FlagSet, o runOptions, args []string) error {
	if o.file != "" {
		return nil // -f excludes all these flags
	}
	if fs.Changed("size") && f.storageClass == "" {
		return errors.New("--size goes with --storage-class: give both")
	}
	if f.once(o, args) && (o.watch || o.output != "" || o.generateName) {
		return errors.New("--storage-class without NAME measures at once and keeps nothing: leave out --watch, --output " +
			"and --generate-name, or give a NAME")
	}
	return nil
}
