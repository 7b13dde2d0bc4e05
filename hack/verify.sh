#!/usr/bin/env bash
# Fail when something generated is not what its sources give: regenerate in a
# copy and compare. The working tree is not touched, committed or not.
#
# usage: hack/verify.sh
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
# shellcheck source=lib/common.sh
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/verify.sh; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

# Where hack/generate.sh writes.
generated=(api config charts docs/schema docs/findings.md)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do
		if [[ -e $file ]]; then printf '%s\0' "$file"; fi
	done |
	tar --null --files-from=- --create --file=- | tar --extract --file=- --directory="$copy"
"$copy/hack/generate.sh"

stale=0
for path in "${generated[@]}"; do
	git --no-pager diff --no-index --stat -- "$path" "$copy/$path" || stale=1
done
if ((stale)); then
	die "generated files are out of date: run hack/generate.sh (make generate) and commit what changes"
fi
say "generated files are up to date"
