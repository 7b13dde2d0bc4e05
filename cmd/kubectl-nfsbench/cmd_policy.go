package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/policy"
)

func newPolicyCommand(a *app) *cobra.Command {
	key := client.ObjectKey{}
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show what benchmarks of a namespace may use",
		Long: `Show what the policy of the cluster lets benchmarks of a namespace use: exports that
nodes mount, Trident backends, and limits.

The policy is a ConfigMap beside the operator. Administrators can read it, and those whom
they list in rbac.policyReaders of the chart.`,
		Example: `  kubectl nfsbench policy -n team-a`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(a)
			if err != nil {
				return err
			}
			cm := &corev1.ConfigMap{}
			err = c.Get(cmd.Context(), key, cm)
			switch {
			case apierrors.IsNotFound(err):
				return cli.BadInputf("there is no ConfigMap %s: name the namespace of the operator with --operator-namespace, "+
					"and the ConfigMap with --configmap", key)
			case apierrors.IsForbidden(err):
				return fmt.Errorf("you may not read the policy: ask an administrator to add you to rbac.policyReaders of the "+
					"chart: %v", err)
			case err != nil:
				return err
			}
			p, err := policy.Read(strings.NewReader(cm.Data[policy.Key]))
			if err != nil {
				return fmt.Errorf("ConfigMap %s: %w", key, err)
			}
			return writePolicy(cmd.OutOrStdout(), p, c.namespace)
		},
	}
	cmd.Flags().StringVar(&key.Namespace, "operator-namespace", "nfsbench-system", "namespace of the operator")
	cmd.Flags().StringVar(&key.Name, "configmap", "nfsbench-policy", "ConfigMap with the policy")
	return cmd
}

func writePolicy(w io.Writer, p policy.Policy, namespace string) error {
	mine := func(namespaces []string) bool {
		return slices.Contains(namespaces, namespace) || slices.Contains(namespaces, "*")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "NAMESPACE %s\n", namespace)
	exports := slices.DeleteFunc(slices.Clone(p.Exports), func(e policy.Export) bool { return !mine(e.Namespaces) })
	fmt.Fprintf(t, "\nExports that nodes mount (client Kernel, and database containers): %s\n", noneOf(exports))
	for _, e := range exports {
		fmt.Fprintf(t, "  %s\t%s and below\n", e.Server, strings.TrimSuffix(e.Path, "/")+"/")
	}
	backends := slices.DeleteFunc(slices.Clone(p.Backends), func(b policy.Backend) bool { return !mine(b.Namespaces) })
	fmt.Fprintf(t, "\nTrident backends (storage.trident.backendName): %s\n", noneOf(backends))
	for _, b := range backends {
		fmt.Fprintf(t, "  %s\tSVM %s at %s\t%s\n", b.Name, b.SVM, b.ManagementLIF, b.DriverName())
	}
	classes := slices.DeleteFunc(slices.Clone(p.StorageClasses),
		func(c policy.StorageClass) bool { return !mine(c.Namespaces) })
	fmt.Fprintf(t, "\nStorageClasses (storage.storageClass.name): %s\n", noneOf(classes))
	for _, c := range classes {
		bound := "any size"
		if c.MaxSize != "" {
			bound = "at most " + c.MaxSize
		}
		fmt.Fprintf(t, "  %s\t%s\n", c.Name, bound)
	}
	host := "no"
	if mine(p.HostNetwork) {
		host = "yes"
	}
	fmt.Fprintf(t, "\nHost network (pods.hostNetwork): %s\n", host)
	fmt.Fprintf(t, "Labels of pods (pods.labels):\t%s\n", listOf(p.Pods.Labels))
	fmt.Fprintf(t, "Priority classes:\t%s\n", listOf(p.Pods.PriorityClasses))
	fmt.Fprintf(t, "Runtime classes:\t%s\n", listOf(p.Pods.RuntimeClasses))
	fmt.Fprintf(t, "\nEmbedded server:\tat most %s\n", p.Embedded.MaxSize)
	fmt.Fprintf(t, "Load pods:\tat most %d for each benchmark\n", p.Limits.Clients)
	fmt.Fprintf(t, "Time of a run:\tat most %s\n", p.Limits.MaxHold.Duration)
	fmt.Fprintf(t, "Results:\tat most %s in the namespace\n", &p.Limits.ResultBytes)
	return t.Flush()
}

func listOf(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

func noneOf[T any](list []T) string {
	if len(list) == 0 {
		return "none"
	}
	return ""
}
