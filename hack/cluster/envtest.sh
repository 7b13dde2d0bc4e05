#!/usr/bin/env bash
# Print the folder that KUBEBUILDER_ASSETS should name: kube-apiserver, etcd and
# kubectl, built from Go modules, nothing downloaded as a binary.
#
# usage: export KUBEBUILDER_ASSETS=$(hack/cluster/envtest.sh)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$CLUSTER_DIR/local/packages.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

"$CLUSTER_DIR/build.sh" >/dev/null
assets=$CACHE_DIR/envtest-${K8S_VERSION#v}
mkdir -p "$assets"
ln -sfn "$BIN_DIR/etcd" "$BIN_DIR/kube-apiserver" "$assets/"
ln -sfn "$(kubectl_bin)" "$assets/kubectl"
echo "$assets"
