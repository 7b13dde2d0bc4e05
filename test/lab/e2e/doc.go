// Package e2e tests the operator as it is installed, on a real cluster, with a
// real NFS server beside it as the array. What a lower level can show is tested
// there.
//
// hack/test.sh prepares both and sets NFSBENCH_E2E, NFSBENCH_LAB and others;
// without them every test is skipped. The names say which part a test belongs to:
// TestGate runs in `make test`, TestSuite needs Argo Workflows, TestKernelNode needs
// a node whose kernel mounts NFS, TestMeasure depends on speed and runs in `make
// measure`, and all others are the rest.
//
// The tests run beside each other, each in a namespace and on LIFs of its own, from
// a pool of links that are so slow that a full one costs little processor time. They
// look at how a run ends; how fast it was they record at most. The few tests that disturb the
// whole cluster run one after another before the others.
package e2e
