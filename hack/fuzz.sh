#!/usr/bin/env bash
# Fuzz every parser of untrusted bytes, one after the other, and count what was tried.
#
# usage: hack/fuzz.sh [--list] [PATTERN]
#
#   PATTERN         only fuzz tests whose "PACKAGE NAME" matches this regular expression
#   --list          print them and stop
#
#   FUZZTIME        for each fuzz test (default 30s)
#   TOTAL           for all of them together, spread evenly, for example 60m; overrides FUZZTIME
#   FUZZ_PARALLEL   processes that fuzz at once (default 2)
#
# Each fuzz test of a decoder fails, too, when one input makes it allocate more than a
# multiple of the input and a constant (test/kit/memory; the bounds: docs/security.md,
# "Bytes from strangers").
#
# A crasher ends its fuzz test only: the others go on, and the input stays in the
# package's testdata/fuzz, where `go test` runs it from then on. What led to new
# code is kept in Go's build cache for the next time. The last line of the
# standard output is JSON for machines; the exit code is 1 after a crasher.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
source hack/lib/common.sh

pattern=. list=no
while (($#)); do
	case $1 in
	-h | --help) help_of hack/fuzz.sh; exit 0 ;;
	--list) list=yes ;;
	-*) die "unexpected argument $1 (see --help)" ;;
	*) pattern=$1 ;;
	esac
	shift
done

# seconds_of DURATION turns 90, 90s, 60m or 1h into seconds.
seconds_of() {
	[[ $1 =~ ^([0-9]+)(s|m|h)?$ ]] || die "duration $1: use a whole number with s, m or h, such as 30s or 60m"
	case ${BASH_REMATCH[2]} in
	m) echo $((BASH_REMATCH[1] * 60)) ;;
	h) echo $((BASH_REMATCH[1] * 3600)) ;;
	*) echo "${BASH_REMATCH[1]}" ;;
	esac
}

# fuzz_tests prints "PACKAGE NAME" of each.
fuzz_tests() {
	grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . |
		sed -E 's|^\./(.*)/[^/]+:func (.*)|\1 \2|' | sort | grep -E -- "$pattern"
}

mapfile -t tests < <(fuzz_tests || true)
((${#tests[@]})) || die "no fuzz test matches $pattern"
if [[ $list == yes ]]; then
	printf '%s\n' "${tests[@]}"
	exit 0
fi

each=$(seconds_of "${FUZZTIME:-30s}")
if [[ -n ${TOTAL:-} ]]; then
	each=$(($(seconds_of "$TOTAL") / ${#tests[@]}))
	((each > 0)) || die "TOTAL=$TOTAL is less than a second for each of ${#tests[@]} fuzz tests"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT

executions=0 failed=() rows=()

# fuzz PACKAGE NAME runs one fuzz test and remembers its executions.
fuzz() {
	local package=$1 name=$2 code=0 n
	# Without its own -timeout, go test gives up after 10 minutes.
	# Each input that reaches new code is made smaller first: by time, that can take all of it.
	go test -C "$package" . -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" -timeout 0 \
		-fuzzminimizetime 200x -parallel "${FUZZ_PARALLEL:-2}" >"$log" 2>&1 || code=$?
	n=$(sed -nE 's/.*elapsed: .* execs: ([0-9]+) .*/\1/p' "$log" | tail -1)
	n=${n:-0} executions=$((executions + n))
	if ((code)) && { only_ran_out_of_time || only_stalled "$package"; }; then code=0; fi
	if ((code)); then
		failed+=("$package.$name")
		cat "$log" >&2
	fi
	rows+=("$(printf '{"package":"%s","name":"%s","executions":%d,"ok":%s}' "$package" "$name" "$n" "$( ((code)) && echo false || echo true)")")
	say "$(printf '%12d executions' "$n")"
}

# only_ran_out_of_time: before Go 1.27 the end of the time is sometimes called a
# failure (go.dev/issue/75804). No input is written then.
only_ran_out_of_time() {
	grep -q 'context deadline exceeded' "$log" && ! grep -qE 'Failing input written|panic:|_test\.go:' "$log"
}

# only_stalled PACKAGE: the fuzzer calls an input that takes ten seconds a crasher,
# also when the whole machine stood still. The input stays, and tells by itself.
only_stalled() {
	grep -q 'fuzzing process hung or terminated unexpectedly' "$log" && ! grep -qE 'panic:|fatal error:' "$log" || return 1
	local input
	input=$(sed -nE 's/^ *go test -run=(.*)$/\1/p' "$log" | tail -1)
	[[ -n $input ]] && timeout 60 go test -C "$1" . -run "^${input%%/*}\$/^${input##*/}\$" >>"$log" 2>&1 || return 1
	say "an input took long, but is harmless by itself: $input"
}

started=$SECONDS
say "${#tests[@]} fuzz tests, $each s each"
for i in "${!tests[@]}"; do
	read -r package name <<<"${tests[i]}"
	say "[$((i + 1)) of ${#tests[@]}] $name in $package"
	fuzz "$package" "$name"
done
say "$executions executions of ${#tests[@]} fuzz tests in $((SECONDS - started)) s, ${#failed[@]} failed: ${failed[*]:-none}"
printf '{"fuzzTests":%d,"executions":%d,"failed":%d,"secondsEach":%d,"seconds":%d,"tests":[%s]}\n' \
	"${#tests[@]}" "$executions" "${#failed[@]}" "$each" "$((SECONDS - started))" "$(IFS=, && echo "${rows[*]}")"
((${#failed[@]} == 0))
