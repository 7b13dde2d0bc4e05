package main

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// cluster is the API server that the flags name, as this user sees it.
type cluster struct {
	client.Client
	namespace string
	explicit  bool // namespace was given with --namespace
	logs      logSource
}

// logSource opens the log of a container.
type logSource func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// connect makes the client that the flags ask for. Nothing is sent yet.
func connect(a *app) (*cluster, error) {
	namespace, explicit, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubectl-nfsbench/" + versionText()
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	logs := func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return set.CoreV1().Pods(namespace).GetLogs(pod, o).Stream(ctx)
	}
	return &cluster{Client: c, namespace: namespace, explicit: explicit, logs: logs}, nil
}
