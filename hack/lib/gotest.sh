# shellcheck shell=bash
# Run go tests and remember what passed, failed and was skipped. Sourced.

GOTEST_LOG=$(mktemp -d)

# gotest ARGS... is go test with a line for each package and a record of all.
gotest() {
	local log
	log=$(mktemp "$GOTEST_LOG/XXXXXX.json")
	hack/tool.sh gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped --jsonfile "$log" -- -p "${TEST_JOBS:-2}" "$@"
}

# summary says what could not run and why, then counts. It fails where skips
# are forbidden and there was one.
summary() {
	local passed failed skipped
	passed=$(count pass) failed=$(count fail) skipped=$(count skip)
	if ((skipped > 0)); then
		say ""
		say "not run, with the reason:"
		reasons >&2
	fi
	rm -rf "$GOTEST_LOG"
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0)) || return 1
	if ((skipped > 0)) && [[ -n ${FORBID_SKIPS:-} ]]; then
		say "error: skipped tests are forbidden here"
		return 1
	fi
}

count() { cat "$GOTEST_LOG"/*.json 2>/dev/null | grep -c "\"Action\":\"$1\",.*\"Test\":" || true; }

# reasons prints each skipped test with the line that its t.Skip wrote.
reasons() {
	cat "$GOTEST_LOG"/*.json | go run ./hack/lib/skips
}
