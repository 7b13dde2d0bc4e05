#!/usr/bin/env bash
# Build oraload, which runs inside other people's images: linked dynamically,
# against a glibc that none of them is older than. The same source gives the same
# bytes.
#
# usage: hack/oracle/oraload.sh [-o FILE]
#
#   -o FILE      where to write it (default bin/oraload)
#   GOARCH       default that of this machine
#   BUILD_JOBS   packages compiled at once (default 2)
#   VERSION      what oraload --version says
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
# shellcheck source=../lib/common.sh
source hack/lib/common.sh

out=bin/oraload
case ${1:-} in
-h | --help)
	help_of hack/oracle/oraload.sh
	exit 0
	;;
-o) out=${2:?-o needs a file} ;;
esac

cc=$(hack/oracle/zig.sh)
# No debugging information: nothing of it is left after linking, and making it
# takes a fifth of the time.
CC=$cc CGO_ENABLED=1 CGO_CFLAGS='-O2 -g0' go build -p "${BUILD_JOBS:-2}" -tags netgo,osusergo -trimpath -buildvcs=false -ldflags="-s -w -buildid= ${VERSION:+-X main.version=$VERSION}" -o "$out" ./cmd/oraload
GOARCH='' CGO_ENABLED=0 go run -C hack ./oracle/glibc -most "$(cat "$here/glibc.version")" "$(realpath "$out")"
