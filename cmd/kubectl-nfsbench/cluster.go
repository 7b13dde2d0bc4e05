package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// cluster is the API server that the flags name, as this user sees it.
type cluster struct {
	client.Client
	namespace string
	explicit  bool // namespace was given with --namespace
}

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
	return &cluster{Client: c, namespace: namespace, explicit: explicit}, nil
}
