# shellcheck shell=bash
# Paths and versions that every script of hack/cluster shares. Sourced, never run.

CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REPO_DIR=$(cd "$CLUSTER_DIR/../.." && pwd)
# shellcheck source=../../lib/common.sh
source "$REPO_DIR/hack/lib/common.sh"
CACHE_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/nfsbench
# K8S=1.36 selects a minor version of Kubernetes: each has a file of versions in k8s/, the
# newest is go.mod. No other file names a version of Kubernetes.
K8S_MODFILE=$CLUSTER_DIR/k8s/go.mod
k8s_version() { awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ {print $2}' "$1" | head -n 1; }
if [[ -n ${K8S:-} && $(k8s_version "$K8S_MODFILE") != "v$K8S."* ]]; then
	K8S_MODFILE=$CLUSTER_DIR/k8s/$K8S.mod
	[[ -e $K8S_MODFILE ]] || die "K8S=$K8S: use $(for file in "$CLUSTER_DIR"/k8s/*.mod; do k8s_version "$file"; done | sed 's/v\(1\.[0-9]*\).*/\1/' | sort -V | paste -sd ' '), or leave it out"
fi
K8S_VERSION=$(k8s_version "$K8S_MODFILE")
BIN_DIR=$CACHE_DIR/k8s-${K8S_VERSION#v}
STATE_DIR=${NFSBENCH_CLUSTER_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/nfsbench/cluster}
KIND_NAME=${KIND_NAME:-nfsbench}
