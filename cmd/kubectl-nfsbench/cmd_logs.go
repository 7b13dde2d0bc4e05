package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

type logOptions struct {
	container string
	client    int
	follow    bool
	tail      int64
}

func newLogsCommand(a *app) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "logs NAME|suite/NAME",
		Short: "Show the logs of a run's pods, or what is kept of them",
		Long: `Shows the logs of the pods of a benchmark; of a suite, those of the benchmark
under way. Without -c it is the loader, or the survey while an array is asked. When
the pods are gone, what status and result have kept is shown instead.`,
		Example: `  kubectl nfsbench logs demo
  kubectl nfsbench logs demo -c collector --client 1
  kubectl nfsbench logs suite/protocols -f`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(a, anyKind, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			b, err := c.underWay(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showLogs(cmd, c, b, o)
		},
	}
	cmd.Flags().StringVarP(&o.container, "container", "c", "", "loader, collector, database, survey or server")
	cmd.Flags().IntVar(&o.client, "client", -1, "only of the client with this index (default: all)")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on as the log grows")
	cmd.Flags().Int64Var(&o.tail, "tail", -1, "only so many lines of each (default: all)")
	completeValues(cmd, "container", manifest.ContainerLoader, manifest.ContainerCollector, manifest.ContainerDatabase, manifest.ContainerSurvey)
	return cmd
}

// underWay is the benchmark that an argument means: of a suite, the current one.
func (c *cluster) underWay(ctx context.Context, arg string) (*v1alpha1.NFSBenchmark, error) {
	f, err := c.find(ctx, arg)
	if err != nil || f.benchmark != nil {
		return f.benchmark, err
	}
	current := f.current()
	if current == "" {
		return nil, badInput(fmt.Errorf("%s has no benchmark under way: name one; 'kubectl get nfsb -n %s -l %s=%s' lists them", f.ref(), c.namespace, v1alpha1.LabelSuite, f.suite.Name))
	}
	f, err = c.find(ctx, "nfsb/"+current)
	return f.benchmark, err
}

// stream is the log of one container.
type stream struct{ pod, container, label string }

func (a *app) showLogs(cmd *cobra.Command, c *cluster, b *v1alpha1.NFSBenchmark, o logOptions) error {
	var pods corev1.PodList
	err := c.List(cmd.Context(), &pods, client.InNamespace(b.Namespace), client.MatchingLabels{manifest.LabelUID: string(b.UID)})
	if err != nil {
		return err
	}
	streams, err := chooseStreams(b.Name, pods.Items, o)
	if err != nil {
		return err
	}
	if len(streams) == 0 {
		return c.showKept(cmd, b)
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(cmd.Context())
	for _, s := range streams {
		prefix := ""
		if len(streams) > 1 {
			prefix = "[" + s.label + "] "
		}
		show := func() error {
			return a.copyLog(ctx, c, b.Namespace, s, o, &lineWriter{w: cmd.OutOrStdout(), mu: &mu, prefix: prefix})
		}
		if o.follow {
			group.Go(show)
		} else if err := show(); err != nil { // one after the other, so that they stay in order
			return err
		}
	}
	err = group.Wait()
	if cmd.Context().Err() != nil {
		return errLeft
	}
	return err
}

// chooseStreams are the containers that the flags mean; none if no pod is left.
func chooseStreams(name string, pods []corev1.Pod, o logOptions) ([]stream, error) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(indexOf(a), indexOf(b)), cmp.Compare(a.Name, b.Name))
	})
	container := o.container
	if container == "" {
		container = manifest.ContainerLoader
		if len(with(pods, container)) == 0 {
			container = manifest.ContainerSurvey
		}
	}
	var streams []stream
	for _, p := range with(pods, container) {
		if index := indexOf(p); o.client < 0 || index == o.client {
			streams = append(streams, stream{p.Name, container, fmt.Sprintf("client-%d/%s", max(index, 0), container)})
		}
	}
	switch {
	case len(streams) > 0 || len(pods) == 0:
		return streams, nil
	case len(with(pods, container)) > 0:
		return nil, badInput(fmt.Errorf("%q has no client %d: its clients are 0 to %d", name, o.client, len(with(pods, container))-1))
	case o.container != "":
		return nil, badInput(fmt.Errorf("no pod of %q has a container %q; there is %s", name, o.container, listed(containersOf(pods))))
	}
	return nil, nil
}

func with(pods []corev1.Pod, container string) []corev1.Pod {
	var have []corev1.Pod
	for i := range pods {
		if slices.Contains(containersOf(pods[i:i+1]), container) {
			have = append(have, pods[i])
		}
	}
	return have
}

func containersOf(pods []corev1.Pod) []string {
	var names []string
	for i := range pods {
		s := &pods[i].Spec
		for _, c := range slices.Concat(s.Containers, s.InitContainers) {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// indexOf is the index of a client's pod; -1 of others.
func indexOf(p corev1.Pod) int {
	text := p.Labels[batchv1.JobCompletionIndexAnnotation]
	if text == "" {
		text = p.Annotations[batchv1.JobCompletionIndexAnnotation]
	}
	i, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return i
}

// copyLog copies one log. Following waits for a container that has not started.
func (a *app) copyLog(ctx context.Context, c *cluster, namespace string, s stream, o logOptions, w *lineWriter) error {
	options := &corev1.PodLogOptions{Container: s.container, Follow: o.follow}
	if o.tail >= 0 {
		options.TailLines = &o.tail
	}
	for {
		r, err := c.logs(ctx, namespace, s.pod, options)
		if err == nil {
			defer func() { _ = r.Close() }() // it was read
			return w.copy(r)
		}
		if !o.follow || !apierrors.IsBadRequest(err) {
			return fmt.Errorf("log of container %s of pod %s: %w", s.container, s.pod, err)
		}
		wait := time.NewTimer(a.every)
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
	}
}

// lineWriter writes whole lines of several logs, each with its prefix.
type lineWriter struct {
	w      io.Writer
	mu     *sync.Mutex
	prefix string
}

func (l *lineWriter) copy(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			l.mu.Lock()
			fmt.Fprintln(l.w, l.prefix+strings.TrimSuffix(line, "\n"))
			l.mu.Unlock()
		}
		if err == io.EOF { //nolint:errorlint // readers return it as it is
			return nil
		}
		if err != nil {
			return err
		}
	}
}
