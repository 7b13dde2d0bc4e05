#!/usr/bin/env bash
# Write down what an image of Oracle's is like, as far as its files say it: a report of five
# minutes that can be sent to the makers of nfsbench. Nothing of the image is executed.
#
# usage: IMAGE=container-registry.oracle.com/database/free:latest hack/oracle/image.sh
#
# IMAGE is an image that docker or podman has or can pull, the folder of a root file system, or a
# tar archive of one (docker export; not docker save).
#
#   REPORT   the report (default _output/oracle-image-report.md)
#   ENGINE   docker or podman (default the first that works)
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
# shellcheck source=../lib/common.sh
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/oracle/image.sh; exit 0 ;;
esac
[[ -n ${IMAGE:-} ]] || die "set IMAGE=... (see --help)"
report=$(realpath -m "${REPORT:-_output/oracle-image-report.md}")
mkdir -p "${report%/*}"
work=$(mktemp -d)
trap 'rm -rf "$work"; [[ -z ${container:-} ]] || "$engine" rm -f "$container" >/dev/null' EXIT
go build -C test/lab -o "$work/facts" ./oraclesuite/facts

# files prints a tar archive of the image's files.
if [[ -d $IMAGE ]]; then
	files() { tar -C "$IMAGE" --numeric-owner -cf - .; }
elif [[ -f $IMAGE ]]; then
	files() { cat "$IMAGE"; }
else
	engine=$(container_engine docker podman)
	container=$("$engine" create "$IMAGE")
	ORACLE_ENV=$("$engine" inspect -f '{{range .Config.Env}}{{println .}}{{end}}' "$container")
	export ORACLE_ENV
	files() { "$engine" export "$container"; }
fi
files | ORACLE_IMAGE=$IMAGE ORACLE_PROGRAM=$(git describe --always --dirty 2>/dev/null || echo unknown) "$work/facts" >"$report"
say "the report is in $report: read it, and send it"
