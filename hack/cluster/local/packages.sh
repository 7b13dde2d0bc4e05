# shellcheck shell=bash
# Programs that the local cluster takes from the distribution.

source "$CLUSTER_DIR/../lib/packages.sh"

# need_cluster_packages installs what is missing, and only that.
need_cluster_packages() {
	local plugins
	plugins=$(cni_bin_dir) || plugins=/missing
	need_packages runc:runc iptables:iptables conntrack:conntrack socat:socat ip:iproute2 tc:iproute2 \
		openssl:openssl curl:curl mount:mount "$plugins:containernetworking-plugins"
}

# cni_bin_dir prints the folder that holds all plugins that are used.
cni_bin_dir() {
	local dir
	for dir in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
		if [[ -x $dir/bridge && -x $dir/host-local && -x $dir/portmap && -x $dir/bandwidth && -x $dir/loopback ]]; then
			echo "$dir"
			return
		fi
	done
	return 1
}

# kubectl_bin prints a kubectl that is at most one minor version from the cluster's: that of
# the PATH, or the cluster's own.
kubectl_bin() {
	local minor ours=${K8S_VERSION#v1.}
	minor=$(kubectl version --client -o json 2>/dev/null | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p' | head -n 1)
	if [[ -n $minor ]] && ((minor - ${ours%%.*} <= 1 && ${ours%%.*} - minor <= 1)); then
		command -v kubectl
		return
	fi
	"$CLUSTER_DIR/build.sh" >/dev/null
	echo "$BIN_DIR/kubectl"
}
