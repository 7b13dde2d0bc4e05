# shellcheck shell=bash
# A cluster with the operator in it, for the demo and the end-to-end tests.
# Sourced, never run. Needs common.sh and cluster/lib/env.sh.

source "$CLUSTER_DIR/lib/choose.sh"
source "$CLUSTER_DIR/local/packages.sh"

SYSTEM_NAMESPACE=nfsbench-system
export HELM=${HELM:-helm} # or helm3: the tool that installs the chart
OURS_TO_STOP=no   # whether this run started the cluster
OURS_TO_REMOVE=no # whether this run installed the operator

# find_cluster notes whether the cluster is to be started, and so to be stopped again.
find_cluster() {
	if [[ $(cluster_choice) == local ]] && ! "$CLUSTER_DIR/status.sh" >/dev/null 2>&1; then OURS_TO_STOP=yes; fi
}

# find_operator notes whether the operator is to be installed, and so to be removed again.
find_operator() {
	if ! "$KUBECTL" get crd nfsbenchmarks.nfsbench.io >/dev/null 2>&1; then OURS_TO_REMOVE=yes; fi
}

# cluster_begin starts a cluster if none of ours runs, and exports KUBECONFIG. A run that
# was killed leaves the namespaces and releases of its cluster in its state, which the next
# one would take for somebody's.
cluster_begin() {
	find_cluster
	if [[ $OURS_TO_STOP == yes && -d $STATE_DIR ]]; then
		say "removing the cluster of a run that did not clean up ..."
		"$CLUSTER_DIR/down.sh"
	fi
	eval "$("$CLUSTER_DIR/up.sh")"
	KUBECTL=$(kubectl_bin)
	export KUBECONFIG KUBECTL
}

# cluster_end stops a cluster that cluster_begin started.
cluster_end() {
	if [[ $OURS_TO_STOP == yes ]]; then "$CLUSTER_DIR/down.sh"; fi
}

# install_operator builds the images, loads them and installs the chart. A cluster that is
# not ours pulls them from a registry. Arguments go to Helm.
install_operator() {
	local chart=$REPO_DIR/charts/nfsbench images=(--set image.registry="$REGISTRY",image.manager.tag="${TAG:-dev}",image.nfsbench.tag="${TAG:-dev}")
	if [[ $(cluster_choice) == current ]]; then
		[[ $REGISTRY != localhost/* ]] ||
			die "CLUSTER=current needs REGISTRY=registry.example.com/team/nfsbench, with yours: you push the images there, and the nodes of the cluster pull them"
		"$REPO_DIR/hack/push.sh" "$REGISTRY" >/dev/null
		chart=$(ls -t "$REPO_DIR"/bin/push/nfsbench-*.tgz | head -1) images=()
	else
		local built archives
		built=$("$REPO_DIR/hack/image/build.sh") # not by mapfile, which would go on without the images
		mapfile -t archives <<<"$built"
		"$CLUSTER_DIR/load.sh" "${archives[@]}" >/dev/null
	fi
	find_operator
	say "installing the operator with its chart ..."
	"$REPO_DIR/hack/tool.sh" "$HELM" upgrade --install nfsbench "$chart" \
		--namespace "$SYSTEM_NAMESPACE" --create-namespace --wait --timeout 900s \
		"${images[@]}" "$@" >/dev/null
	# The same tag may carry new bytes: a manager that ran before must see them.
	"$KUBECTL" -n "$SYSTEM_NAMESPACE" rollout restart deployment -l app.kubernetes.io/name=nfsbench >/dev/null
	"$KUBECTL" -n "$SYSTEM_NAMESPACE" rollout status deployment -l app.kubernetes.io/name=nfsbench --timeout 900s >/dev/null
}

# uninstall_operator removes the operator and every benchmark: benchmarks
# first, because the operator must be there to clean up after them. On a
# cluster that had it before, it and the benchmarks of others stay.
uninstall_operator() {
	[[ $OURS_TO_REMOVE == yes ]] || return 0
	"$KUBECTL" delete nfsbenchmarksuites --all --all-namespaces --timeout 240s >/dev/null 2>&1 || true
	"$KUBECTL" delete nfsbenchmarks --all --all-namespaces --timeout 240s >/dev/null 2>&1 || true
	"$REPO_DIR/hack/tool.sh" "$HELM" uninstall nfsbench --namespace "$SYSTEM_NAMESPACE" --wait >/dev/null 2>&1 || true
	"$KUBECTL" delete crd nfsbenchmarks.nfsbench.io nfsbenchmarksuites.nfsbench.io --ignore-not-found >/dev/null 2>&1 || true
	"$KUBECTL" delete namespace "$SYSTEM_NAMESPACE" --ignore-not-found --timeout 60s >/dev/null 2>&1 || true
}
