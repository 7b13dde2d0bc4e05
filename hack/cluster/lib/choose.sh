# shellcheck shell=bash
# Which cluster the scripts mean. This file is the only place that decides it.

# cluster_choice prints kind, current or local.
#
# CLUSTER=kind     a kind cluster in Docker
# CLUSTER=current  whatever the current kubectl context is; never started or stopped here
# CLUSTER=local    one node made of processes on this machine, no Docker (needs root)
# unset            kind where Docker answers, else local
cluster_choice() {
	case ${CLUSTER:-} in
	kind | current | local) echo "$CLUSTER" ;;
	"") if docker info >/dev/null 2>&1; then echo kind; else echo local; fi ;;
	*) die "CLUSTER=$CLUSTER: use kind, current or local" ;;
	esac
}

# cluster_kubeconfig CHOICE prints the kubeconfig that a choice implies.
cluster_kubeconfig() {
	case $1 in
	local) echo "$STATE_DIR/kubeconfig" ;;
	kind) echo "$STATE_DIR/kind.kubeconfig" ;;
	current) echo "${KUBECONFIG:-$HOME/.kube/config}" ;;
	esac
}
