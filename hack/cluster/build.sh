#!/usr/bin/env bash
# Build the cluster's programs from Go modules, once per version and cache.
#
# usage: hack/cluster/build.sh
#
# Prints the folder that holds them. kube-apiserver, kube-controller-manager,
# kube-scheduler, kubelet, kube-proxy and kubectl are links to one program, which
# acts as the one whose name it is started by; nodekubelet, etcd, dns, containerd with its shim
# and ctr, pause, pack and cnibandwidth are programs of their own.
#
#   K8S             minor version of Kubernetes, such as 1.36 (default: the newest in k8s/)
#   BUILD_JOBS      packages compiled at once (default: as many as CPUs)
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
source "$REPO_DIR/hack/lib/gobuild.sh"

case ${1:-} in
-h | --help) help_of "$0"; exit 0 ;;
"") ;;
*) die "unexpected argument $1 (see --help)" ;;
esac

version_flags() {
	local minor=${K8S_VERSION#v1.} pkg
	for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=clean ' \
			"$pkg" "$K8S_VERSION" "$pkg" "$pkg" "${minor%%.*}" "$pkg"
	done
}

kubernetes() {
	local name
	BUILD_MODFILE=$K8S_MODFILE build_cached "$BIN_DIR" kubernetes "Kubernetes $K8S_VERSION" "$CLUSTER_DIR/k8s" "$(version_flags)" ./...
	for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
		ln -sf kubernetes "$BIN_DIR/$name"
	done
}

# base is what every version of Kubernetes runs on.
base() {
	local containerd=github.com/containerd/containerd/v2
	build_cached "$BIN_DIR" containerd "etcd, CoreDNS and containerd" "$CLUSTER_DIR/base" "-X $containerd/version.Version=$(version_in "$CLUSTER_DIR/base/go.mod" "$containerd")" \
		./... $containerd/cmd/{containerd,containerd-shim-runc-v2,ctr}
}

ours() {
	build_cached "$BIN_DIR" pack "the cluster's helpers" "$REPO_DIR/hack" "" ./cluster/pause ./cluster/cnibandwidth ./image/pack
}

mkdir -p "$BIN_DIR"
# Two scripts that start at once must not build the same thing twice.
exec 9>"$BIN_DIR/.lock"
flock 9
ours
base
kubernetes
echo "$BIN_DIR"
