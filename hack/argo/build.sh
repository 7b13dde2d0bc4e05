#!/usr/bin/env bash
# Build Argo Workflows from its Go module, once per version and cache:
# workflow-controller, argoexec and argo, the command line, with which tests let
# Argo check what a suite is compiled to.
#
# usage: hack/argo/build.sh
#
# Prints the folder that holds the programs.
#
#   ARGO            minor version of Argo Workflows, such as 4.0 (default: the newest)
#   BUILD_JOBS      packages compiled at once (default: as many as CPUs)
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
source "$REPO_DIR/hack/lib/gobuild.sh"
source "$REPO_DIR/hack/argo/lib.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

key() { cat "${BASH_SOURCE[0]}" "$ARGO_MODFILE" "${ARGO_MODFILE%.mod}.sum" <(go env GOVERSION) | sha256sum | cut -d' ' -f1; }

# sources makes a folder from which Argo compiles. Module archives drop symbolic
# links, and signal_linux.go is one; the command line embeds the pages of a server
# that nobody starts here. A copy of the module has both.
sources() {
	local folder=$1
	mkdir -p "$folder"
	cp "$ARGO_MODFILE" "$folder/go.mod"
	cp "${ARGO_MODFILE%.mod}.sum" "$folder/go.sum"
	cp "$ARGO_DIR/programs.go" "$folder/"
	cp -r "$(argo_module)" "$folder/argo"
	chmod -R u+w "$folder/argo"
	cp "$folder/argo/workflow/executor/osspecific/"signal_{darwin,linux}.go
	mkdir -p "$folder/argo/ui/dist/app"
	: >"$folder/argo/ui/dist/app/index.html"
	(cd "$folder" && GOWORK=off go mod edit -replace "$ARGO_MODULE=./argo")
}

mkdir -p "$ARGO_BIN_DIR"
# Two scripts that start at once must not build the same thing twice.
exec 9>"$ARGO_BIN_DIR/.lock"
flock 9
if [[ $(cat "$ARGO_BIN_DIR/.key" 2>/dev/null) != "$(key)" ]]; then
	work=$(mktemp -d) began=$SECONDS
	trap 'rm -rf "$work"' EXIT
	sources "$work"
	gobuild "Argo Workflows $ARGO_VERSION" "$work" -tags timetzdata -ldflags "-s -w -X $ARGO_MODULE.version=$ARGO_VERSION" -o "$ARGO_BIN_DIR/" \
		"$ARGO_MODULE/cmd/workflow-controller" "$ARGO_MODULE/cmd/argoexec" "$ARGO_MODULE/cmd/argo"
	key >"$ARGO_BIN_DIR/.key"
	say "built Argo Workflows $ARGO_VERSION in $((SECONDS - began)) s"
fi
echo "$ARGO_BIN_DIR"
