#!/usr/bin/env bash
# Run the tests, and say at the end what each part took, what failed and how to
# repeat it, and what could not run and why.
#
# usage: hack/test.sh                  the gate: what `make test` runs
#        hack/test.sh all              every part: what `make test-all` runs
#        hack/test.sh changed          of the parts that the gate leaves out, those with
#                                      an input that changed since the last complete pass
#        hack/test.sh PART... [-- ARG of go test...]
#        hack/test.sh measure [PART...]
#                                      what depends on speed: the parts of tier measure, or
#                                      any parts, one test after the other. The amounts go
#                                      into test/lab/records/measure-DATE.md
#        hack/test.sh --list           the parts of each tier
#
# docs/testing.md says what each part proves. A part that fails does not keep the
# others from running. A complete pass of all parts on a clean tree is recorded in
# hack/test/complete-pass: commit, date and minutes.
#
#   FORBID_SKIPS=1   a test that was skipped is a failure
#   MINUTES=N        start no part that would end later than this, and name it
#   CLUSTER          as for hack/cluster/up.sh
#   HELM=helm3       install the chart with Helm 3 instead of Helm 4
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cluster/lib/env.sh"
source "$REPO_DIR/hack/lib/install.sh"
source "$REPO_DIR/hack/test/needs.sh"
cd "$REPO_DIR"

record=hack/test/complete-pass
RUN_DIR=$(mktemp -d)
export RUN_DIR
trap 'rm -rf "$RUN_DIR"' EXIT

list() { "$RUN_DIR/parts" list "$1"; }

step() { say ""; say "== $* ($((SECONDS / 60)) min $((SECONDS % 60)) s)"; }

builder='' beside='' measuring=
finish() {
	local code=$?
	trap '' INT TERM
	if [[ -n $builder ]]; then kill -- "-$builder" 2>/dev/null || true; fi
	if [[ -n $beside ]]; then # its cluster is stopped below
		kill -- "-$beside" 2>/dev/null || true
		wait "$beside" 2>/dev/null || true
	fi
	if [[ -e $RUN_DIR/env ]]; then
		step "cleaning up"
		(source "$RUN_DIR/env" && clean_up) || code=1
	fi
	if [[ -n $measuring ]]; then record_amounts || code=1; fi
	if [[ -s $RUN_DIR/results ]]; then
		"$RUN_DIR/testsummary" ${FORBID_SKIPS:+-forbid-skips} "$RUN_DIR" || code=1
		say "all of it took $((SECONDS / 60)) min $((SECONDS % 60)) s"
	fi
	if ((code == 0)) && [[ $what == all ]]; then write_record; fi
	rm -rf "$RUN_DIR"
	exit $code
}

# build_ahead builds what the cluster needs with what the parts before leave of the
# processors. On a machine that has it, it ends at once.
build_ahead() {
	setsid nice -n 19 sh -c 'hack/cluster/build.sh && hack/argo/build.sh' >/dev/null 2>&1 &
	builder=$!
}

# run_part runs a part and notes its end; tests of other parts go on when it fails.
run_part() {
	local part=$1 began=$SECONDS code=0
	shift
	step "$part"
	if [[ -n $measuring ]]; then export NFSBENCH_MEASURE=$RUN_DIR/$part.amounts; fi
	hack/test/part.sh "$part" "$@" || code=$?
	echo "$part $code $((SECONDS - began))" >>"$RUN_DIR/results"
	((code < 128)) || exit "$code" # by a signal: somebody wants an end
}

# run_both runs a part, and beside it another whose tests wait for most of their time. The output of the
# other one follows.
run_both() {
	local part=$1 other=$2
	shift 2
	# shellcheck disable=SC2016 # for the other shell
	setsid bash -c 'hack/test/part.sh "$@"; echo "$1 $? $SECONDS" >"$RUN_DIR/$1.end"' - "$other" "$@" \
		>"$RUN_DIR/$other.out" 2>&1 </dev/null &
	beside=$!
	run_part "$part" "$@"
	step "$other, which began with $part"
	tail -n +1 -f --pid="$beside" "$RUN_DIR/$other.out"
	wait "$beside"
	beside=''
	cat "$RUN_DIR/$other.end" >>"$RUN_DIR/results"
}

# not_run notes a part that is left out, and why.
not_run() {
	local part=$1
	shift
	echo "$part - 0 $*" >>"$RUN_DIR/results"
}

# changed runs the parts with an input that changed since the last complete pass.
changed() {
	local commit date part minutes files stale
	if [[ ! -e $record ]] || ! read -r commit date _ <"$record" || ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
		commit=$(git hash-object -t tree /dev/null) date=never
	fi
	say "last complete pass: $date"
	stale=$("$RUN_DIR/parts" stale "$commit")
	for part in $(list rest); do
		grep -q "^$part " <<<"$stale" || not_run "$part" "no input changed since the complete pass of $date"
	done
	while read -r part minutes files; do
		[[ -n $part ]] || continue
		if [[ -n ${MINUTES:-} ]] && ((SECONDS + minutes * 60 > MINUTES * 60)); then
			not_run "$part" "$files inputs changed; it takes about $minutes minutes, more than is left of $MINUTES"
		else
			run_part "$part" </dev/null
		fi
	done <<<"$stale"
}

# write_record notes a complete pass. A tree with changes belongs to no commit.
write_record() {
	if [[ -n $(git status --porcelain) ]]; then
		say "not recorded: the tree has changes that are in no commit"
		return
	fi
	if ! "$RUN_DIR/testsummary" -forbid-skips "$RUN_DIR" >/dev/null; then
		say "not recorded: some tests were skipped"
		return
	fi
	echo "$(git rev-parse HEAD) $(date -u +%F) $(((SECONDS + 59) / 60))" >"$record"
	say "recorded in $record: commit it"
}

# record_amounts writes what was measured, also when the run ended early. A second record of
# one day goes behind the first.
record_amounts() {
	local file
	file=test/lab/records/measure-$(date -u +%F).md
	compgen -G "$RUN_DIR/*.amounts" >/dev/null || { say "nothing was measured"; return; }
	mkdir -p "${file%/*}"
	if [[ -e $file ]]; then echo >>"$file"; fi
	"$RUN_DIR/measurements" "$RUN_DIR"/*.amounts | tee -a "$file"
	say "recorded in $file"
}

what=${1:-test} parts=() args=()
case $what in
-h | --help) help_of "$0"; exit 0 ;;
esac
go build -C hack -o "$RUN_DIR/" ./test/parts ./lib/testsummary ./lib/measurements
case $what in
--list)
	for tier in test rest measure; do echo "$tier: $(list "$tier" | tr '\n' ' ')"; done
	exit 0
	;;
test | all)
	mapfile -t parts < <(list "$what")
	set --
	;;
changed) set -- ;;
measure)
	measuring=yes
	shift
	if [[ ${1:---} == -- ]]; then mapfile -t parts < <(list measure); fi
	;;
esac
while (($#)) && [[ $1 != -- ]]; do
	"$RUN_DIR/parts" needs "$1" >/dev/null || die "see --list and --help"
	parts+=("$1")
	shift
done
args=("${@:2}")
trap finish EXIT
trap 'exit 130' INT TERM
if [[ $what == test || $what == all ]]; then build_ahead; fi
if [[ $what == changed ]]; then changed; fi
while ((${#parts[@]})); do
	if [[ -z $measuring && ${parts[*]:0:2} == "apiserver gate" ]]; then
		run_both "${parts[@]:0:2}" "${args[@]}"
		parts=("${parts[@]:2}")
	else
		run_part "${parts[0]}" "${args[@]}"
		parts=("${parts[@]:1}")
	fi
done
