# shellcheck shell=bash
# What parts of the tests need first, each once for a run of hack/test.sh. Sourced,
# never run. Needs common.sh, cluster/lib/env.sh, lib/install.sh and $RUN_DIR.
#
# Every part is a process of its own. What one has prepared is written to
# $RUN_DIR/env, which the next ones, and the one that cleans up, read.

# remember NAME... keeps variables for the processes that follow.
remember() {
	local name
	for name in "$@"; do
		export "${name?}"
		printf 'export %s=%q\n' "$name" "${!name}" >>"$RUN_DIR/env"
	done
}

need_monitors() { # Debian's Prometheus and node_exporter
	local folder
	if folder=$(hack/lab/monitors.sh); then export NFSBENCH_MONITORS=$folder; fi
}

need_vendors() { # the client libraries of NetApp and Pure Storage
	local folder
	if folder=$(hack/lab/vendors.sh); then export NFSBENCH_VENDORS=$folder; fi
}

need_libnfs() { # another client, to talk to our server
	if can_install; then need_packages nfs-cat:libnfs-utils; fi
}

need_browser() {
	local path
	if path=$(hack/browser.sh); then export NFSBENCH_BROWSER=$path; fi
}

need_argocli() {
	NFSBENCH_ARGO_CLI=$(hack/argo/build.sh)/argo
	export NFSBENCH_ARGO_CLI
}

need_apiserver() {
	KUBEBUILDER_ASSETS=$(hack/cluster/envtest.sh)
	# On a busy machine an API server takes longer to start than envtest waits for: 20 s.
	export KUBEBUILDER_ASSETS KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=10m KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=5m
}

need_growth() { # 500 pods, played by kwok
	NFSBENCH_GROWTH_BIN=$(hack/cluster/build.sh)
	export NFSBENCH_GROWTH_BIN NFSBENCH_GROWTH_REPORT=$RUN_DIR/growth.md
	hack/tool.sh kwok --version >/dev/null
}

need_vm() { export NFSBENCH_VM=1; }

# need_lab is NFS-Ganesha in a network namespace.
need_lab() {
	[[ $EUID == 0 && -z ${LAB_LIFS:-} ]] || return 0
	if ! hack/lab/ganesha.sh status >/dev/null 2>&1; then
		STARTED_LAB=yes
		remember STARTED_LAB
	fi
	eval "$(hack/lab/ganesha.sh up)"
	NFSBENCH_LAB=1
	NFSBENCH_TEST_NFS="${LAB_LIFS// /,}:$LAB_EXPORT"
	remember ${!LAB_@} NFSBENCH_LAB NFSBENCH_TEST_NFS
}

# need_pnfs is what the pNFS array consists of; its tests start arrays themselves.
need_pnfs() {
	[[ $EUID == 0 && -z ${NFSBENCH_PNFS:-} ]] || return 0
	hack/lab/pnfs.sh packages
	NFSBENCH_PNFS=1
	remember NFSBENCH_PNFS
}

# need_operator is the cluster, an array beside it and the chart.
need_operator() {
	[[ -z ${NFSBENCH_E2E:-} ]] || return 0
	if have_ipv6; then export DUAL_STACK=${DUAL_STACK:-1}; fi
	find_cluster
	remember OURS_TO_STOP
	cluster_begin
	remember KUBECONFIG KUBECTL
	need_lab
	make_trident_namespace
	find_operator
	remember OURS_TO_REMOVE
	# Tests wait for the manager where a user would not: runs end every few seconds.
	install_operator --set trident.enabled=true,resources.requests.cpu=250m,pods.defaults.labels.owner=e2e \
		--set-json 'policy.pods={"labels": ["team"], "priorityClasses": ["nfsbench-e2e"], "runtimeClasses": [],
			"tolerations": ["*"]}' --set-json 'policy.embedded.nodeMounts=["*"]' \
		--set-json 'policy.exports=[{"server": "*", "path": "/", "namespaces": ["*"]}]' \
		--set-json 'policy.storageClasses=[{"name": "*", "namespaces": ["*"]}]' \
		--set-json 'policy.backends=[{"name": "array", "managementLIF": "array.example", "svm": "svm1",
			"credentialsSecretName": "svm-account", "insecureSkipVerify": true, "exportPolicy": "default",
			"namespaces": ["*"]}]'
	NFSBENCH_E2E=1
	remember NFSBENCH_E2E
}

# make_trident_namespace makes the namespace that the chart's Role is for. The tests
# play Trident in it; where there is a real one, they must not.
make_trident_namespace() {
	if "$KUBECTL" get namespace trident >/dev/null 2>&1; then
		die "there is a namespace trident already: the tests play Trident in it, so run them on a cluster without"
	fi
	MADE_TRIDENT=yes
	remember MADE_TRIDENT
	"$KUBECTL" create namespace trident >/dev/null
}

# need_oracle loads the stand-in for Oracle into the cluster.
need_oracle() {
	[[ -z ${STANDINS:-} && $(cluster_choice) != current ]] || return 0
	STANDINS=$(hack/oracle/standin.sh)
	# shellcheck disable=SC2086 # one archive a line
	hack/cluster/load.sh $STANDINS >/dev/null
	# Its tools have the loader for the stand-in beside nfsbench.
	hack/tool.sh "$HELM" upgrade nfsbench charts/nfsbench --namespace "$SYSTEM_NAMESPACE" --reuse-values --wait \
		--set image.nfsbench.repository=oracle-standin-tools >/dev/null
	NFSBENCH_ORACLE_STANDIN=1
	remember STANDINS NFSBENCH_ORACLE_STANDIN
}

# need_argo runs Argo Workflows on the cluster.
need_argo() {
	[[ -z ${NFSBENCH_ARGO:-} ]] || return 0
	if ! "$KUBECTL" get crd workflows.argoproj.io >/dev/null 2>&1; then
		STARTED_ARGO=yes
		remember STARTED_ARGO
	fi
	hack/argo/up.sh
	NFSBENCH_ARGO=1
	remember NFSBENCH_ARGO
}

# need_vmnode is a node in a virtual machine whose kernel mounts NFS. Where there can
# be none, it says why, and the tests are skipped.
need_vmnode() {
	local node
	STARTED_NODE=yes
	remember STARTED_NODE
	# shellcheck disable=SC2086 # one archive a line
	if node=$(hack/vm/node.sh up bin/image/nfsbench.tar ${STANDINS:-}); then
		export NFSBENCH_VMNODE=${node#VM_NODE=} # part.sh takes it down again
	elif (($? != 3)); then
		die "the node did not start"
	fi
}

# clean_up removes all that was prepared, in the opposite order.
clean_up() {
	if [[ ${STARTED_NODE:-} == yes ]]; then hack/vm/node.sh down || true; fi
	if [[ ${STARTED_LAB:-} == yes ]]; then hack/lab/ganesha.sh down >/dev/null 2>&1 || true; fi
	if [[ ${OURS_TO_STOP:-} == yes ]]; then # with all that is in it
		hack/cluster/down.sh
		return
	fi
	[[ -n ${KUBECTL:-} ]] || return 0
	uninstall_operator
	if [[ ${STARTED_ARGO:-} == yes ]]; then hack/argo/down.sh || true; fi
	if [[ ${MADE_TRIDENT:-} == yes ]]; then
		"$KUBECTL" delete namespace trident --timeout 60s >/dev/null 2>&1 || true
		"$KUBECTL" get crd -o name | grep '\.trident\.netapp\.io$' | xargs -r "$KUBECTL" delete --timeout 60s >/dev/null 2>&1 || true
	fi
}
