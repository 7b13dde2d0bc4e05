# shellcheck shell=bash
# Paths and versions that every script of hack/cluster shares. Sourced, never run.

CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REPO_DIR=$(cd "$CLUSTER_DIR/../.." && pwd)
# shellcheck source=../../lib/common.sh
source "$REPO_DIR/hack/lib/common.sh"
CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench
# K8S=1.36 selects a minor version of Kubernetes: each has a file of versions in k8s/, the
# newest is go.mod. No other file names a version of Kubernetes.
K8S_MODFILE=$(versions_file K8S "$CLUSTER_DIR/k8s" k8s.io/kubernetes)
K8S_VERSION=$(version_in "$K8S_MODFILE" k8s.io/kubernetes)
BIN_DIR=$CACHE_DIR/k8s-${K8S_VERSION#v}
STATE_DIR=${NFSBENCH_CLUSTER_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/cluster}
KIND_NAME=${KIND_NAME:-nfsbench}
