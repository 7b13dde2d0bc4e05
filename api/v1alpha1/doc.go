// Package v1alpha1 is the API of nfsbench: what a user declares and reads.
//
// Everything that can be refused is refused by the CRD itself, with CEL rules
// whose messages say what to change; no webhook is needed. What only the world
// can tell (an address that does not answer) becomes a condition.
//
// +kubebuilder:object:generate=true
// +groupName=nfsbench.io
package v1alpha1
