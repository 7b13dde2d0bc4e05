#!/usr/bin/env bash
# Run an image of Oracle's as the operator runs it, on the operator's own NFS server: with Direct NFS
# and with the kernel's client 30 s of random reads each, after a restart of the instance, and a
# calibration. No array is needed. The figures mean nothing; the report says what worked.
#
# usage: IMAGE=container-registry.oracle.com/database/free:latest hack/oracle/pod.sh
#
# The cluster of kubectl must have the operator, whose policy lets the nodes mount embedded servers of the
# namespace (policy.embedded.nodeMounts), and nodes with the NFS client (nfs-common or nfs-utils). Each of the three benchmarks creates a database: 10 to 20 minutes with Enterprise. All
# is in a namespace of its own, which is removed at the end.
#
# Publishing figures of an Oracle database may need Oracle's consent: read your licence. The
# report has none, and no address, name or password of yours.
#
#   KUBECONFIG           of the cluster, as for kubectl
#   REPORT               the report (default _output/oracle-pod-report.md)
#   EDITION              Free, Express, Standard or Enterprise (default by the name of the image)
#   PULL_CONFIG          a config.json of docker with the login to the registry
#   OPERATOR_NAMESPACE   where the operator is (default nfsbench-system)
#   NAMESPACE            one that is there already, to use and to leave
#   SCALE                of the table (default 1Gi)
#   PATCH                a JSON merge patch for each benchmark
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
# shellcheck source=../lib/common.sh
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/oracle/pod.sh; exit 0 ;;
esac
[[ -n ${IMAGE:-} ]] || die "set IMAGE=... (see --help)"
kubectl() { command "${KUBECTL:-kubectl}" "$@"; }
kubectl get crd nfsbenchmarks.nfsbench.io >/dev/null || die "the cluster has no operator: docs/oracle-first-run.md, step 1"
case ${IMAGE##*/} in
*free* | *standin*) edition=Free ;;
*express* | *-xe*) edition=Express ;;
*) edition=Enterprise ;;
esac
report=$(realpath -m "${REPORT:-_output/oracle-pod-report.md}")
mkdir -p "${report%/*}"
work=$(mktemp -d)
namespace=${NAMESPACE:-nfsbench-test-oracle-$$}

finish() {
	if [[ -z ${NAMESPACE:-} ]]; then kubectl delete namespace "$namespace" --ignore-not-found --wait=false >/dev/null || true; fi
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

go build -o "$work/kubectl-nfsbench" ./cmd/kubectl-nfsbench
go build -C test/lab -o "$work/facts" ./oraclesuite/facts
if [[ -z ${NAMESPACE:-} ]]; then
	kubectl create namespace "$namespace" >/dev/null
	kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=baseline >/dev/null
fi
kubectl -n "$namespace" create secret generic nfsbench-test-oracle \
	--from-file=password=<(printf 'N_%s' "$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')") >/dev/null
pull=
if [[ -n ${PULL_CONFIG:-} ]]; then
	kubectl -n "$namespace" create secret generic nfsbench-test-pull --type=kubernetes.io/dockerconfigjson \
		--from-file=.dockerconfigjson="$PULL_CONFIG" >/dev/null
	pull='pods: {imagePullSecrets: [{name: nfsbench-test-pull}]}'
fi
kubectl -n "$namespace" label secret --all nfsbench.io/allow-use=true >/dev/null

# measure NAME CLIENT PATHS WORKLOAD examines a benchmark, runs it, and keeps what it says.
measure() {
	local map file=$work/$1.yaml
	cat >"$file.new" <<END
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: $1, namespace: $namespace}
spec:
  storage: {embedded: {size: 30Gi, paths: $3}}
  protocol: {version: NFSv3, client: $2}
  database:
    container:
      image: $IMAGE
      edition: ${EDITION:-$edition}
      passwordSecretRef: {name: nfsbench-test-oracle}
      # A small cache, so that blocks are read from storage.
      parameters: {sga_target: 1408M, shared_pool_size: 1G, large_pool_size: 64M, db_cache_size: 128M}
      resources: {limits: {cpu: "2", memory: 4Gi}}
  workload: $4
  run: {durationSeconds: 30, repetitions: 1}
  $pull
END
	kubectl patch -f "$file.new" --local --type merge -p "${PATCH:-"{}"}" -o yaml >"$file"
	say "== $1: examining ..."
	"$work/kubectl-nfsbench" doctor -f "$file" --operator-namespace "${OPERATOR_NAMESPACE:-nfsbench-system}" \
		-o json >"$work/$1.doctor.json" || code=1
	say "== $1: running ..."
	"$work/kubectl-nfsbench" run -f "$file" --watch >&2 || code=1
	kubectl -n "$namespace" get nfsb "$1" -o json >"$work/$1.json" || echo '{}' >"$work/$1.json"
	map=$(kubectl -n "$namespace" get nfsb "$1" --ignore-not-found -o 'jsonpath={.status.resultRef.name}')
	if [[ -n $map ]]; then
		kubectl -n "$namespace" get configmap "$map" -o 'jsonpath={.binaryData.client-0\.result\.json\.gz}' | base64 -d >"$work/$1.result.gz"
	fi
}
code=0
measure direct-nfs DirectNFS 2 '{slob: {access: RandomRead, users: [2], scale: '"${SCALE:-1Gi}"'}}'
measure kernel Kernel 1 '{slob: {access: RandomRead, users: [2], scale: '"${SCALE:-1Gi}"'}}'
measure calibrate DirectNFS 2 '{calibrate: {}}'
ORACLE_IMAGE=$IMAGE ORACLE_PROGRAM=$(git describe --always --dirty 2>/dev/null || echo unknown) \
	"$work/facts" "$work" direct-nfs kernel calibrate >"$report"
say "the report is in $report: read it, and send it"
exit $code
