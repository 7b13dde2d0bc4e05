#!/usr/bin/env bash
# Show that the cluster does what the product needs: a pod from an image made
# here runs, other pods reach it through its Service, by address and by name,
# and the bandwidth annotations shape it.
#
# usage: hack/cluster/smoke.sh
#
# Works in a namespace of its own and removes it. CLUSTER as for up.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

KUBECONFIG=$(cluster_kubeconfig "$(cluster_choice)")
export KUBECONFIG
work=$(mktemp -d)
space=nfsbench-smoke-$$
clean() {
	kubectl delete namespace "$space" --wait=false >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean EXIT

# pod NAME ANNOTATIONS ARGS... prints a pod that runs netpour.
pod() {
	local name=$1 annotations=$2
	shift 2
	cat <<-YAML
		---
		apiVersion: v1
		kind: Pod
		metadata: {name: $name, labels: {app: $name}, annotations: {$annotations}}
		spec:
		  restartPolicy: Never
		  terminationGracePeriodSeconds: 1
		  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
		  containers:
		  - name: netpour
		    image: docker.io/nfsbench/netpour:dev
		    imagePullPolicy: Never
		    args: [$(printf '"%s",' "$@")]
		    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
	YAML
}

service() {
	cat <<-YAML
		---
		apiVersion: v1
		kind: Service
		metadata: {name: $1}
		spec:
		  selector: {app: $1}
		  ports: [{port: 80, targetPort: 5201}]
	YAML
}

# poured NAME prints what a finished sender measured, in whole Mbit/s.
poured() {
	kubectl -n "$space" wait --for=jsonpath='{.status.phase}'=Succeeded "pod/$1" --timeout=60s >/dev/null ||
		die "$1: $(kubectl -n "$space" logs "$1" 2>&1)"
	kubectl -n "$space" logs "$1" | sed 's/\..*//'
}

cluster_ip() { kubectl -n "$space" get service "$1" -o jsonpath='{.spec.clusterIP}'; }

"$REPO_DIR/hack/image/build.sh" -o "$work" netpour=./test/lab/netpour >/dev/null
"$CLUSTER_DIR/load.sh" "$work/netpour.tar"
kubectl create namespace "$space" >/dev/null
kubectl label namespace "$space" pod-security.kubernetes.io/enforce=restricted >/dev/null

{
	pod plain "" serve :5201
	pod shaped 'kubernetes.io/ingress-bandwidth: "100M"' serve :5201
	service plain
	service shaped
} | kubectl -n "$space" apply -f - >/dev/null
kubectl -n "$space" wait --for=condition=Ready pod/plain pod/shaped --timeout=60s >/dev/null
say "pods run"

{
	pod to-plain "" send "$(cluster_ip plain):80" 500000000
	pod to-shaped "" send "$(cluster_ip shaped):80" 50000000
	pod from-shaped 'kubernetes.io/egress-bandwidth: "100M"' send plain:80 50000000
} | kubectl -n "$space" apply -f - >/dev/null
free=$(poured to-plain)
into=$(poured to-shaped)
out=$(poured from-shaped)
say "through a Service: unshaped $free Mbit/s, into a pod of 100M $into Mbit/s, out of a pod of 100M $out Mbit/s"
((free > 400)) || die "the unshaped pod is slow: nothing can be said about shaping"
# What is sent on credit before the limit bites counts too, hence the margin.
((into < 150 && out < 150)) || die "the bandwidth annotations do not shape"
say "smoke test passed"
