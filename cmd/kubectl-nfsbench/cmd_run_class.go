package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// classSeconds is how long a class is measured where --duration says nothing.
	classSeconds = 180
	// classRounds are as many as make two metrics significant after their correction.
	classRounds = 5
	// leastRoundSeconds is the shortest measurement of a comparison.
	leastRoundSeconds = 5
	// leastAround and mostAround bound the warm-up and the baseline of a round, in seconds.
	leastAround, mostAround = 2, 10
	// removalPatience bounds the wait for the volume of a run, which the operator gives up after 3 minutes.
	removalPatience = 5 * time.Minute
)

// once says that the flags measure a class and leave nothing.
func (f *loadFlags) once(o runOptions, args []string) bool {
	return f.storageClass != "" && len(args) == 0 && o.file == "" && o.dryRun == "none"
}

// runClass measures a class, or two in turns, and removes what it made.
func (a *app) runClass(cmd *cobra.Command, f *loadFlags) error {
	fs := cmd.Flags()
	if !fs.Changed("duration") {
		if err := fs.Set("duration", fmt.Sprintf("%ds", classSeconds)); err != nil {
			return err
		}
	}
	if f.compare != "" {
		return a.compareClasses(cmd, f)
	}
	u, err := f.ofClass(f.storageClass, 0)
	if err != nil {
		return cli.BadInput(err)
	}
	c, err := a.connect(a)
	if err != nil {
		return err
	}
	return a.measure(cmd, c, u, func(b *v1alpha1.NFSBenchmark) error {
		return a.report(cmd, c, found{benchmark: b}, cli.Destination{})
	})
}

// ofClass is the benchmark of one measurement. Its window has so many seconds, or those of --duration for 0.
func (f *loadFlags) ofClass(class string, seconds int64) (*unstructured.Unstructured, error) {
	one := *f
	one.storageClass = class
	u, err := one.benchmark("")
	if err != nil {
		return nil, err
	}
	u.SetName("")
	u.SetGenerateName("class-" + class + "-")
	if seconds == 0 {
		return u, nil
	}
	// Many short runs: what is before the measurement takes no longer than it.
	around := min(max(seconds/3, leastAround), mostAround)
	return u, errors.Join(
		unstructured.SetNestedField(u.Object, seconds, "spec", "run", "durationSeconds"),
		unstructured.SetNestedField(u.Object, around, "spec", "run", "warmupSeconds"),
		unstructured.SetNestedField(u.Object, around, "spec", "run", "baselineSeconds"))
}

// compareClasses measures two classes in turns, the other one first each time, so that what
// changes with time changes both.
func (a *app) compareClasses(cmd *cobra.Command, f *loadFlags) error {
	significance := runfile.SuiteSignificance{
		Alpha: runfile.DefaultAlpha, MinimumEffect: runfile.DefaultMinimumEffect, Correction: runfile.DefaultCorrection,
	}
	classes := [2]string{f.storageClass, f.compare}
	if classes[0] == classes[1] {
		return cli.BadInputf("class %q is compared with itself: name another one in --compare", f.compare)
	}
	total, err := cmd.Flags().GetDuration("duration")
	if err != nil {
		return err
	}
	each := max(int64(total/time.Second)/classRounds, leastRoundSeconds)
	c, err := a.connect(a)
	if err != nil {
		return err
	}
	samples := []compare.Side{{Name: classes[0]}, {Name: classes[1]}}
	for n := range 2 * classRounds {
		side := &samples[(n+n/2)%2]
		fmt.Fprintf(cmd.ErrOrStderr(), "Round %d of %d: %s, %d s\n", n/2+1, classRounds, side.Name, each)
		u, err := f.ofClass(side.Name, each)
		if err != nil {
			return cli.BadInput(err)
		}
		if err := a.measure(cmd, c, u, func(b *v1alpha1.NFSBenchmark) error { return c.sample(cmd, b, side) }); err != nil {
			return err
		}
	}
	table := compare.Run(compare.Request{Sides: samples, SuiteSignificance: significance})
	return report.CompareText(cmd.OutOrStdout(), table, cli.TextOptions(cmd.OutOrStdout()))
}

// sample adds the numbers of a run to one side of a comparison.
func (c *cluster) sample(cmd *cobra.Command, b *v1alpha1.NFSBenchmark, side *compare.Side) error {
	res, err := archive.Result(cmd.Context(), c, b)
	if err != nil {
		return err
	}
	if j := judge.Judge(res); j.Validity == bench.ValidityInvalid {
		return fmt.Errorf("the numbers of class %s are Invalid: 'kubectl nfsbench run --storage-class %s' shows why",
			side.Name, side.Name)
	}
	side.Points = append(side.Points, judge.Points(res)...)
	return nil
}

// measure creates a benchmark, follows it to its end, hands it to use if it succeeded, and removes
// it with all that it made, also after Ctrl-C.
func (a *app) measure(
	cmd *cobra.Command, c *cluster, u *unstructured.Unstructured, use func(*v1alpha1.NFSBenchmark) error,
) (err error) {
	if err := c.create(cmd.Context(), u, runOptions{dryRun: "none"}); err != nil {
		return err
	}
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
		writeBenchmark(cmd.OutOrStdout(), last.benchmark)
		return fmt.Errorf("%s ended as %s: %s", b.Name, last.benchmark.Status.Phase, last.benchmark.Status.Message)
	}
	return use(last.benchmark)
}

// removeAll deletes a benchmark and waits until the operator has removed what it made. The command may
// have been left by then.
func (a *app) removeAll(cmd *cobra.Command, c *cluster, b *v1alpha1.NFSBenchmark) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), removalPatience)
	defer cancel()
	fmt.Fprintf(cmd.ErrOrStderr(), "Removing %s, its claim and its volume\n", b.Name)
	uid := client.Preconditions{UID: &b.UID}
	if err := c.Delete(ctx, b, uid); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%s could not be removed: %w; kubectl -n %s delete nfsb %s", b.Name, err, b.Namespace, b.Name)
	}
	tick := time.NewTicker(a.every)
	defer tick.Stop()
	for {
		now := &v1alpha1.NFSBenchmark{}
		err := c.Get(ctx, client.ObjectKeyFromObject(b), now)
		if apierrors.IsNotFound(err) || err == nil && now.UID != b.UID {
			return nil
		}
		select {
		case <-ctx.Done():
			why := "see kubectl -n " + b.Namespace + " describe nfsb " + b.Name
			if s := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionCleanedUp); s != nil && s.Message != "" {
				why = s.Message + "; " + why
			}
			return fmt.Errorf("%s is not yet removed after %s: %s", b.Name, removalPatience, why)
		case <-tick.C:
		}
	}
}

// checkClass refuses flags that need a class.
func (f *loadFlags) checkClass(fs *pflag.FlagSet, o runOptions, args []string) error {
	if o.file != "" {
		return nil // which goes with none of them
	}
	for _, flag := range []string{"size", "compare"} {
		if fs.Changed(flag) && f.storageClass == "" {
			return fmt.Errorf("--%s goes with --storage-class: give both", flag)
		}
	}
	switch once := f.once(o, args); {
	case f.compare != "" && !once:
		return errors.New("--compare measures at once and keeps nothing: leave out NAME and --dry-run")
	case once && (o.watch || o.output != "" || o.generateName):
		return errors.New("--storage-class without NAME measures at once and keeps nothing: leave out --watch, --output " +
			"and --generate-name, or give a NAME")
	}
	return nil
}
