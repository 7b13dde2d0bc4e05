#!/usr/bin/env bash
# Show each component of the cluster: running or not, pid, health.
#
# usage: hack/cluster/status.sh
#
# Ends with status 0 when everything is healthy, else 1. CLUSTER and
# NFSBENCH_CLUSTER_STATE mean the same as for up.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"

# health NAME prints ok, or what is wrong.
health() {
	local tls=(--cacert "$STATE_DIR/pki/ca.crt" --cert "$STATE_DIR/pki/admin.crt" --key "$STATE_DIR/pki/admin.key") url
	case $1 in
	etcd) url=http://127.0.0.1:$ETCD_PORT/readyz ;;
	kube-apiserver) url=https://127.0.0.1:$API_PORT/readyz ;;
	# These two make a certificate for themselves; it is enough that they answer.
	kube-controller-manager) url=https://127.0.0.1:10257/healthz tls=(-k) ;;
	kube-scheduler) url=https://127.0.0.1:10259/healthz tls=(-k) ;;
	dns) url=http://$(host_ip):8181/ready ;;
	kubelet) url=http://127.0.0.1:10248/healthz ;;
	kube-proxy) url=http://127.0.0.1:10256/healthz ;;
	containerd)
		if ctr version >/dev/null 2>&1; then echo ok; else echo "does not answer"; fi
		return
		;;
	esac
	if curl -sf --max-time 2 "${tls[@]}" "$url" -o /dev/null 2>/dev/null; then echo ok; else echo "does not answer"; fi
}

status_local() {
	local part name pid state healthy=0
	source "$REPO_DIR/hack/lib/process.sh"
	for part in settings runtime teardown; do
		# shellcheck source=/dev/null
		source "$CLUSTER_DIR/local/$part.sh"
	done
	printf '%-25s %-8s %s\n' COMPONENT PID HEALTH
	for name in "${COMPONENTS[@]}"; do
		pid=- state="not running"
		if pid=$(pid_of "$name"); then state=$(health "$name"); else pid=-; fi
		[[ $state == ok ]] || healthy=1
		printf '%-25s %-8s %s\n' "$name" "$pid" "$state"
	done
	return "$healthy"
}

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

choice=$(cluster_choice)
echo "cluster: $choice, KUBECONFIG=$(cluster_kubeconfig "$choice")"
case $choice in
local) status_local ;;
*) kubectl --kubeconfig "$(cluster_kubeconfig "$choice")" get nodes -o wide ;;
esac
