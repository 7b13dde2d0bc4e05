package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/yamlbound"
)

// maxManifestBytes bounds a file; the API server accepts no more either.
const maxManifestBytes = 3 << 20

// readObjects reads the benchmarks and suites of a file, or of in if name is -.
func readObjects(ctx context.Context, in io.Reader, name string) ([]*unstructured.Unstructured, error) {
	data, err := cli.ReadInput(ctx, in, name, "manifest", maxManifestBytes)
	if err != nil {
		return nil, err
	}
	objects, err := parseObjects(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return objects, nil
}

func parseObjects(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	buffer := make([]byte, len(data)+1) // no document is longer
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		if err := yamlbound.UnmarshalStrict(buffer[:n], maxManifestBytes, &object); err != nil {
			return nil, err
		}
		if len(object) == 0 {
			continue // nothing but comments
		}
		found, err := ours(&unstructured.Unstructured{Object: object})
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	if len(objects) == 0 {
		return nil, errors.New("there is no benchmark and no suite in it")
	}
	return objects, nil
}

// ours returns a benchmark or suite, or all items of a list. It rejects other kinds.
func ours(u *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if u.IsList() {
		var all []*unstructured.Unstructured
		err := u.EachListItem(func(item runtime.Object) error {
			one, err := ours(item.(*unstructured.Unstructured)) //nolint:errcheck,forcetypeassert // lists of Unstructured hold nothing else
			all = append(all, one...)
			return err
		})
		return all, err
	}
	kind := u.GetKind()
	if u.GetAPIVersion() != v1alpha1.GroupVersion.String() || kind != benchmarkKind && kind != suiteKind {
		return nil, fmt.Errorf("it has a %s of %s, and this creates %s and %s of %s only: use 'kubectl apply -f' for the "+
			"others",
			kind, u.GetAPIVersion(), benchmarkKind, suiteKind, v1alpha1.GroupVersion)
	}
	return []*unstructured.Unstructured{asNew(u)}, nil
}

// asNew removes the fields that belong to the existing object, not to a new one.
func asNew(u *unstructured.Unstructured) *unstructured.Unstructured {
	delete(u.Object, "status")
	if u.GetResourceVersion() != "" {
		// The object comes from a cluster, where users and controllers added fields.
		unstructured.RemoveNestedField(u.Object, "spec", "suspend")
		unstructured.RemoveNestedField(u.Object, "spec", "shutdown")
		annotations := u.GetAnnotations()
		for _, name := range []string{
			"kubectl.kubernetes.io/last-applied-configuration", v1alpha1.AnnotationRerun,
			v1alpha1.AnnotationResubmit, v1alpha1.AnnotationAcceptRun,
		} {
			delete(annotations, name)
		}
		u.SetAnnotations(annotations)
		labels := u.GetLabels()
		for _, name := range []string{
			v1alpha1.LabelSuite, v1alpha1.LabelSuiteRun, v1alpha1.LabelCell,
			v1alpha1.LabelRepetition, v1alpha1.LabelPosition, v1alpha1.LabelAttempt,
		} {
			delete(labels, name) // or a suite would count the copy as its own
		}
		u.SetLabels(labels)
	}
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "finalizers", "managedFields", "ownerReferences", "selfLink",
	} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u
}
