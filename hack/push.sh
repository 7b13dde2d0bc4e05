#!/usr/bin/env bash
# Build the images and the chart from this source, push them to a registry of yours, and
# print the commands that install them from there.
#
# usage: hack/push.sh REGISTRY
#
# REGISTRY is a host and a folder, such as registry.example.com/team/nfsbench, where your
# docker or crane login may push.
#
#   ARCHS      processors of your nodes, such as "amd64 arm64" (default: that of this machine)
#   VERSION    default: the tag of this commit, or v0.0.0-COUNT.gCOMMIT
#   PLAIN_HTTP yes = the registry has no TLS
#   ORALOAD    no = leave out what loads a database; see hack/image/build.sh
set -euo pipefail
REPO_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=release/lib.sh
source "$REPO_DIR/hack/release/lib.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"" | *://* | -*) die "which registry? For example: make push REGISTRY=registry.example.com/team/nfsbench" ;;
esac
registry=${1%/}
cd "$REPO_DIR"
version=$(release_version)
read -ra archs <<<"${ARCHS:-$(go env GOARCH)}"
plain=()
if [[ ${PLAIN_HTTP:-no} == yes ]]; then plain=(--plain-http); fi

say "Building for ${archs[*]}; the first time takes minutes"
build_layouts bin/push "$version" "${archs[@]}"
say "Pushing to $registry"
chart=$(package_chart bin/push "$version" "$registry" bin/push)
push_release bin/push "$version" "$registry" "$chart"
say "
Install it with:
"
cat <<TEXT
helm install nfsbench oci://$registry/charts/nfsbench --version ${version#v}${plain:+ ${plain[*]}} --namespace nfsbench-system --create-namespace --wait
kubectl apply -f config/samples/demo.yaml
kubectl get nfsb demo --watch
TEXT
