#!/usr/bin/env bash
# Start a Kubernetes cluster for development and tests, or find it running.
#
# usage: hack/cluster/up.sh
#
# Prints one line for the shell:  export KUBECONFIG=...
#
#   CLUSTER         kind | current | local; see lib/choose.sh
#   K8S             minor version of Kubernetes, such as 1.36 (default: the newest in k8s/)
#   DUAL_STACK=1    a local cluster whose pods have addresses of IPv6 too
#   BUILD_JOBS      packages compiled at once when something must be built
#   NFSBENCH_CLUSTER_STATE  state folder of a local cluster
#                   (default ~/.local/state/nfsbench/cluster)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"

up_kind() {
	local config
	config=$(cluster_kubeconfig kind)
	mkdir -p "$(dirname "$config")"
	if ! "$REPO_DIR/hack/tool.sh" kind get clusters 2>/dev/null | grep -qx "$KIND_NAME"; then
		"$REPO_DIR/hack/tool.sh" kind create cluster --name "$KIND_NAME" --wait 120s --kubeconfig "$config" >&2
	else
		"$REPO_DIR/hack/tool.sh" kind export kubeconfig --name "$KIND_NAME" --kubeconfig "$config" >&2
	fi
}

up_local() {
	local part kubectl began=$SECONDS
	source "$REPO_DIR/hack/lib/process.sh"
	for part in settings packages pki runtime control dns node; do
		# shellcheck source=/dev/null
		source "$CLUSTER_DIR/local/$part.sh"
	done
	[[ $EUID == 0 ]] || die "a local cluster needs root; or set CLUSTER=kind or CLUSTER=current"
	if [[ -e $STATE_DIR/bin && $(readlink "$STATE_DIR/bin") != "$BIN_DIR" ]]; then
		die "the cluster runs $(basename "$(readlink "$STATE_DIR/bin")"), not Kubernetes $K8S_VERSION: set K8S, or stop it with hack/cluster/down.sh"
	fi
	kubectl=$(kubectl_bin)
	if all_running && api_ready; then
		say "already running"
		return
	fi
	need_cluster_packages
	"$CLUSTER_DIR/build.sh" >/dev/null
	say "binaries ready after $((SECONDS - began)) s"
	began=$SECONDS
	mkdir -p "$STATE_DIR"
	ln -sfn "$BIN_DIR" "$STATE_DIR/bin"
	HOST_IP=$(host_ip)
	make_pki
	start_runtime
	start_control_plane
	start_dns "$kubectl"
	start_node
	comes_up kubelet "the node" node_ready "$kubectl"
	say "Kubernetes ${K8S_VERSION} with node $NODE_NAME ($HOST_IP) is ready after $((SECONDS - began)) s"
}

all_running() {
	local name
	for name in etcd kube-apiserver kube-controller-manager kube-scheduler containerd dns kubelet kube-proxy; do
		pid_of "$name" >/dev/null || return 1
	done
}

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

choice=$(cluster_choice)
case $choice in
kind) up_kind ;;
local)
	mkdir -p "$(dirname "$STATE_DIR")"
	exec 8>"$STATE_DIR.lock"
	flock 8
	up_local 8>&-
	;;
current) say "using the current context; nothing to start" ;;
esac
echo "export KUBECONFIG=$(cluster_kubeconfig "$choice")"
