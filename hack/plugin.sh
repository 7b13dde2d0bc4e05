#!/usr/bin/env bash
# Build the kubectl plugin for laptops: dist/kubectl-nfsbench_OS_ARCH.tar.gz with
# their checksums.
#
# usage: hack/plugin.sh
#
#   PLATFORMS  default "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64"
#   TAG        the version that it says it is (default dev)
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
# shellcheck source=lib/common.sh
source hack/lib/common.sh

case ${1:-} in -h | --help) help_of hack/plugin.sh; exit 0 ;; esac

read -ra platforms <<<"${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}"
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for platform in "${platforms[@]}"; do
	name=kubectl-nfsbench_${platform/\//_}.tar.gz
	say "building $name ..."
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -buildvcs=false \
		-ldflags "-s -w -X main.version=${TAG:-dev}" -o "$work/kubectl-nfsbench" ./cmd/kubectl-nfsbench
	tar -C "$work" -czf "dist/$name" kubectl-nfsbench -C "$repo" LICENSE
done
(cd dist && sha256sum kubectl-nfsbench_*.tar.gz >kubectl-nfsbench_checksums.txt)
say "dist/ has them, and kubectl-nfsbench_checksums.txt"
