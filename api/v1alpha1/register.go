package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this API.
var GroupVersion = schema.GroupVersion{Group: "nfsbench.io", Version: "v1alpha1"}

// SchemeBuilder collects the functions that add our types to a scheme.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds our types to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &NFSBenchmark{}, &NFSBenchmarkList{}, &NFSBenchmarkSuite{}, &NFSBenchmarkSuiteList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
