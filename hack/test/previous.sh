#!/usr/bin/env bash
# Build the release before this one, for the test of upgrades: the newest tag v* that
# HEAD comes after or, as long as there is none, the commit in hack/test/upgrade-from.
#
# usage: hack/test/previous.sh
#
# Prints the folder of its source, with the images in bin/image, called
# nfsbench/NAME:previous. It is kept under the user's cache folder, by commit. Exits
# with 3 where the history does not have that commit, as in a shallow clone.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
cd "$REPO_DIR"
case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
esac

release=$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null || cat hack/test/upgrade-from)
if ! commit=$(git rev-parse --verify --quiet "$release^{commit}"); then
	say "the previous release $release is not in the history of this clone: git fetch --unshallow --tags"
	exit 3
fi
folder=$CACHE_DIR/releases/$commit
if [[ ! -e $folder/bin/image/nfsbench.tar ]]; then
	say "building the previous release, $release, which takes a minute or two ..."
	rm -rf "$folder.new"
	mkdir -p "$folder.new"
	git archive "$commit" | tar -x -C "$folder.new"
	TAG=previous ORALOAD=no "$folder.new/hack/image/build.sh" >&2
	rm -rf "$folder"
	mv "$folder.new" "$folder"
fi
echo "$folder"
