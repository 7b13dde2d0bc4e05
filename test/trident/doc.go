// Package trident is a stand-in for the controller of NetApp Trident, for tests.
// It is not Trident: it watches TridentBackendConfigs and the claims of Trident's
// classes, and writes the objects that Trident would, with Trident's field names,
// in Trident's order. The volumes themselves come from an Array: one of two nodes
// that serves NFS in the end-to-end test, a list in the others.
//
// It does one thing at a time when it is told to, so that a test can look at
// every state in between; Run does it in a loop beside a cluster.
package trident
