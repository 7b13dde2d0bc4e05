# shellcheck shell=bash
# Version and folders of Argo Workflows for the local cluster. Sourced, never run.
# Needs common.sh and cluster/lib/env.sh.

ARGO_DIR=$REPO_DIR/hack/argo
ARGO_MODULE=github.com/argoproj/argo-workflows/v4
# ARGO=4.0 selects a minor version: each has a file of versions here, the newest is go.mod.
# No other file names a version of Argo Workflows.
ARGO_MODFILE=$ARGO_DIR/${ARGO:-go}.mod
[[ -e $ARGO_MODFILE ]] || die "ARGO=$ARGO: use $(cd "$ARGO_DIR" && ls [0-9]*.mod | sed 's/\.mod$//' | paste -sd ' '), or leave it out for the newest"
ARGO_VERSION=$(awk -v m="$ARGO_MODULE" '$1 == m {print $2} $1 == "require" && $2 == m {print $3}' "$ARGO_MODFILE" | head -n 1)
ARGO_BIN_DIR=$CACHE_DIR/argo-${ARGO_VERSION#v}
ARGO_NAMESPACE=argo
ARGO_IMAGES=nfsbench-argo

# argo_module prints the folder of Argo's sources, which is downloaded if need be.
argo_module() {
	(cd "$ARGO_DIR" && GOWORK=off go mod download -modfile="$ARGO_MODFILE" -json "$ARGO_MODULE@$ARGO_VERSION") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}
