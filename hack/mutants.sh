#!/usr/bin/env bash
# Break shipped code on purpose, one small change at a time, and record which
# test notices. It works in a copy of a commit; the working tree is not touched.
#
# usage: hack/mutants.sh [--only PATTERN] [--own] [--out FILE] [--resume] [--at COMMIT]
#        hack/mutants.sh --random N --seed S [--save FILE] [--out FILE] [--at COMMIT]
#
#   --list FILE     the mutants (default hack/mutants/list.txt)
#   --only PATTERN  those whose name matches this regular expression: ^judge/
#   --out FILE      the table (default _output/mutants.tsv)
#   --own           run the tests of a mutant's own package alone: a first look
#   --resume        leave out the mutants that the table has already; those that
#                   have survived are tried by tests that could not run before,
#                   or were not to
#   --at COMMIT     of what (default HEAD); the list and this program are always
#                   those of the working tree
#   --random N      draw N changes of one token instead of reading a list
#   --seed S        of the draw (default 1)
#   --save FILE     keep the drawn mutants as a list, for --list
#   --timeout T     for the tests of one package (default 4m)
#
#   KUBEBUILDER_ASSETS  as hack/cluster/envtest.sh prints it; without it the tests
#                       with an API server are left out
#
# The tests of a mutant's own package run first, then those of the packages that
# import it, up to the first failure. A test that fails without the mutant too does
# not count. A mutant that does not compile is broken; one whose text is not in its
# file exactly once is STALE: write it anew. The exit code is 1 if a mutant of
# the table has survived, is stale or does not compile.
#
# In the table, tier is that of the test that noticed, and where is own or importer.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$repo/hack/lib/common.sh"

list=$repo/hack/mutants/list.txt out=$repo/_output/mutants.tsv at=HEAD args=() source=list
while (($#)); do
	case $1 in
	-h | --help) help_of "${BASH_SOURCE[0]}"; exit 0 ;;
	--own | --resume) args+=("-${1#--}"); shift; continue ;;
	--list | --only | --out | --at | --random | --seed | --save | --timeout) ;;
	*) die "unexpected argument $1 (see --help)" ;;
	esac
	(($# > 1)) || die "$1 needs a value (see --help)"
	case $1 in
	--list) list=$(realpath "$2") ;;
	--out) out=$(realpath -m "$2") ;;
	--save) args+=(-save "$(realpath -m "$2")") ;;
	--at) at=$2 ;;
	--random) source=random; args+=(-random "$2") ;;
	*) args+=("-${1#--}" "$2") ;;
	esac
	shift 2
done
if [[ $source == list ]]; then args+=(-list "$list"); fi
mkdir -p "$(dirname "$out")"

commit=$(git -C "$repo" rev-parse --verify --quiet "$at^{commit}") || die "there is no commit $at"
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
export CGO_ENABLED=0 GOFLAGS=-mod=readonly
(cd "$repo" && go build -o "$TMPDIR/mutants" ./hack/mutants)
git clone --quiet --no-checkout "$repo" "$TMPDIR/copy"
git -C "$TMPDIR/copy" checkout --quiet "$commit"
say "mutants of $(git -C "$repo" rev-parse --short "$commit"), in a copy"
cd "$TMPDIR/copy"
code=0
nice -n 10 "$TMPDIR/mutants" -out "$out" "${args[@]}" || code=$?
say "the table is in $out"
exit $code
