# shellcheck shell=bash
# Run go tests and remember what passed, failed and was skipped. Sourced.

GOTEST_LOG=$(mktemp -d)

# gotest ARGS... is go test with a line for each package and a record of all.
gotest() {
	local log
	log=$(mktemp "$GOTEST_LOG/XXXXXX.json")
	"$REPO_DIR/hack/tool.sh" gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=skipped --jsonfile "$log" -- -p "${TEST_JOBS:-2}" "$@"
}

# moduletest FOLDER ARGS... is gotest in a module of its own, whose requirements
# would move ours.
moduletest() {
	local folder=$1
	shift
	(cd "$REPO_DIR/$folder" && GOWORK=off gotest "$@" "./...")
}

# summary says what could not run and why, then counts. It fails where a test
# failed, or where skips are forbidden and there was one.
summary() {
	local flags=() ok=0
	if [[ -n ${FORBID_SKIPS:-} ]]; then flags=(-forbid-skips); fi
	if compgen -G "$GOTEST_LOG/*.json" >/dev/null; then
		echo
		cat "$GOTEST_LOG"/*.json | go run ./hack/lib/testsummary "${flags[@]}" || ok=1
	fi
	rm -rf "$GOTEST_LOG"
	return $ok
}
