#!/usr/bin/env bash
# Run the main job end to end: a cluster, the operator, one benchmark, its result.
#
# usage: hack/demo.sh [--keep] [FILE]
#
# FILE is the benchmark (default config/samples/demo.yaml): an embedded NFS
# server, Direct NFS over two paths. Everything is removed at the end.
#
#   --keep      leave cluster, operator and benchmark for a closer look
#   CLUSTER     kind | current | local; see hack/cluster/lib/choose.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cluster/lib/env.sh"
source "$REPO_DIR/hack/lib/install.sh"

keep=no file=$REPO_DIR/config/samples/demo.yaml
for arg in "$@"; do
	case $arg in
	-h | --help) help_of "$0"; exit 0 ;;
	--keep) keep=yes ;;
	-*) die "unknown option $arg (see --help)" ;;
	*) file=$arg ;;
	esac
done

# What loads a database is not built for a benchmark that has none.
grep -q '^  database:' "$file" || export ORALOAD=${ORALOAD:-no}

namespace=nfsbench-demo
step() { say ""; say "== $*"; }

finish() {
	local code=$?
	if [[ -n ${KUBECTL:-} ]]; then
		if [[ $keep == yes ]]; then
			say ""
			say "kept: export KUBECONFIG=$KUBECONFIG; hack/cluster/down.sh stops the cluster"
			exit $code
		fi
		step "cleaning up"
		"$KUBECTL" delete -n "$namespace" nfsbenchmarks --all --timeout 240s >/dev/null 2>&1 || true
		uninstall_operator
		"$KUBECTL" delete namespace "$namespace" --ignore-not-found --timeout 60s >/dev/null 2>&1 || true
		cluster_end
	fi
	exit $code
}
trap finish EXIT

# follow shows the progress of the benchmark until it is over.
follow() {
	local name=$1 phase message last=""
	while true; do
		IFS='|' read -r phase message < <("$KUBECTL" -n "$namespace" get nfsb "$name" -o jsonpath='{.status.phase}|{.status.message}{"\n"}') || true
		if [[ -t 2 ]]; then
			printf '\r\033[K%-13s %s' "$phase" "${message:0:100}" >&2
		elif [[ "$phase $message" != "$last" ]]; then
			say "$(printf '%-13s %s' "$phase" "$message")"
		fi
		last="$phase $message"
		case $phase in Succeeded | Failed | Cancelled) break ;; esac
		sleep 1
	done
	if [[ -t 2 ]]; then printf '\n' >&2; fi
}

# result prints the last screen: what the cluster says, then the whole page.
result() {
	local name=$1 map key
	"$KUBECTL" -n "$namespace" get nfsb "$name"
	map=$("$KUBECTL" -n "$namespace" get nfsb "$name" -o jsonpath='{.status.resultRef.name}')
	[[ -n $map ]] || { "$KUBECTL" -n "$namespace" describe nfsb "$name"; return 1; }
	key=client-0.result.json.gz
	mkdir -p "$REPO_DIR/bin"
	"$KUBECTL" -n "$namespace" get configmap "$map" -o jsonpath="{.binaryData.${key//./\\.}}" | base64 -d >"$REPO_DIR/bin/demo-result.json.gz"
	echo
	(cd "$REPO_DIR" && CGO_ENABLED=0 go build -trimpath -o bin/nfsbench ./cmd/nfsbench)
	"$REPO_DIR/bin/nfsbench" report "$REPO_DIR/bin/demo-result.json.gz"
	echo
	"$REPO_DIR/bin/nfsbench" report "$REPO_DIR/bin/demo-result.json.gz" -o "$REPO_DIR/bin/demo-report.html"
	echo "bin/demo-report.html is the same for a browser; bin/demo-result.json.gz is the result file of both."
}

step "1 of 4: a Kubernetes cluster"
cluster_begin
step "2 of 4: the operator"
install_operator
"$KUBECTL" create namespace "$namespace" --dry-run=client -o yaml | "$KUBECTL" apply -f - >/dev/null
"$KUBECTL" label namespace "$namespace" --overwrite pod-security.kubernetes.io/enforce=restricted >/dev/null
step "3 of 4: kubectl apply -f ${file#"$REPO_DIR/"}"
"$KUBECTL" -n "$namespace" delete nfsbenchmarks --all --timeout 240s >/dev/null 2>&1 || true
name=$("$KUBECTL" -n "$namespace" apply -f "$file" -o jsonpath='{.metadata.name}')
follow "$name"
step "4 of 4: the result"
result "$name"
[[ $("$KUBECTL" -n "$namespace" get nfsb "$name" -o jsonpath='{.status.phase}') == Succeeded ]] || die "the benchmark did not succeed"
