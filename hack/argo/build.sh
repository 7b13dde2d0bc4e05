#!/usr/bin/env bash
# Build Argo Workflows from its Go module, once per version and cache.
#
# usage: hack/argo/build.sh [NAME...]
#
# Names: workflow-controller argoexec (default), and argo, the command line, with
# which tests let Argo itself check what a suite is compiled to.
# Prints the folder that holds the binaries.
#
#   BUILD_JOBS      packages compiled at once (default 2)
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
source "$REPO_DIR/hack/argo/lib.sh"

case ${1:-} in -h | --help) help_of "$0"; exit 0 ;; esac

names=("$@")
((${#names[@]})) || names=(workflow-controller argoexec)

key() { echo timetzdata; cat "$ARGO_DIR"/go.mod "$ARGO_DIR"/go.sum <(go env GOVERSION) | sha256sum | cut -d' ' -f1; }

is_built() { [[ -x $ARGO_BIN_DIR/$1 && $(cat "$ARGO_BIN_DIR/.$1.key" 2>/dev/null) == "$(key)" ]]; }

# sources prints a folder from which Argo compiles. Module archives drop symbolic
# links, and signal_linux.go is one; the command line embeds the pages of a server
# that nobody starts here. Both are mended in a vendor folder.
sources() {
	local folder=$work/module
	[[ -d $folder ]] && { echo "$folder"; return; }
	mkdir -p "$folder"
	cp "$ARGO_DIR"/go.mod "$ARGO_DIR"/go.sum "$ARGO_DIR"/programs.go "$folder/"
	(cd "$folder" && GOWORK=off go mod vendor -e 2>"$work/vendor.log") || { cat "$work/vendor.log" >&2; return 1; }
	local argo=$folder/vendor/$ARGO_MODULE
	local signals=$argo/workflow/executor/osspecific
	[[ -e $signals/signal_linux.go ]] || cp "$signals/signal_darwin.go" "$signals/signal_linux.go"
	mkdir -p "$argo/ui/dist/app"
	: >"$argo/ui/dist/app/index.html"
	echo "$folder"
}

build() {
	local name=$1 began=$SECONDS folder
	say "[$step of $steps] building $name $ARGO_VERSION ..."
	folder=$(sources)
	(cd "$folder" && CGO_ENABLED=0 GOWORK=off go build -mod=vendor -tags timetzdata -p "${BUILD_JOBS:-2}" -trimpath \
		-ldflags "-s -w -X $ARGO_MODULE.version=$ARGO_VERSION" -o "$ARGO_BIN_DIR/$name.new" "$ARGO_MODULE/cmd/$name")
	mv "$ARGO_BIN_DIR/$name.new" "$ARGO_BIN_DIR/$name"
	key >"$ARGO_BIN_DIR/.$name.key"
	say "[$step of $steps] built $name in $((SECONDS - began)) s"
}

mkdir -p "$ARGO_BIN_DIR"
# Two scripts that start at once must not build the same thing twice.
exec 9>"$ARGO_BIN_DIR/.lock"
flock 9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
steps=${#names[@]} step=0
for name in "${names[@]}"; do
	step=$((step + 1))
	case $name in workflow-controller | argoexec | argo) ;; *) die "unknown program $name (see --help)" ;; esac
	is_built "$name" || build "$name"
done
echo "$ARGO_BIN_DIR"
