#!/usr/bin/env bash
# Run one part of the tests: first what it needs, then its rows of parts.txt.
# hack/test.sh calls it, for each part in a process of its own.
#
# usage: RUN_DIR=FOLDER hack/test/part.sh PART [./PACKAGE...] [ARG of go test...]
#
# With packages, only those of the part that are named.
#
# Writes PART.N.json (events of go test), PART.N.graph (what was compiled) and
# PART.needs (seconds) to RUN_DIR, from which hack/lib/testsummary makes the table.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
source "$REPO_DIR/hack/lib/install.sh"
source "$REPO_DIR/hack/test/needs.sh"
cd "$REPO_DIR"
trap 'exit 130' INT TERM # go test ends by itself then, and its next row must not begin
case ${1:-} in
-h | --help | "") help_of "$0"; exit 0 ;;
esac
if [[ -e $RUN_DIR/env ]]; then source "$RUN_DIR/env"; fi
part=$1
shift

lint() {
	hack/prose.sh || die "the words of the documentation: hack/prose.sh"
	hack/tool.sh actionlint -shellcheck= -pyflakes= || die "actionlint complains about .github/workflows"
	hack/tool.sh golangci-lint fmt --diff >/dev/null || die "unformatted code: make fmt"
	# shellcheck disable=SC2046 # one package a line; the driver of databases needs a C compiler
	hack/tool.sh golangci-lint run --allow-parallel-runners $(go list -f '{{.Dir}}' ./... | grep -v /oracle/driver$) || die "the linters complain: make lint"
	CGO_ENABLED=1 hack/tool.sh golangci-lint run --allow-parallel-runners ./internal/oracle/driver
	(cd hack && ./tool.sh golangci-lint run --allow-parallel-runners) || die "the linters complain: make lint"
	(cd test/lab && ../../hack/tool.sh golangci-lint run --allow-parallel-runners) || die "the linters complain: make lint"
}

generated() {
	hack/verify.sh
	hack/chart.sh conform
	hack/docs.sh
}

# without_cluster removes what parts before this one prepared. It is prepared again for those behind it.
without_cluster() {
	if [[ -e $RUN_DIR/env ]]; then
		clean_up
		# shellcheck disable=SC2046 # one name a line
		unset $(sed -n 's/^export \([A-Za-z0-9_]*\)=.*/\1/p' "$RUN_DIR/env" | sort -u)
		rm "$RUN_DIR/env"
	fi
}

# release installs the operator as a stranger does, on a cluster without one.
release() {
	without_cluster
	hack/release/check.sh
}

# platforms runs what depends on Kubernetes on the older minor versions, the oldest one with
# the older Argo Workflows and Helm.
platforms() {
	local failed=0
	without_cluster
	K8S=1.36 hack/test.sh apiserver gate || failed=1
	K8S=1.35 ARGO=4.0 HELM=helm3 hack/test.sh apiserver gate || failed=1
	return $failed
}

case $part in
lint | generated | release | platforms) "$part"; exit ;;
esac

parts=$RUN_DIR/parts
needs=$("$parts" needs "$part")
for need in $needs; do "need_$need"; done
echo "$SECONDS" >"$RUN_DIR/$part.needs"

# Words that begin with ./ are packages, the others are for go test.
only=() args=()
for word in "$@"; do
	if [[ $word == ./* ]]; then only+=("$word"); else args+=("$word"); fi
done

# meant OPTION... says whether the test that the caller names can be one of a row with these options.
meant() {
	local option name
	[[ " ${args[*]} " == *" -run "* ]] || return 0
	for option in "$@"; do
		[[ $option == -run=* ]] || continue
		for name in $(tr '|' ' ' <<<"${option#-run=}"); do
			[[ "${args[*]}" != *"${name#^}"* ]] || return 0
		done
		return 1
	done
}

# Lint runs govet on everything; go test need not. Many packages wait for most of their
# time, so that one more than there are CPUs does no harm.
jobs=$(($(nproc) + 1))
rows=$("$parts" rows "$part" "${only[@]}" | nl -w1 -s' ')

# lane runs the rows of one module, one after the other.
lane() {
	local row log options packages failed=0
	while read -r -a row; do # number, folder, whether with cgo, and then words for go test
		[[ ${row[1]} == "$1" ]] || continue
		log=$RUN_DIR/$part.${row[0]} options=() packages=()
		for word in "${row[@]:3}"; do
			if [[ $word == ./* ]]; then packages+=("$word"); else options+=("$word"); fi
		done
		meant "${options[@]}" || continue
		if [[ -n ${NFSBENCH_MEASURE:-} ]]; then options+=(-p 1 -parallel 1); fi # nothing runs beside what is measured
		(
			cd "${row[1]}"
			# A module that names a toolchain asks for a newer Go than ours: the go command gets it, as it gets modules.
			if grep -q '^toolchain ' go.mod; then export GOTOOLCHAIN=auto; fi
			CGO_ENABLED=${row[2]} "$REPO_DIR/hack/tool.sh" gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg \
				--hide-summary=skipped --jsonfile "$log.json" -- -p "$jobs" -vet=off -shuffle=on \
				-debug-actiongraph "$log.graph" "${options[@]}" "${packages[@]}" "${args[@]}"
		) || failed=1
	done <<<"$rows"
	return $failed
}

# lanes runs the rows of several modules.
lanes() {
	local module failed=0
	for module; do lane "$module" || failed=1; done
	return $failed
}

# The longest tests of the laboratory use one processor. So the rows of other modules run beside those of the
# product, unless they measure.
mapfile -t modules < <(cut -d' ' -f2 <<<"$rows" | sort -u)
failed=0 beside=''
if [[ ${modules[0]} == . && -n ${modules[1]:-} && -z ${NFSBENCH_MEASURE:-} ]]; then
	trap 'kill -- "-$beside" 2>/dev/null; exit 130' INT TERM
	set -m # a process group of its own, which an interrupt of the other leaves alone
	lanes "${modules[@]:1}" >"$RUN_DIR/$part.beside" 2>&1 </dev/null &
	set +m
	beside=$! modules=(.)
fi
lanes "${modules[@]}" || failed=1
if [[ -n $beside ]]; then
	tail -n +1 -f --pid="$beside" "$RUN_DIR/$part.beside"
	wait "$beside" || failed=1
fi
# Tests of other parts want a cluster whose one node is this machine.
if [[ -n ${NFSBENCH_VMNODE:-} ]]; then hack/vm/node.sh down; fi
if [[ -s $RUN_DIR/growth.md && $part == measure-growth ]]; then cat "$RUN_DIR/growth.md"; fi
exit $failed
