# shellcheck shell=bash
# Paths and versions that every script of hack/cluster shares. Sourced, never run.

CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REPO_DIR=$(cd "$CLUSTER_DIR/../.." && pwd)
# shellcheck source=../../lib/common.sh
source "$REPO_DIR/hack/lib/common.sh"
CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench
# The one place that names a Kubernetes version is the tools module.
K8S_VERSION=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" {print $3} $1 == "k8s.io/kubernetes" && $2 ~ /^v/ {print $2}' "$CLUSTER_DIR/k8s/go.mod" | head -n 1)
BIN_DIR=$CACHE_DIR/k8s-${K8S_VERSION#v}
STATE_DIR=${NFSBENCH_CLUSTER_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/cluster}
KIND_NAME=${KIND_NAME:-nfsbench}
