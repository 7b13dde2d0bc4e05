#!/usr/bin/env bash
# Load image archives into the cluster's nodes. No registry is involved.
#
# usage: hack/cluster/load.sh FILE...
#
# FILE is an OCI or docker archive, such as hack/image/build.sh makes. Pods must
# use imagePullPolicy IfNotPresent or Never. CLUSTER means the same as for up.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") die "which archive? (see --help)" ;;
esac

choice=$(cluster_choice)
for file in "$@"; do
	case $choice in
	local)
		source "$CLUSTER_DIR/local/runtime.sh"
		ctr images import "$file" >&2
		;;
	kind) "$REPO_DIR/hack/tool.sh" kind load image-archive --name "$KIND_NAME" "$file" >&2 ;;
	current) die "a cluster that is not ours takes images from its registry only" ;;
	esac
done
