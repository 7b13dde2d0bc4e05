#!/usr/bin/env bash
# Build the cluster's binaries from Go modules, once per version and cache.
#
# usage: hack/cluster/build.sh [NAME...]
#
# Names: etcd kube-apiserver kube-controller-manager kube-scheduler kubelet
# kube-proxy kubectl dns pause pack cnibandwidth. Without names: all but kubectl.
# Prints the folder that holds the binaries.
#
#   BUILD_JOBS      packages compiled at once (default 2)
#   XDG_CACHE_HOME  where the cache lives (default ~/.cache)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"

case ${1:-} in -h | --help) help_of "$0"; exit 0 ;; esac

# module_of NAME prints the folder whose go.mod builds it.
module_of() {
	case $1 in
	etcd | dns) echo "$CLUSTER_DIR/$1" ;;
	pause | pack | cnibandwidth) echo "$REPO_DIR" ;;
	kube-apiserver | kube-controller-manager | kube-scheduler | kubelet | kube-proxy | kubectl) echo "$CLUSTER_DIR/k8s" ;;
	*) die "unknown binary $1 (see --help)" ;;
	esac
}

package_of() {
	case $1 in
	etcd | dns) echo . ;;
	pause | cnibandwidth) echo "./hack/cluster/$1" ;;
	pack) echo ./hack/image/pack ;;
	*) echo "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

# key_of NAME prints what the cached binary depends on.
key_of() {
	local module
	module=$(module_of "$1")
	case $1 in
	pause | pack | cnibandwidth) cat "$module/${2#./}"/*.go; go env GOVERSION ;;
	etcd | dns) cat "$module"/go.mod "$module"/go.sum "$module"/*.go ;;
	*) cat "$module/go.mod" "$module/go.sum" ;;
	esac | cat - <(version_flags) | sha256sum | cut -d' ' -f1
}

version_flags() {
	local minor=${K8S_VERSION#v1.} pkg
	for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=clean ' \
			"$pkg" "$K8S_VERSION" "$pkg" "$pkg" "${minor%%.*}" "$pkg"
	done
}

build() {
	local name=$1 package key began=$SECONDS
	package=$(package_of "$name")
	key=$(key_of "$name" "$package")
	if [[ -x $BIN_DIR/$name && $(cat "$BIN_DIR/.$name.key" 2>/dev/null) == "$key" ]]; then
		return
	fi
	say "[$step of $steps] building $name ..."
	(cd "$(module_of "$name")" && CGO_ENABLED=0 GOWORK=off go build -p "${BUILD_JOBS:-2}" -trimpath \
		-ldflags "-s -w $(version_flags)" -o "$BIN_DIR/$name.new" "$package")
	mv "$BIN_DIR/$name.new" "$BIN_DIR/$name"
	echo "$key" >"$BIN_DIR/.$name.key"
	say "[$step of $steps] built $name in $((SECONDS - began)) s"
}

names=("$@")
if ((${#names[@]} == 0)); then
	names=(pause pack cnibandwidth etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy dns)
fi
mkdir -p "$BIN_DIR"
# Two scripts that start at once must not build the same thing twice.
exec 9>"$BIN_DIR/.lock"
flock 9
steps=${#names[@]} step=0
for name in "${names[@]}"; do
	step=$((step + 1))
	build "$name"
done
echo "$BIN_DIR"
