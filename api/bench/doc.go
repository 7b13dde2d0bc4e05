// Package bench has the words of a benchmark: the types that say what is asked for and what was found,
// with their bounds and defaults. The API declares them to users, a plan carries them to the pods, and
// a result and its judgement name them. Programs without Kubernetes use them too, so this package
// imports nothing of Kubernetes but quantities.
//
// Everything that can be refused is refused by the CRD itself, with CEL rules
// whose messages say what to change; no webhook is needed. What only the world
// can tell (an address that does not answer) becomes a condition.
//
// +kubebuilder:object:generate=true
// +groupName=nfsbench.io
// +versionName=v1alpha1
package bench
