#!/usr/bin/env bash
# Build the container images without Docker: a static binary each, in an
# otherwise empty file system. The image nfsbench also carries oraload, which is
# copied from it into database images and linked for those. The same source gives
# the same bytes.
#
# usage: hack/image/build.sh [-o FOLDER] [NAME=PACKAGE...]
#
# Without NAME=PACKAGE: manager=./cmd/manager and nfsbench=./cmd/nfsbench.
# Prints the archives, one a line; hack/cluster/load.sh takes them.
#
#   -o FOLDER       where to write NAME.tar (default bin/image)
#   REGISTRY        images are called REGISTRY/NAME:TAG; default localhost/nfsbench, from
#                   which nothing is ever pulled
#   TAG             default dev
#   VERSION         what the programs and the label of the image say; default: none
#   REVISION        the commit, for the label of the image; default: none
#   GOARCH          default that of this machine
#   BUILD_JOBS      packages compiled at once (default 2)
#   ORALOAD         no = leave oraload out: nothing with a database runs then. It
#                   needs python3 with venv and pip, and PyPI once for a compiler
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
# shellcheck source=../lib/common.sh
source hack/lib/common.sh

out=bin/image
case ${1:-} in
-h | --help)
	help_of hack/image/build.sh
	exit 0
	;;
-o)
	out=${2:?-o needs a folder}
	shift 2
	;;
esac
images=("$@")
((${#images[@]})) || images=(manager=./cmd/manager nfsbench=./cmd/nfsbench)

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The packer runs here, whatever the images are for.
GOARCH='' CGO_ENABLED=0 go build -C hack -trimpath -o "$work/pack" ./image/pack
labels=(-label org.opencontainers.image.licenses=Apache-2.0 -label org.opencontainers.image.source=https://github.com/nfsbench/nfsbench)
if [[ -n ${VERSION:-} ]]; then labels+=(-label "org.opencontainers.image.version=$VERSION"); fi
if [[ -n ${REVISION:-} ]]; then labels+=(-label "org.opencontainers.image.revision=$REVISION"); fi
license=()
if [[ -e LICENSE ]]; then license=(-license LICENSE); fi

# extras prints the flags of pack for what else belongs in an image.
extras() {
	[[ $1 == nfsbench=./cmd/nfsbench ]] || return 0
	if [[ ${ORALOAD:-yes} == no ]]; then
		say "without oraload (ORALOAD=no): this image cannot load a database"
		return 0
	fi
	say "[$step of ${#images[@]}] building oraload, of which the first time takes a minute ..."
	# A command substitution does not end at the first error by itself.
	hack/oracle/oraload.sh -o "$work/oraload" >&2 || return
	printf '%s\n' -file "$work/oraload=/oraload,mode=0755"
}

step=0
for image in "${images[@]}"; do
	step=$((step + 1)) name=${image%%=*} package=${image#*=} began=$SECONDS
	say "[$step of ${#images[@]}] building $name ..."
	# -C: the package may be one of another module.
	GOGC=400 CGO_ENABLED=0 go build -C "$package" ${BUILD_JOBS:+-p "$BUILD_JOBS"} -trimpath -buildvcs=false \
		-ldflags="-s -w -buildid= ${VERSION:+-X main.version=$VERSION}" -o "$work/$name" .
	# Not by way of mapfile < <(extras), which would not notice that it failed.
	extra=$(extras "$image")
	more=()
	if [[ -n $extra ]]; then mapfile -t more <<<"$extra"; fi
	"$work/pack" -binary "$work/$name" "${more[@]}" "${labels[@]}" -name "$REGISTRY/$name:${TAG:-dev}" -label "org.opencontainers.image.title=$name" \
		-arch "${GOARCH:-$(go env GOARCH)}" "${license[@]}" -o "$out/$name.tar"
	say "[$step of ${#images[@]}] built $REGISTRY/$name:${TAG:-dev} in $((SECONDS - began)) s"
	echo "$out/$name.tar"
done
