package main

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestThePolicyOfANamespaceIsShown(t *testing.T) {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "nfsbench-system", Name: "nfsbench-policy"},
		Data: map[string]string{"policy.yaml": `
exports:
- {server: 192.0.2.0/24, path: /vol/bench, namespaces: [team-a]}
- {server: nas2.example, path: /hr, namespaces: [hr]}
backends:
- {name: filer1, managementLIF: 192.0.2.5, svm: svm1, credentialsSecretName: top, insecureSkipVerify: true, namespaces: ["*"]}
hostNetwork: [team-a, hr]
limits: {clients: 7}
`},
	}
	s := newShell(t, cm)
	got := s.run("policy", "-n", "team-a").mustEnd(t, 0).out
	for _, want := range []string{
		"NAMESPACE team-a", "192.0.2.0/24  /vol/bench/ and below", "filer1  SVM svm1 at 192.0.2.5  ontap-nas", "at most 50Gi", "at most 7 for", "(pods.hostNetwork): yes",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	for _, secret := range []string{"hr", "nas2", "top"} {
		if strings.Contains(got, secret) {
			t.Errorf("shows %q, which is not of this namespace:\n%s", secret, got)
		}
	}
	if got := s.run("policy", "-n", "team-b").mustEnd(t, 0).out; !strings.Contains(got, "database containers): none") || !strings.Contains(got, "(pods.hostNetwork): no\n") {
		t.Errorf("another namespace:\n%s", got)
	}
	if got := s.run("policy", "--operator-namespace", "ops").mustEnd(t, 2).err; !strings.Contains(got, "--operator-namespace") {
		t.Errorf("without the ConfigMap: %s", got)
	}
	s.client = interceptor.NewClient(s.client, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "nfsbench-policy", nil)
		},
	})
	if got := s.run("policy").mustEnd(t, 1).err; !strings.Contains(got, "rbac.policyReaders") {
		t.Errorf("without the right: %s", got)
	}
}
