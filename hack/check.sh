#!/usr/bin/env bash
# Check what changed: its format, its words, the linters on its packages, and the unit tests of
# its packages and of those that import them, the nearest first, without the race
# detector. For each edit; `make test` is the gate.
#
# usage: hack/check.sh [COMMIT]
#
# What changed is what differs from COMMIT (default: HEAD, or the commit before it
# where the tree has no changes), files that git does not know yet included.
#
#   CHECK_SECONDS=N  begin no tests of importers later than this (default: 32), and
#                    name those that are left
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
source hack/lib/common.sh

case ${1:-} in
-h | --help) help_of hack/check.sh; exit 0 ;;
esac

changed() { { git diff --name-only --diff-filter=d "$1" -- && git ls-files --others --exclude-standard; } | sort -u; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -C hack -o "$work/parts" ./test/parts

base=${1:-HEAD}
files=$(changed "$base")
if [[ -z $files && -z ${1:-} ]]; then
	base=HEAD~1
	files=$(changed $base)
fi
[[ -n $files ]] || { say "nothing differs from $base"; exit 0; }

say "$(wc -l <<<"$files") files differ from $base"
mapfile -t pages < <(grep '\.md$' <<<"$files" || true)
if ((${#pages[@]})); then hack/prose.sh "${pages[@]}"; fi
mapfile -t go < <(grep '\.go$' <<<"$files" || true)
if ((${#go[@]})); then
	unformatted=$(hack/tool.sh golangci-lint fmt --diff "${go[@]}" || true)
	[[ -z $unformatted ]] || { printf '%s\n' "$unformatted"; die "unformatted code: make fmt"; }
	mapfile -t folders < <(printf '%s\n' "${go[@]}" | xargs -n 1 dirname | sort -u | grep -vx internal/oracle/driver)
	while read -r module packages; do
		case $module in
		. | hack | test/lab)
			say "linters: in $module: $packages (${SECONDS} s)"
			# shellcheck disable=SC2086 # one package a word
			(cd "$module" && "$repo/hack/tool.sh" golangci-lint run --allow-parallel-runners $packages)
			;;
		esac
	done < <("$work/parts" modules "${folders[@]}")
fi
# run_tests MODULE PACKAGE... runs unit tests.
run_tests() {
	local module=$1
	shift
	say "unit tests: in $module: $* (${SECONDS} s)"
	(cd "$module" && "$repo/hack/tool.sh" gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped,output -- -vet=off "$@")
}

# shellcheck disable=SC2086 # one file a line
tests=$("$work/parts" packages $files)
while read -r _ module packages; do
	# shellcheck disable=SC2086 # one package a word
	run_tests "$module" $packages
done < <(grep '^own ' <<<"$tests")
# Importers come a few at a time, which the go command compiles and runs side by side.
left=()
mapfile -t importers < <(sed -n 's/^importer //p' <<<"$tests")
while ((${#importers[@]})); do
	if ((SECONDS >= ${CHECK_SECONDS:-32})); then
		left=("${importers[@]}")
		break
	fi
	module=${importers[0]%% *} batch=()
	while ((${#importers[@]} && ${#batch[@]} < 4)) && [[ ${importers[0]%% *} == "$module" ]]; do
		batch+=("${importers[0]#* }")
		importers=("${importers[@]:1}")
	done
	run_tests "$module" "${batch[@]}"
done
if ((${#left[@]})); then
	say "not run, because ${CHECK_SECONDS:-32} s are over: ${#left[@]} importers, $(sed 's|^\. \./||; s| \./|/|' <<<"$(printf '%s\n' "${left[@]}")" | paste -sd ' ')"
fi
say "checked in $SECONDS s; not run: race detector, API server, cluster (make test)"
