// Package v1alpha1 is the API of nfsbench: what a user declares and reads. The types that the plan and
// the result of a run share with it are in package bench.
//
// +kubebuilder:object:generate=true
// +groupName=nfsbench.io
package v1alpha1
