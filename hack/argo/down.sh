#!/usr/bin/env bash
# Remove what hack/argo/up.sh installed, with the workflows that are left.
#
# usage: hack/argo/down.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"
source "$CLUSTER_DIR/local/packages.sh"
source "$REPO_DIR/hack/argo/lib.sh"

case ${1:-} in -h | --help) help_of "$0"; exit 0 ;; esac

KUBECTL=$(kubectl_bin)
"$KUBECTL" get crd -l nfsbench.io/lab=argo -o name | xargs -r "$KUBECTL" delete --timeout 60s >/dev/null
for kind in clusterrolebinding clusterrole priorityclass; do
	"$KUBECTL" delete "$kind" -l nfsbench.io/lab=argo >/dev/null
done
if [[ -n $("$KUBECTL" -n "$ARGO_NAMESPACE" get deployment -l nfsbench.io/lab=argo -o name 2>/dev/null) ]]; then
	"$KUBECTL" delete namespace "$ARGO_NAMESPACE" --timeout 60s >/dev/null
fi
