// Package integration tests the API and the controller against a real API
// server.
//
// Reconcile is called by the test and never by a manager (but in one smoke
// test); the clock is stepped; the test plays the kubelet, the Job controller,
// the garbage collector and the collectors. Without KUBEBUILDER_ASSETS the tests
// skip and say so; make test sets it.
package integration
