#!/usr/bin/env bash
# Check what gets installed: the chart, config/ and the samples.
#
# usage: hack/chart.sh conform [FILE...]   check manifests against the schemas of
#                                          Kubernetes and of our CRDs, offline;
#                                          without FILE: all that we ship
#        hack/chart.sh dry-run             let the cluster check all that we ship,
#                                          in a namespace that is removed again;
#                                          nothing else is written
#        hack/chart.sh install-yaml        print the one-file installation
#
# dry-run uses the cluster that CLUSTER names, see hack/cluster/up.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/cluster/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"
cd "$REPO_DIR"
chart=charts/nfsbench
values=test/chart/testdata/values

# schemas prints the folder of schemas; the first call for a version makes it.
schemas() {
	local module folder key
	key=$(cat config/crd/bases/*.yaml hack/schemas/*.go | sha256sum | cut -c1-12)
	folder=$CACHE_DIR/schemas-${K8S_VERSION#v}-$key
	if [[ ! -d $folder ]]; then
		module=$(cd "$CLUSTER_DIR/k8s" && go mod download -modfile="$K8S_MODFILE" -json k8s.io/kubernetes | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
		go run -C hack ./schemas -openapi "$module/api/openapi-spec/swagger.json" -o "$folder.$$" "$REPO_DIR"/config/crd/bases/*.yaml
		mv -T "$folder.$$" "$folder" 2>/dev/null || rm -rf "$folder.$$" # another was faster
	fi
	echo "$folder"
}

render() { hack/tool.sh helm template nfsbench "$chart" --kube-version "$K8S_VERSION" "$@"; }

# shipped writes all that we ship to a folder, one file for each way.
shipped() {
	local file
	for file in "$values"/*.yaml; do
		render --namespace nfsbench-system -f "$file" >"$1/chart-$(basename "$file")"
	done
	hack/tool.sh kustomize build config/default >"$1/kustomize.yaml"
	hack/tool.sh kustomize build config/samples >"$1/samples.yaml"
}

conform() {
	if ! (($#)); then
		shipped "$work"
		set -- "$work"/*.yaml
	elif [[ $* == - ]]; then
		cat >"$work/stdin.yaml"
		set -- "$work/stdin.yaml"
	fi
	# The Prometheus operator publishes types and no schema.
	hack/tool.sh kubeconform -strict -summary -skip ServiceMonitor,PodMonitor,PrometheusRule \
		-schema-location "$(schemas)/{{.ResourceKind}}{{.KindSuffix}}.json" "$@"
	local file
	for file in "$@"; do hack/tool.sh observe kinds <"$file" || die "$file is not what the Prometheus operator takes"; done
}

# accepted NAME reads manifests and lets the cluster check them. A warning, of
# the Pod Security Standard for example, is a failure.
accepted() {
	local file=$work/$1.yaml
	cat >"$file"
	kubectl apply --server-side --force-conflicts --dry-run=server --validate=strict -n "$namespace" -f "$file" \
		>"$work/out" 2>"$work/err" || { cat "$work/err" >&2; die "the cluster refuses: $1"; }
	if grep -v '^WARNING: version difference' "$work/err" | grep -i '^warning' >&2; then die "the cluster warns: $1"; fi
	say "accepted: $1 ($(wc -l <"$work/out") objects)"
}

dry_run() {
	KUBECONFIG=$(cluster_kubeconfig "$(cluster_choice)")
	export KUBECONFIG
	namespace=nfsbench-dry-run-$$
	kubectl create namespace "$namespace" >/dev/null
	trap 'kubectl delete namespace "$namespace" --wait=false >/dev/null; rm -rf "$work"' EXIT
	kubectl label namespace "$namespace" pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null
	render --namespace "$namespace" | accepted chart-default
	render --namespace "$namespace" --set rbac.scope=namespaces | accepted chart-namespaces
	# Kinds of the Prometheus operator, which need not be there, and a namespace that is not.
	render --namespace "$namespace" -f "$values/everything.yaml" --set metrics.serviceMonitor.enabled=false \
		--set metrics.podMonitor.enabled=false,metrics.rules.enabled=false,dashboards.namespace= | accepted chart-everything
	hack/tool.sh kustomize build config/default | sed "s/nfsbench-system/$namespace/" | accepted kustomize-default
	if kubectl get crd nfsbenchmarks.nfsbench.io >/dev/null 2>&1; then
		hack/tool.sh kustomize build config/samples | accepted samples
	else
		say "not checked: samples; the CRD is not installed in this cluster"
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1:-} in
-h | --help | "") help_of hack/chart.sh ;;
conform) shift; conform "$@" ;;
dry-run) dry_run ;;
install-yaml) hack/tool.sh kustomize build config/default ;;
*) die "unexpected argument $1 (see --help)" ;;
esac
