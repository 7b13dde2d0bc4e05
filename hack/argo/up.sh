#!/usr/bin/env bash
# Run Argo Workflows on the cluster that KUBECONFIG names: its CRDs and its
# controller, for all namespaces, in the namespace argo. On a cluster that has Argo
# already, nothing is done.
#
# usage: hack/argo/up.sh
#
# hack/argo/down.sh removes it again. CLUSTER means the same as for
# hack/cluster/up.sh; on a cluster that is not ours, install Argo yourself.
#
#   ARGO            minor version of Argo Workflows, such as 4.0 (default: the newest)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib/env.sh"
source "$CLUSTER_DIR/lib/choose.sh"
source "$CLUSTER_DIR/local/packages.sh"
source "$REPO_DIR/hack/argo/lib.sh"

case ${1:-} in -h | --help) help_of "$0"; exit 0 ;; esac

KUBECTL=$(kubectl_bin)
if "$KUBECTL" get crd workflows.argoproj.io >/dev/null 2>&1 && [[ -z $("$KUBECTL" get crd workflows.argoproj.io -o jsonpath='{.metadata.labels.nfsbench\.io/lab}') ]]; then
	say "the cluster has Argo Workflows already"
	exit 0
fi
[[ $(cluster_choice) != current ]] || die "this cluster has no Argo Workflows: install it (v4.0 or newer), then start again"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# images packs the programs; they are found by PATH, and write to /tmp.
images() {
	local bin name
	bin=$("$ARGO_DIR/build.sh")
	CGO_ENABLED=0 go build -C "$REPO_DIR/hack" -trimpath -o "$work/pack" ./image/pack
	for name in workflow-controller argoexec; do
		"$work/pack" -file "$bin/$name=/bin/$name,mode=0755" -file "=/tmp/,mode=1777" -env PATH=/bin \
			-user 8737:8737 -entrypoint "$name" -name "$ARGO_IMAGES/$name:$ARGO_VERSION" -o "$work/$name.tar"
		"$CLUSTER_DIR/load.sh" "$work/$name.tar" >/dev/null
	done
}

# manifests are Argo's own, with our images and the label by which down.sh knows
# that it may remove them.
manifests() {
	cp -r "$(argo_module)/manifests" "$work/manifests"
	chmod -R u+w "$work/manifests"
	cat >"$work/kustomization.yaml" <<-EOF
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		namespace: $ARGO_NAMESPACE
		resources:
		- manifests/base/crds/full
		- manifests/base/workflow-controller
		- manifests/cluster-install-no-crds/workflow-controller-rbac
		labels:
		- pairs: {nfsbench.io/lab: argo}
		images:
		- {name: quay.io/argoproj/workflow-controller, newName: $ARGO_IMAGES/workflow-controller, newTag: $ARGO_VERSION}
		patches:
		- target: {kind: Deployment, name: workflow-controller}
		  patch: |
		    - {op: add, path: /spec/template/spec/containers/0/args, value: [--executor-image, $ARGO_IMAGES/argoexec:$ARGO_VERSION, --executor-image-pull-policy, IfNotPresent]}
		    - {op: add, path: /spec/template/spec/containers/0/imagePullPolicy, value: IfNotPresent}
		    # How long Argo lets a Workflow lie after it looked at it: 10 s if nobody says.
		    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: DEFAULT_REQUEUE_TIME, value: 1s}}
	EOF
	"$REPO_DIR/hack/tool.sh" kustomize build "$work"
}

say "building Argo Workflows $ARGO_VERSION, of which the first time takes minutes ..."
images
say "installing Argo Workflows $ARGO_VERSION ..."
"$KUBECTL" create namespace "$ARGO_NAMESPACE" --dry-run=client -o yaml | "$KUBECTL" apply -f - >/dev/null
manifests | "$KUBECTL" apply --server-side -f - >/dev/null
"$KUBECTL" -n "$ARGO_NAMESPACE" rollout status deployment workflow-controller --timeout 900s >/dev/null
say "Argo Workflows $ARGO_VERSION runs in namespace $ARGO_NAMESPACE"
