#!/usr/bin/env bash
# Run the tests, and say at the end which could not run and why.
#
# usage: hack/test.sh [all | unit | integration | growth | kernelnfs | e2e | suites | kernelnode]
#
#   unit         formatting, linters, generated files, unit, golden, fuzz seeds
#   integration  controllers and CRD against a real API server
#   growth       500 benchmarks at once, and 1,000 that are over, on a real API
#                server; pods faked by kwok
#   kernelnfs    the NFS of a Linux kernel, in a virtual machine without KVM
#   e2e          the operator on a real cluster, with NFS-Ganesha as the array
#   suites       suites on the real Argo Workflows on that cluster
#   kernelnode   benchmarks on a node in a virtual machine, whose kernel mounts NFS
#   all          all of these (default)
#
#   FORBID_SKIPS=1   a test that was skipped is a failure
#   CLUSTER          as for hack/cluster/up.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cluster/lib/env.sh"
source "$REPO_DIR/hack/lib/install.sh"
source "$REPO_DIR/hack/lib/gotest.sh"
cd "$REPO_DIR"

what=${1:-all}
case $what in
-h | --help) help_of "$0"; exit 0 ;;
all | unit | integration | growth | kernelnfs | e2e | suites | kernelnode) ;;
*) die "unknown part $what (see --help)" ;;
esac

step() { say ""; say "== $* ($((SECONDS / 60)) min $((SECONDS % 60)) s)"; }

started_lab=no started_node=no started_argo=no made_trident=no builder='' standins=()
finish() {
	local code=$?
	if [[ -n $builder ]]; then kill -- "-$builder" 2>/dev/null || true; fi
	if [[ $started_node == yes ]]; then hack/vm/node.sh down || true; fi
	if [[ $started_lab == yes ]]; then hack/lab/ganesha.sh down >/dev/null 2>&1 || true; fi
	if [[ -n ${KUBECTL:-} ]]; then
		step "cleaning up"
		uninstall_operator
		if [[ $started_argo == yes ]]; then hack/argo/down.sh || true; fi
		trident_end
		cluster_end
	fi
	summary || code=1
	exit $code
}
trap finish EXIT

lab_begin() {
	[[ $EUID == 0 ]] || return 0
	started_lab=yes
	eval "$(hack/lab/ganesha.sh up)"
	export ${!LAB_@}
}

# build_ahead builds the cluster's binaries with what the tests before leave of the
# processors. On a machine that has them it ends at once.
build_ahead() {
	setsid nice -n 19 sh -c 'hack/cluster/build.sh && hack/argo/build.sh' >/dev/null 2>&1 &
	builder=$!
}

# built waits for them; whoever needs them builds again what failed, and shows it.
built() {
	[[ -n $builder ]] || return 0
	say "waiting for the cluster's binaries ..."
	wait "$builder" || true
	builder=''
}

# strangers gets the programs of others that tests run beside ours.
strangers() {
	local folder
	if folder=$(hack/lab/monitors.sh); then export NFSBENCH_MONITORS=$folder; fi
	if folder=$(hack/argo/build.sh argo); then export NFSBENCH_ARGO_CLI=$folder/argo; fi
	if folder=$(hack/browser.sh); then export NFSBENCH_BROWSER=$folder; fi
	command -v nfs-cat >/dev/null && return
	if [[ $EUID != 0 ]] || ! command -v apt-get >/dev/null; then return; fi
	say "installing libnfs-utils ..."
	apt-get update -qq >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends libnfs-utils >&2
}

# light prints the packages that compile quickly with the race detector, and heavy
# the others: those that hold the API server's own code, or a client of it.
light() { packages "$@" | grep -v ' heavy$'; }
heavy() { packages "$@" | sed -n 's/ heavy$//p'; }

packages() {
	go list -f '{{.ImportPath}}{{range .Deps}}{{if eq . "k8s.io/apiextensions-apiserver/pkg/apiserver/schema" "sigs.k8s.io/controller-runtime/pkg/client"}} heavy{{break}}{{end}}{{end}}' "$@"
}

unit() {
	strangers
	step "formatting and linters"
	hack/tool.sh golangci-lint fmt --diff >/dev/null || die "unformatted code: make fmt"
	hack/tool.sh golangci-lint run
	step "generated files"
	hack/verify.sh
	hack/chart.sh conform
	step "unit tests, with the race detector where it compiles quickly"
	gotest -race -shuffle=on ./cmd/nfsbench/... $(light ./internal/...) ./hack/... ./test/array/nblade ./test/ontap
	gotest -shuffle=on ./api/... ./cmd/manager/... ./cmd/oraload/... ./cmd/kubectl-nfsbench/... $(heavy ./internal/...) ./controllers/... ./test/argolint ./test/bench/... ./test/browser ./test/chart ./test/csi ./test/gen ./test/golden ./test/oracle/... ./test/oraclesql ./test/seeds ./test/statuscheck ./test/structure
	step "health checks, by the libraries of Argo CD and Flux"
	moduletest test/gitops
	step "whole runs under faults, most of which wait"
	gotest -shuffle=on -parallel 8 ./test/faults ./test/memory
	step "that nothing grows under load"
	gotest ./test/soak
	step "allocations of the hot paths, without the race detector"
	gotest ./internal/nfs/... ./internal/loadgen/...
}

integration() {
	built
	step "a real API server"
	KUBEBUILDER_ASSETS=$(hack/cluster/envtest.sh)
	export KUBEBUILDER_ASSETS
	gotest -timeout 20m -parallel 4 ./test/integration/... ./test/chart/apiserver/...
}

# growth runs alone, because it compares the processor time that work takes.
growth() {
	step "500 benchmarks at once"
	KUBEBUILDER_ASSETS=$(hack/cluster/envtest.sh)
	NFSBENCH_GROWTH_BIN=$(hack/cluster/build.sh kube-controller-manager kube-scheduler)
	NFSBENCH_GROWTH_REPORT=$GOTEST_LOG/growth.md
	export KUBEBUILDER_ASSETS NFSBENCH_GROWTH_BIN NFSBENCH_GROWTH_REPORT
	hack/tool.sh kwok --version >/dev/null
	gotest -timeout 30m -count=1 ./test/growth/...
	cat "$NFSBENCH_GROWTH_REPORT"
}

kernelnfs() {
	step "the NFS of a Linux kernel, in a virtual machine"
	NFSBENCH_VM=1 gotest -timeout 20m -count=1 ./test/kernelnfs
}

# trident_namespace makes the namespace of Trident, which the chart's Role is for.
# The tests play Trident in it; where there is a real one, they must not.
trident_namespace() {
	if "$KUBECTL" get namespace trident >/dev/null 2>&1; then
		die "there is a namespace trident already: the tests play Trident in it, so run them on a cluster without"
	fi
	made_trident=yes
	"$KUBECTL" create namespace trident >/dev/null
}

# trident_end removes it, and the CRDs that the tests installed.
trident_end() {
	[[ $made_trident == yes ]] || return 0
	"$KUBECTL" delete namespace trident --timeout 60s >/dev/null 2>&1 || true
	"$KUBECTL" get crd -o name | grep '\.trident\.netapp\.io$' | xargs -r "$KUBECTL" delete --timeout 60s >/dev/null 2>&1 || true
}

# operator_begin makes the cluster, the array and the operator once.
operator_begin() {
	[[ -z ${NFSBENCH_E2E:-} ]] || return 0
	step "a real cluster and an array beside it"
	cluster_begin
	lab_begin
	trident_namespace
	install_operator --set trident.enabled=true
	export NFSBENCH_E2E=1
	oracle_begin
}

# oracle_begin loads the stand-in for Oracle.
oracle_begin() {
	[[ $(cluster_choice) != current ]] || return 0
	local archives
	mapfile -t archives < <(hack/oracle/standin.sh)
	((${#archives[@]})) || die "hack/oracle/standin.sh made no images"
	hack/cluster/load.sh "${archives[@]}" >/dev/null
	standins=("${archives[@]}")
	export NFSBENCH_ORACLE_STANDIN=1
}

e2e() {
	operator_begin
	if [[ $started_lab == yes ]]; then
		export NFSBENCH_TEST_NFS="${LAB_LIFS// /,}:$LAB_EXPORT"
		gotest ./internal/nfs/...
		export NFSBENCH_LAB=1
		gotest ./test/lab/...
	fi
	# Most of what runs at once waits for a cluster: more of it than CPUs does no harm.
	gotest -timeout 30m -parallel 8 -skip '^TestSuite' ./test/e2e/...
}

# argo_begin runs Argo Workflows on the cluster.
argo_begin() {
	if ! "$KUBECTL" get crd workflows.argoproj.io >/dev/null 2>&1; then started_argo=yes; fi
	hack/argo/up.sh
	export NFSBENCH_ARGO=1
}

# suites run beside each other, each on a server of its own. They mostly wait, and so
# do the faults of a network, on arrays of theirs: both at once.
suites() {
	operator_begin
	step "suites, on the real Argo Workflows, and faults of the network"
	argo_begin
	if [[ $started_lab == yes ]]; then export NFSBENCH_LAB=1; fi
	gotest -timeout 30m -count=1 -parallel 8 -run '^TestSuite' ./test/e2e &
	local suites=$!
	if [[ $started_lab == yes ]]; then
		gotest ./test/array
		gotest -run 'Silent|Ganesha' ./test/faults
	fi
	wait "$suites"
}

# kernelnode runs what e2e has skipped, because only few machines can mount NFS.
kernelnode() {
	operator_begin
	argo_begin
	step "a node whose kernel mounts NFS, in a virtual machine"
	local node
	started_node=yes
	# Where there can be none, it says why, and the tests are skipped.
	if node=$(hack/vm/node.sh up bin/image/nfsbench.tar "${standins[@]}"); then
		export NFSBENCH_VMNODE=${node#VM_NODE=}
	elif (($? != 3)); then
		die "the node did not start"
	fi
	gotest -timeout 30m -count=1 -run '^TestKernelNode' ./test/e2e
}

case $what in
all) build_ahead; unit; integration; growth; kernelnfs; e2e; suites; kernelnode ;;
*) "$what" ;;
esac
