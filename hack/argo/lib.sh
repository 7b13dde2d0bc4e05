# shellcheck shell=bash
# Version and folders of Argo Workflows for the local cluster. Sourced, never run.
# Needs common.sh and cluster/lib/env.sh.

ARGO_DIR=$REPO_DIR/hack/argo
ARGO_MODULE=github.com/argoproj/argo-workflows/v3
# The one place that names the version is the module.
ARGO_VERSION=$(awk -v m="$ARGO_MODULE" '$1 == m {print $2} $1 == "require" && $2 == m {print $3}' "$ARGO_DIR/go.mod" | head -n 1)
ARGO_BIN_DIR=$CACHE_DIR/argo-${ARGO_VERSION#v}
ARGO_NAMESPACE=argo
ARGO_IMAGES=nfsbench-argo

# argo_module prints the folder of Argo's sources, which is downloaded if need be.
argo_module() {
	(cd "$ARGO_DIR" && GOWORK=off go mod download -json "$ARGO_MODULE@$ARGO_VERSION") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}
