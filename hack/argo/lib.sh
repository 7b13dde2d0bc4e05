# shellcheck shell=bash
# Version and folders of Argo Workflows for the local cluster. Sourced, never run.
# Needs common.sh and cluster/lib/env.sh.

ARGO_DIR=$REPO_DIR/hack/argo
ARGO_MODULE=github.com/argoproj/argo-workflows/v4
# ARGO=4.0 selects a minor version: each has a file of versions here, the newest is go.mod.
# No other file names a version of Argo Workflows.
ARGO_MODFILE=$(versions_file ARGO "$ARGO_DIR" "$ARGO_MODULE")
ARGO_VERSION=$(version_in "$ARGO_MODFILE" "$ARGO_MODULE")
ARGO_BIN_DIR=$CACHE_DIR/argo-${ARGO_VERSION#v}
ARGO_NAMESPACE=argo
ARGO_IMAGES=nfsbench-argo

# argo_module prints the folder of Argo's sources, which is downloaded if need be.
argo_module() {
	(cd "$ARGO_DIR" && GOWORK=off go mod download -modfile="$ARGO_MODFILE" -json "$ARGO_MODULE@$ARGO_VERSION") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}
