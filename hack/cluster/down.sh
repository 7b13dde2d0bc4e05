#!/usr/bin/env bash
# Stop the cluster that up.sh started and remove everything that belongs to it:
# processes, mounts, network devices, iptables rules, cgroups, state.
#
# usage: hack/cluster/down.sh
#
# CLUSTER and NFSBENCH_CLUSTER_STATE mean the same as for up.sh. Compiled
# binaries stay in the cache.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"

down_local() {
	local part
	source "$REPO_DIR/hack/lib/process.sh"
	for part in settings runtime teardown; do
		# shellcheck source=/dev/null
		source "$CLUSTER_DIR/local/$part.sh"
	done
	if [[ ! -d $STATE_DIR ]]; then
		say "not running"
		return
	fi
	[[ $EUID == 0 ]] || die "stopping a local cluster needs root"
	tear_down
	say "stopped"
}

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

case $(cluster_choice) in
kind)
	"$REPO_DIR/hack/tool.sh" kind delete cluster --name "$KIND_NAME" --kubeconfig "$(cluster_kubeconfig kind)" >&2
	rm -f "$(cluster_kubeconfig kind)"
	;;
local) down_local ;;
current) say "using the current context; nothing to stop" ;;
esac
