// Package e2e tests the operator as it is installed, on a real cluster, with a
// real NFS server beside it as the array. What a lower level can show is tested
// there.
//
// hack/test.sh e2e prepares both and sets NFSBENCH_E2E and the LAB_ variables;
// without them every test is skipped. The tests run one after another, because
// two loads at once would disturb each other. Faults of single runs are the
// exception: each has a LIF of its own behind a slow link, and what they look
// at is how a run ends and not how fast it was.
package e2e
